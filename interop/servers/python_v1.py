"""The interop server on the official Python SDK 1.x, which speaks the handshake revisions. README.md says what it serves."""

import argparse

import anyio
import uvicorn
from mcp.server.fastmcp import Context, FastMCP
from mcp.types import Completion, SamplingMessage, TextContent
from pydantic import AnyUrl, BaseModel

server = FastMCP("python-1")
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


@server.tool(structured_output=False)
async def ask(question: str, context: Context) -> str:
    """Asks the person."""
    got = await context.elicit(question, Answer)
    return f"accept: {got.data.answer}" if got.action == "accept" else got.action


@server.tool(structured_output=False)
async def sample(prompt: str, context: Context) -> str:
    """Asks the model."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    got = await context.session.create_message([message], max_tokens=10, related_request_id=context.request_id)
    return f"{got.model}: {got.content.text}"


@server.tool(structured_output=False)
async def roots(context: Context) -> str:
    """Asks for the folders."""
    return " ".join(str(root.uri) for root in (await context.session.list_roots()).roots)


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
    await context.session.send_tool_list_changed()
    return "touched"


@server.tool(structured_output=False)
async def update(context: Context) -> str:
    """Says that the resource changed."""
    await context.session.send_resource_updated(AnyUrl(GREETING))
    return "updated"


@server.resource(GREETING, mime_type="text/plain")
def greeting() -> str:
    """A text."""
    return "hello"


# The high-level server has nothing to subscribe to.
@server._mcp_server.subscribe_resource()
async def subscribe(_uri: AnyUrl) -> None:
    """Everybody is told of changes anyway."""


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
