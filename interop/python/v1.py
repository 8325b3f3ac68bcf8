"""The scenario on the official Python SDK 1.x, which speaks the handshake revisions."""

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import httpx
import scenario
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl
from scenario import Called, Content, Events, Http, Options, Questions, RpcError


class V1:
    """A `Peer` on `mcp.ClientSession`."""

    def __init__(self) -> None:
        self.session: ClientSession
        self.version = ""
        self.questions = Questions()
        self.updates = Events()
        self.strays = Events()
        self.reports = Events()

    async def asked(self, _context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.questions.asked.append((params.message, params.requestedSchema))
        return types.ElicitResult(action=self.questions.action, content=self.questions.content)

    async def arrived(self, message: Any) -> None:
        match message:
            case types.ServerNotification(root=types.ResourceUpdatedNotification() as updated):
                self.updates.put(str(updated.params.uri))
            case types.ServerNotification(root=types.ProgressNotification() as report):
                self.reports.put(report.params)
            case Exception():
                self.strays.put(message)

    async def tools(self) -> list[str]:
        names, cursor = [], None
        while True:
            page = await self.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
            names += [tool.name for tool in page.tools]
            cursor = page.nextCursor
            if cursor is None:
                return names

    async def call(self, name: str, arguments: dict[str, Any], progress: Events | None = None) -> Called:
        async def report(step: float, total: float | None, _message: str | None) -> None:
            progress.put((step, total))

        try:
            got = await self.session.call_tool(name, arguments, progress_callback=report if progress else None)
        except McpError as error:
            raise RpcError(error.error.code, error.error.message) from error
        text = "".join(part.text for part in got.content if isinstance(part, types.TextContent))
        return Called(got.isError, text, got.structuredContent)

    async def cancel_after_first_progress(self, name: str, arguments: dict[str, Any]) -> Events:
        # This SDK sends no cancellation of its own; its progress token is the request's id.
        before = len(self.reports.values)
        async with anyio.create_task_group() as group:
            group.start_soon(self.call, name, arguments, Events())
            arrived = await self.reports.until(lambda values: len(values) > before, scenario.STEP_LIMIT)
            scenario.check(arrived, "no progress")
            request_id = self.reports.values[before].progressToken
            params = types.CancelledNotificationParams(requestId=request_id, reason="changed my mind")
            await self.session.send_notification(
                types.ClientNotification(types.CancelledNotification(params=params))
            )
            group.cancel_scope.cancel()
        return self.reports

    async def resources(self) -> list[str]:
        return [str(resource.uri) for resource in (await self.session.list_resources()).resources]

    async def templates(self) -> list[str]:
        return [t.uriTemplate for t in (await self.session.list_resource_templates()).resourceTemplates]

    async def read(self, uri: str) -> list[Content]:
        got = await self.session.read_resource(AnyUrl(uri))
        return [
            Content(str(p.uri), p.mimeType, getattr(p, "text", None), getattr(p, "blob", None)) for p in got.contents
        ]

    @asynccontextmanager
    async def watch(self, uri: str) -> AsyncIterator[None]:
        await self.session.subscribe_resource(AnyUrl(uri))
        yield
        await self.session.unsubscribe_resource(AnyUrl(uri))

    async def prompts(self) -> list[str]:
        return [prompt.name for prompt in (await self.session.list_prompts()).prompts]

    async def prompt(self, name: str, arguments: dict[str, str]) -> list[tuple[str, str]]:
        got = await self.session.get_prompt(name, arguments)
        return [(m.role, getattr(m.content, "text", "")) for m in got.messages]

    async def complete(self, prompt: str, argument: str, value: str) -> list[str]:
        reference = types.PromptReference(type="ref/prompt", name=prompt)
        got = await self.session.complete(reference, {"name": argument, "value": value})
        return got.completion.values


@asynccontextmanager
async def connect(chosen: Options, http: Http) -> AsyncIterator[V1]:
    async with AsyncExitStack() as stack:
        if chosen.transport == "http":
            hooks = {"response": [http.seen]}
            client = await stack.enter_async_context(httpx.AsyncClient(timeout=60, event_hooks=hooks))
            streams = await stack.enter_async_context(streamable_http_client(chosen.url, http_client=client))
        elif chosen.transport == "sse":
            streams = await stack.enter_async_context(sse_client(chosen.url))
        else:
            program, *arguments = chosen.command
            server = StdioServerParameters(command=program, args=arguments)
            streams = await stack.enter_async_context(stdio_client(server))
        peer = V1()
        peer.session = await stack.enter_async_context(
            ClientSession(streams[0], streams[1], elicitation_callback=peer.asked, message_handler=peer.arrived)
        )
        with anyio.fail_after(scenario.STEP_LIMIT):
            peer.version = str((await peer.session.initialize()).protocolVersion)
        yield peer


if __name__ == "__main__":
    sys.exit(scenario.main(connect))
