"""The scenario that every Python SDK runs against the demo server.

A `Peer` hides one SDK behind plain values; the steps below know no SDK. Each step prints one line,
`ok NAME` or `FAIL NAME: why`, and the last line, `end N steps`, tells the runner that none was lost.
"""

import argparse
import base64
import logging
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio

# Seconds. Each step is a few round trips on loopback; the rest is room for a busy machine.
STEP_LIMIT = 20
# Seconds for one whole run, however many steps hang.
RUN_LIMIT = 120
# Seconds between two tries of a touch. The stream that carries the update may not be open at the first.
TOUCH_EVERY = 0.25
TOUCHES = 40
# A cancelled call is quiet when it reports nothing for this long, in seconds: six of its own steps.
QUIET = 0.6


class RpcError(Exception):
    """A JSON-RPC error answer, whatever the SDK calls it."""

    def __init__(self, code: int, message: str):
        super().__init__(f"{code}: {message}")
        self.code = code


@dataclass
class Called:
    """The outcome of a tool call."""

    is_error: bool
    text: str
    structured: Any


@dataclass
class Content:
    """One part of a resource that was read."""

    uri: str
    mime: str | None
    text: str | None
    blob: str | None


@dataclass
class Http:
    """What a streamable HTTP client did, as (method, status) pairs, and the session id that it was given."""

    requests: list[tuple[str, int]] = field(default_factory=list)
    session_id: str | None = None

    async def seen(self, response: Any) -> None:
        """A response hook of httpx."""
        self.requests.append((response.request.method, response.status_code))
        self.session_id = response.headers.get("mcp-session-id", self.session_id)


class Events:
    """Values in order of arrival, and a way to wait for them without polling."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._changed = anyio.Event()

    def put(self, value: Any) -> None:
        self.values.append(value)
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, done: Callable[[list[Any]], bool], limit: float) -> bool:
        """Waits until `done` holds of the values; False when that took longer than `limit` seconds."""
        with anyio.move_on_after(limit):
            while not done(self.values):
                await self._changed.wait()
        return done(self.values)


@dataclass
class Questions:
    """The user: answers each elicitation with `action` and `content`, and keeps what was asked."""

    action: str = "cancel"
    content: dict[str, Any] | None = None
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


class Peer(Protocol):
    """One SDK, connected."""

    version: str
    questions: Questions
    updates: Events
    strays: Events

    async def tools(self) -> list[str]: ...
    async def call(self, name: str, arguments: dict[str, Any], progress: Events | None = None) -> Called: ...
    async def cancel_after_first_progress(self, name: str, arguments: dict[str, Any]) -> Events | None:
        """Returns when the SDK has let go of the call: the progress that still arrives, where the SDK shows it."""

    async def resources(self) -> list[str]: ...
    async def templates(self) -> list[str]: ...
    async def read(self, uri: str) -> list[Content]: ...
    def watch(self, uri: str) -> AbstractAsyncContextManager[None]: ...
    async def prompts(self) -> list[str]: ...
    async def prompt(self, name: str, arguments: dict[str, str]) -> list[tuple[str, str]]: ...
    async def complete(self, prompt: str, argument: str, value: str) -> list[str]: ...


@dataclass
class Options:
    """What the runner asks for."""

    transport: str
    era: str
    expect: str | None
    url: str | None
    command: list[str]


# === impl Options ===


def options() -> Options:
    """Reads the command line: `--transport T --era E [--expect REVISION] (--url URL | -- COMMAND...)`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--transport", choices=["http", "sse", "stdio"], required=True)
    parser.add_argument("--era", choices=["legacy", "modern"], required=True)
    parser.add_argument("--expect", help="the revision that must be negotiated")
    parser.add_argument("--url")
    parser.add_argument("command", nargs="*")
    given = parser.parse_args()
    if (given.transport == "stdio") != bool(given.command) or bool(given.url) == bool(given.command):
        parser.error("stdio takes a command after --, the other transports take --url")
    return Options(given.transport, given.era, given.expect, given.url, given.command)


# === impl Run ===


