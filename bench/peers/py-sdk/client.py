"""The client of the official Python SDK 2.x: `http URL REVISION CALLS IN_FLIGHT`, or `stdio REVISION CALLS IN_FLIGHT -- COMMAND...`."""

import asyncio
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measure import measure  # noqa: E402
from mcp import Client, StdioServerParameters  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402


async def run(server: Any, revision: str, calls: int, in_flight: int) -> None:
    mode = "auto" if revision == "2026-07-28" else "legacy"
    async with Client(server, mode=mode) as client:
        if client.protocol_version != revision:
            raise RuntimeError(f"{client.protocol_version} was agreed on, not {revision}")

        async def add(a: int, b: int) -> int:
            return (await client.call_tool("add", {"a": a, "b": b})).structured_content["sum"]

        await measure(add, calls, in_flight)


match sys.argv[1:]:
    case ["http", url, revision, calls, in_flight]:
        asyncio.run(run(streamable_http_client(url), revision, int(calls), int(in_flight)))
    case ["stdio", revision, calls, in_flight, "--", program, *arguments]:
        server = StdioServerParameters(command=program, args=arguments)
        asyncio.run(run(server, revision, int(calls), int(in_flight)))
