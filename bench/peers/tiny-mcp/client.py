"""The client of aiohttp-tiny-mcp: `http URL REVISION CALLS IN_FLIGHT`."""

import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from aiohttp_tiny_mcp import Client  # noqa: E402
from aiohttp_tiny_mcp.protocol.selection import AdapterSet  # noqa: E402
from measure import measure  # noqa: E402


async def run(url: str, revision: str, calls: int, in_flight: int) -> None:
    async with Client(url, AdapterSet.default().by_version[revision]) as client:
        await client.initialize()

        async def add(a: int, b: int) -> int:
            result = await client.call_tool("add", {"a": a, "b": b})
            result = result if isinstance(result, dict) else result.model_dump(by_alias=True)
            data = result.get("structuredContent") or json.loads(result["content"][0]["text"])
            return data["sum"]

        await measure(add, calls, in_flight)


match sys.argv[1:]:
    case ["http", url, revision, calls, in_flight]:
        asyncio.run(run(url, revision, int(calls), int(in_flight)))
