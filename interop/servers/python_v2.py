"""The interop server on the official Python SDK 2.x, which speaks both eras. README.md says what it serves."""

import argparse
import warnings
from typing import Annotated

import anyio
import uvicorn
from mcp import MCPDeprecationWarning
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp_types import (
    Completion,
    CreateMessageResult,
    EmptyResult,
    ListRootsResult,
    SamplingMessage,
    SubscribeRequestParams,
    TextContent,
)
from pydantic import BaseModel

# Telling a session of changes is deprecated, and what the older era has.
warnings.simplefilter("ignore", MCPDeprecationWarning)

server = MCPServer("python-2", log_level="WARNING")
GREETING = "interop://greeting"
# Calls of `hang` that were cancelled.
cancelled = 0


class Answer(BaseModel):
    """What the person is asked for."""

    answer: str


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool(structured_output=False)
def echo(text: str) -> str:
    """Says it again."""
    return text


@server.tool(structured_output=False)
async def slow(steps: int, context: Context) -> str:
    """Reports progress as often as it is told to."""
    for step in range(1, steps + 1):
        await context.report_progress(step, steps, f"step {step}")
    return "done"


def asked(question: str) -> Elicit[Answer]:
    return Elicit(question, Answer)


@server.tool(structured_output=False)
def ask(question: str, got: Annotated[ElicitationResult[Answer], Resolve(asked)]) -> str:
    """Asks the person: with a request, or from 2026-07-28 on with a further round."""
    return f"accept: {got.data.answer}" if isinstance(got, AcceptedElicitation) else got.action


def sampled(prompt: str) -> Sample:
    return Sample([SamplingMessage(role="user", content=TextContent(type="text", text=prompt))], max_tokens=10)


@server.tool(structured_output=False)
def sample(prompt: str, got: Annotated[CreateMessageResult, Resolve(sampled)]) -> str:
    """Asks the model."""
    return f"{got.model}: {got.content.text}"


def listed() -> ListRoots:
    return ListRoots()


@server.tool(structured_output=False)
def roots(got: Annotated[ListRootsResult, Resolve(listed)]) -> str:
    """Asks for the folders."""
    return " ".join(str(root.uri) for root in got.roots)


@server.tool(structured_output=False)
async def hang(context: Context) -> str:
    """Reports progress once, and then does nothing until it is cancelled."""
    global cancelled
    await context.report_progress(1, 2)
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        cancelled += 1
        raise
    return "never"


@server.tool(name="cancelled", structured_output=False)
def count_cancelled() -> str:
    """Says how many calls of `hang` were cancelled."""
    return str(cancelled)


@server.tool(structured_output=False)
async def touch(context: Context) -> str:
    """Says that the list of tools changed."""
    if context.protocol_version == "2026-07-28":
        await context.notify_tools_changed()
    else:
        await context.request_context.session.send_tool_list_changed()
    return "touched"


@server.tool(structured_output=False)
async def update(context: Context) -> str:
    """Says that the resource changed."""
    if context.protocol_version == "2026-07-28":
        await context.notify_resource_updated(GREETING)
    else:
        await context.request_context.session.send_resource_updated(GREETING)
    return "updated"


@server.resource(GREETING, mime_type="text/plain")
def greeting() -> str:
    """A text."""
    return "hello"


async def subscribe(_context, _params: SubscribeRequestParams) -> EmptyResult:
    """Everybody is told of changes anyway."""
    return EmptyResult()


# The high-level server has nothing to subscribe to in the older era.
server._lowlevel_server.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)


@server.prompt()
def greet(name: str) -> str:
    """A greeting."""
    return f"Say hello to {name}."


@server.completion()
async def complete(_ref, argument, _context) -> Completion:
    """Completes a name."""
    return Completion(values=[name for name in ("Ada", "Alan", "Grace") if name.startswith(argument.value)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, help="serve HTTP here, at /mcp and /sse; stdio otherwise")
    port = parser.parse_args().port
    if port is None:
        server.run("stdio")
    else:
        app = server.streamable_http_app()
        app.router.routes.extend(server.sse_app().routes)
        uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=1)