class Run:
    """Runs steps one after another and counts them. A step that fails does not stop the next one."""

    def __init__(self) -> None:
        self.steps = 0
        self.failed = 0

    def report(self, name: str, failure: str | None, detail: str = "") -> None:
        self.steps += 1
        if failure is None:
            print(f"ok {name}{f' ({detail})' if detail else ''}", flush=True)
        else:
            self.failed += 1
            print(f"FAIL {name}: {failure}", flush=True)

    async def step(self, name: str, body: Callable[..., Awaitable[str | None]], *arguments: Any) -> None:
        try:
            with anyio.fail_after(STEP_LIMIT):
                detail = await body(*arguments)
        except TimeoutError:
            self.report(name, f"not done within {STEP_LIMIT} s")
        except Exception as error:  # noqa: BLE001 - whatever an SDK raises is that step's failure
            self.report(name, reason(error))
        else:
            self.report(name, None, detail or "")


def reason(error: BaseException) -> str:
    """One line that says what went wrong, out of however many groups an SDK wraps it in."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(reason(inner) for inner in error.exceptions)
    text = " ".join(str(error).split())
    return text if isinstance(error, AssertionError) and text else f"{type(error).__name__}: {text}"


def check(holds: bool, message: str) -> None:
    """An assertion that -O does not remove."""
    if not holds:
        raise AssertionError(message)


# === the steps ===


async def tools_list(peer: Peer) -> None:
    names = await peer.tools()
    wanted = {"add", "echo", "payload", "counter", "remember", "recall", "confirm", "slow", "fail", "touch"}
    check(wanted <= set(names), f"missing {sorted(wanted - set(names))}")
    check(len(names) == len(set(names)), f"a tool is listed twice: {names}")


async def call_structured(peer: Peer) -> None:
    got = await peer.call("add", {"a": 2, "b": 3})
    check(not got.is_error and got.structured == {"sum": 5}, f"got {got}")


async def call_text(peer: Peer) -> None:
    text = "tram à Zürich ✓ 漢字\n\"quoted\" \\ \u2028 end"
    got = await peer.call("echo", {"text": text})
    check(not got.is_error and got.text == text, f"got {got}")


async def call_large(peer: Peer) -> None:
    got = await peer.call("payload", {"bytes": 200_000})
    check(not got.is_error and got.text == "x" * 200_000, f"got {len(got.text)} bytes, is_error={got.is_error}")


async def calls_at_once(peer: Peer) -> None:
    async def one(n: int) -> None:
        got = await peer.call("add", {"a": n, "b": 1000})
        check(got.structured == {"sum": n + 1000}, f"call {n} got {got}")

    async with anyio.create_task_group() as group:
        for n in range(16):
            group.start_soon(one, n)


async def bad_arguments(peer: Peer) -> None:
    got = await peer.call("add", {"a": "two", "b": 3})
    check(got.is_error and got.text != "", f"got {got}")


async def unknown_tool(peer: Peer) -> None:
    try:
        got = await peer.call("no_such_tool", {})
    except RpcError as error:
        check(error.code == -32602, f"got {error}")
    else:
        check(False, f"no error: {got}")


async def tool_error(peer: Peer, kind: str) -> None:
    got = await peer.call("fail", {"kind": kind})
    check(got.is_error and got.text != "", f"got {got}")


async def rpc_error(peer: Peer) -> str:
    try:
        got = await peer.call("fail", {"kind": "rpc"})
    except RpcError as error:
        return str(error.code)
    raise AssertionError(f"no error: {got}")


async def progress(peer: Peer) -> None:
    seen = Events()
    # Four steps for three reports: some SDKs drop a report that arrives together with the result.
    got = await peer.call("slow", {"ms": 400, "steps": 4}, seen)
    check(not got.is_error, f"got {got}")
    check(await seen.until(lambda values: len(values) >= 3, 5), f"{len(seen.values)} progress events: {seen.values}")
    steps = [step for step, _ in seen.values]
    check(all(a < b for a, b in zip(steps, steps[1:])), f"not increasing: {steps}")
    check(all(total == 4 for _, total in seen.values), f"wrong total: {seen.values}")


async def elicitation(peer: Peer, action: str, content: dict[str, Any] | None, word: str) -> None:
    user = peer.questions
    user.action, user.content, user.asked = action, content, []
    got = await peer.call("confirm", {"question": "Ship it?"})
    check(len(user.asked) == 1, f"asked {len(user.asked)} times")
    message, schema = user.asked[0]
    check("Ship it?" in message, f"the question was {message!r}")
    kind = schema.get("properties", {}).get("confirmed", {}).get("type")
    check(kind == "boolean", f"the schema was {schema}")
    check(not got.is_error and word in got.text, f"got {got}, wanted {word!r}")


async def resources_list(peer: Peer) -> None:
    uris, templates = await peer.resources(), await peer.templates()
    wanted = {"demo://greeting", "demo://logo", "demo://counter"}
    check(wanted <= set(uris), f"missing {sorted(wanted - set(uris))}")
    check("demo://notes/{id}" in templates, f"templates are {templates}")


async def resource_text(peer: Peer) -> None:
    (part,) = await peer.read("demo://greeting")
    check(part.uri == "demo://greeting" and bool(part.text), f"got {part}")


async def resource_blob(peer: Peer) -> None:
    (part,) = await peer.read("demo://logo")
    check(part.mime == "image/png" and part.blob is not None, f"got {part}")
    check(base64.b64decode(part.blob, validate=True).startswith(b"\x89PNG\r\n"), "the blob is not a PNG")


async def resource_template(peer: Peer) -> None:
    (part,) = await peer.read("demo://notes/seven")
    check(part.uri == "demo://notes/seven" and "seven" in (part.text or ""), f"got {part}")


async def update_notification(peer: Peer) -> None:
    uri = "demo://counter"
    async with peer.watch(uri):
        for _ in range(TOUCHES):
            check(not (await peer.call("touch", {"uri": uri})).is_error, "touch failed")
            if await peer.updates.until(lambda seen: uri in seen, TOUCH_EVERY):
                return
    raise AssertionError(f"{TOUCHES} touches, and these updates: {peer.updates.values}")


async def prompt_get(peer: Peer) -> None:
    check("summarize" in await peer.prompts(), "summarize is not listed")
    messages = await peer.prompt("summarize", {"text": "a long story", "style": "short"})
    check(any("a long story" in text for _, text in messages), f"got {messages}")


async def completion(peer: Peer) -> None:
    everything = await peer.complete("summarize", "style", "")
    check(set(everything) == {"short", "long", "bullet"}, f"got {everything}")
    check("short" in await peer.complete("summarize", "style", "sh"), "`sh` does not complete to `short`")


async def session_values(peer: Peer) -> None:
    check(not (await peer.call("remember", {"key": "tram", "value": "line 8"})).is_error, "remember failed")
    got = await peer.call("recall", {"key": "tram"})
    check(not got.is_error and "line 8" in got.text, f"got {got}")


async def session_counter(peer: Peer) -> None:
    values = [(await peer.call("counter", {"key": "k", "by": 2})).structured for _ in range(2)]
    check(values == [{"value": 2}, {"value": 4}], f"got {values}")


async def cancellation(peer: Peer) -> str:
    # 200 steps of 100 ms: many more reports would follow if the server went on.
    late = await peer.cancel_after_first_progress("slow", {"ms": 20_000, "steps": 200})
    check("add" in await peer.tools(), "the connection is not usable afterwards")
    await call_structured(peer)
    if late is None:
        return "the SDK hides what follows"
    for _ in range(5):
        count = len(late.values)
        if not await late.until(lambda values: len(values) > count, QUIET):
            return "the server went quiet"
    raise AssertionError(f"the server went on and reports {late.values[-1]}")


async def no_strays(peer: Peer, complaints: list[str]) -> None:
    """A second answer, an answer to a cancelled call, an unreadable message: the SDK reports or logs all of them."""
    strays = [str(stray) for stray in peer.strays.values] + complaints
    check(not strays, "; ".join(strays))


Step = tuple[str, Callable[..., Awaitable[str | None]], tuple[Any, ...]]
STEPS: list[Step] = [
    ("tools_list", tools_list, ()),
    ("call_structured", call_structured, ()),
    ("call_text", call_text, ()),
    ("call_large", call_large, ()),
    ("calls_at_once", calls_at_once, ()),
    ("bad_arguments", bad_arguments, ()),
    ("unknown_tool", unknown_tool, ()),
    ("tool_error", tool_error, ("error",)),
    ("tool_panic", tool_error, ("panic",)),
    ("rpc_error", rpc_error, ()),
    ("progress", progress, ()),
    ("elicitation_accepted", elicitation, ("accept", {"confirmed": True}, "yes")),
    ("elicitation_declined", elicitation, ("decline", None, "declined")),
    ("resources_list", resources_list, ()),
    ("resource_text", resource_text, ()),
    ("resource_blob", resource_blob, ()),
    ("resource_template", resource_template, ()),
    ("update_notification", update_notification, ()),
    ("prompt", prompt_get, ()),
    ("completion", completion, ()),
]
# 2026-07-28 has no session, so nothing to keep a value in.
SESSION_STEPS: list[Step] = [("session_values", session_values, ()), ("session_counter", session_counter, ())]


# === the end of a connection ===


def post_status(url: str, session_id: str) -> int:
    """The status of a request in a session that was ended, made without any SDK."""
    request = urllib.request.Request(
        url,
        method="POST",
        data=b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
        headers={
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Mcp-Session-Id": session_id,
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


async def ended(chosen: Options, http: Http) -> str:
    """What must hold of a streamable HTTP connection once the SDK has closed it."""
    if chosen.transport != "http":
        return ""
    deletes = [status for method, status in http.requests if method == "DELETE"]
    if chosen.era == "modern":
        check(http.session_id is None and not deletes, f"a session in a stateless revision: {http}")
        return "no session"
    check(http.session_id is not None, "the server gave no session id")
    check(len(deletes) == 1 and 200 <= deletes[0] < 300, f"DELETE answered {deletes}")
    status = await anyio.to_thread.run_sync(post_status, chosen.url, http.session_id)
    check(status == 404, f"a request after DELETE answered {status}")
    return "the session is gone"


# === main ===


class Complaints(logging.Handler):
    """Keeps what the SDK logs as a warning or worse."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.name}: {record.getMessage()}")


