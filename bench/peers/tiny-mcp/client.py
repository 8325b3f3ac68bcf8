"""The client of aiohttp-tiny-mcp: `http URL REVISION CALLS IN_FLIGHT`, or `stdio REVISION CALLS 1 -- COMMAND...`."""

import asyncio
import json
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from aiohttp_tiny_mcp import Client, StdioClient  # noqa: E402
from aiohttp_tiny_mcp.protocol.selection import AdapterSet  # noqa: E402
from measure import measure  # noqa: E402

Connected = AbstractAsyncContextManager[Client | StdioClient]


async def run(connected: Connected, calls: int, in_flight: int) -> None:
    async with connected as client:
        await client.initialize()

        async def add(a: int, b: int) -> int:
            result = await client.call_tool("add", {"a": a, "b": b})
            result = result if isinstance(result, dict) else result.model_dump(by_alias=True)
            data = result.get("structuredContent") or json.loads(result["content"][0]["text"])
            return data["sum"]

        await measure(add, calls, in_flight)


adapters = AdapterSet.default().by_version
match sys.argv[1:]:
    case ["http", url, revision, calls, in_flight]:
        asyncio.run(run(Client(url, adapters[revision]), int(calls), int(in_flight)))
    case ["stdio", revision, calls, "1", "--", *command]:
        asyncio.run(run(StdioClient.spawn(*command, adapter=adapters[revision]), int(calls), 1))
    case ["stdio", *_]:
        # Each call reads the pipe itself until it has its answer.
        sys.exit("over a pipe this client has one call in flight")
