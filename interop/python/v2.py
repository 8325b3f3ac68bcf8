"""The scenario on the official Python SDK 2.x, which speaks both eras."""

import sys
import warnings
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import httpx2
import mcp_types as types
import scenario
from mcp import Client, MCPDeprecationWarning, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated
from scenario import Called, Content, Events, Http, Options, Questions, RpcError

# Subscribing to one resource is deprecated, and what the older era has.
warnings.simplefilter("ignore", MCPDeprecationWarning)


class V2:
    """A `Peer` on `mcp.Client`."""

    def __init__(self, era: str) -> None:
        self.client: Client
        self.era = era
        self.version = ""
        self.questions = Questions()
        self.updates = Events()
        self.strays = Events()

    async def asked(self, _context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.questions.asked.append((params.message, params.requested_schema))
        return types.ElicitResult(action=self.questions.action, content=self.questions.content)

    async def arrived(self, message: Any) -> None:
        if isinstance(message, Exception):
            self.strays.put(message)
        # On 2026-07-28 the subscription's own stream must carry it.
        elif isinstance(message, types.ResourceUpdatedNotification) and self.era == "legacy":
            self.updates.put(str(message.params.uri))

    async def tools(self) -> list[str]:
        names, cursor = [], None
        while True:
            # The response cache would answer from memory; the server is what is tested.
            page = await self.client.list_tools(cursor=cursor, cache_mode="refresh")
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                return names

    async def call(self, name: str, arguments: dict[str, Any], progress: Events | None = None) -> Called:
        async def report(step: float, total: float | None, _message: str | None) -> None:
            progress.put((step, total))

        try:
            got = await self.client.call_tool(name, arguments, progress_callback=report if progress else None)
        except MCPError as error:
            raise RpcError(error.code, error.message) from error
        text = "".join(part.text for part in got.content if isinstance(part, types.TextContent))
        return Called(bool(got.is_error), text, got.structured_content)

    async def cancel_after_first_progress(self, name: str, arguments: dict[str, Any]) -> None:
        # Leaving the scope is this SDK's cancellation: a notification, or on 2026-07-28 over HTTP the closed stream.
        seen = Events()
        async with anyio.create_task_group() as group:
            group.start_soon(self.call, name, arguments, seen)
            scenario.check(await seen.until(bool, scenario.STEP_LIMIT), "no progress")
            group.cancel_scope.cancel()

    async def resources(self) -> list[str]:
        return [str(resource.uri) for resource in (await self.client.list_resources()).resources]

    async def templates(self) -> list[str]:
        return [t.uri_template for t in (await self.client.list_resource_templates()).resource_templates]

    async def read(self, uri: str) -> list[Content]:
        got = await self.client.read_resource(uri)
        return [
            Content(str(p.uri), p.mime_type, getattr(p, "text", None), getattr(p, "blob", None)) for p in got.contents
        ]

    @asynccontextmanager
    async def watch(self, uri: str) -> AsyncIterator[None]:
        if self.era == "legacy":
            await self.client.subscribe_resource(uri)
            yield
            await self.client.unsubscribe_resource(uri)
            return

        async def follow(subscription: Any) -> None:
            async for event in subscription:
                if isinstance(event, ResourceUpdated):
                    self.updates.put(event.uri)

        async with self.client.listen(resource_subscriptions=[uri]) as subscription:
            honored = subscription.honored.resource_subscriptions
            scenario.check(honored == [uri], f"acknowledged {honored}")
            async with anyio.create_task_group() as group:
                group.start_soon(follow, subscription)
                yield
                group.cancel_scope.cancel()

    async def prompts(self) -> list[str]:
        return [prompt.name for prompt in (await self.client.list_prompts()).prompts]

    async def prompt(self, name: str, arguments: dict[str, str]) -> list[tuple[str, str]]:
        got = await self.client.get_prompt(name, arguments)
        return [(m.role, getattr(m.content, "text", "")) for m in got.messages]

    async def complete(self, prompt: str, argument: str, value: str) -> list[str]:
        reference = types.PromptReference(type="ref/prompt", name=prompt)
        got = await self.client.complete(reference, {"name": argument, "value": value})
        return got.completion.values


@asynccontextmanager
async def connect(chosen: Options, http: Http) -> AsyncIterator[V2]:
    async with AsyncExitStack() as stack:
        if chosen.transport == "http":
            hooks = {"response": [http.seen]}
            inner = await stack.enter_async_context(httpx2.AsyncClient(timeout=60, event_hooks=hooks))
            server: Any = streamable_http_client(chosen.url, http_client=inner)
        elif chosen.transport == "sse":
            server = sse_client(chosen.url)
        else:
            program, *arguments = chosen.command
            server = StdioServerParameters(command=program, args=arguments)
        peer = V2(chosen.era)
        peer.client = Client(
            server,
            # Modern means found by the probe, not assumed.
            mode="legacy" if chosen.era == "legacy" else "auto",
            elicitation_callback=peer.asked,
            message_handler=peer.arrived,
            read_timeout_seconds=scenario.STEP_LIMIT,
        )
        await stack.enter_async_context(peer.client)
        peer.version = peer.client.protocol_version
        yield peer


if __name__ == "__main__":
    sys.exit(scenario.main(connect))