def collect_complaints() -> list[str]:
    handler = Complaints()
    logging.getLogger().addHandler(handler)
    return handler.lines


Connect = Callable[[Options, Http], AbstractAsyncContextManager[Peer]]


async def scenario(run: Run, connect: Connect, chosen: Options) -> None:
    http, complaints = Http(), collect_complaints()
    connected = False
    try:
        async with connect(chosen, http) as peer:
            connected = True
            wrong = chosen.expect is not None and peer.version != chosen.expect
            failure = f"negotiated {peer.version}, not {chosen.expect}" if wrong else None
            run.report("connect", failure, peer.version)
            for name, body, arguments in STEPS + (SESSION_STEPS if chosen.era == "legacy" else []):
                await run.step(name, body, peer, *arguments)
            # A cancelled call's stray answer, if there is one, has had time to arrive when its step ends.
            await run.step("cancellation", cancellation, peer)
            await run.step("no_strays", no_strays, peer, complaints)
    except Exception as error:  # noqa: BLE001 - whatever an SDK raises is a failure of the connection
        run.report("close" if connected else "connect", reason(error))
    else:
        await run.step("close", ended, chosen, http)


def main(connect: Connect) -> int:
    """Runs the scenario; the process's exit status."""
    chosen, run = options(), Run()

    async def limited() -> None:
        with anyio.move_on_after(RUN_LIMIT) as scope:
            await scenario(run, connect, chosen)
        if scope.cancelled_caught:
            run.report("run", f"not done within {RUN_LIMIT} s")

    anyio.run(limited)
    print(f"end {run.steps} steps", flush=True)
    return 1 if run.failed else 0
