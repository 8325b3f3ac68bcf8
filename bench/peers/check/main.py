"""`main.py TRUNKLINE [PEER...]`: tries every peer in every way it knows, and prints a table. check.sh runs this."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from shutil import which
from typing import Any

import over_http
import over_pipe
from servers import free_port, redis_server, serving

PEERS = Path(__file__).resolve().parent.parent
CALLS = 20
IN_FLIGHT = 4
# Seconds for a client's calls, its start included.
CLIENT_LIMIT = 60

Row = tuple[str, str, str, str, str]


def about(run: Path) -> dict[str, Any] | str:
    """What a peer says of itself, or why it cannot be run."""
    done = subprocess.run([run, "about"], check=False, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def tried(attempt: Callable[[], str | None]) -> str:
    try:
        return attempt() or "ok"
    except (OSError, RuntimeError, ValueError, KeyError, StopIteration, subprocess.SubprocessError) as error:
        return f"{type(error).__name__}: {error}"


def served(run: Path, mode: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """A server over HTTP, in each of its revisions."""
    floor, port = bool(mode.get("is_floor")), free_port()
    if mode.get("redis") and which("redis-server") is None:
        yield "-", "left out: no redis-server; run bench/peers/install.sh redis"
        return
    with ExitStack() as stack:
        redis = stack.enter_context(redis_server()) if mode.get("redis") else None
        stack.enter_context(serving(port, [str(run), "serve", str(port), mode["mode"]], redis))
        for revision in mode["revisions"]:
            yield revision, tried(partial(over_http.exchange, port, revision, floor))


def piped(run: Path, mode: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """A server over a pipe, in each of its revisions."""
    command, floor = [str(run), "stdio", mode["mode"]], bool(mode.get("is_floor"))
    for revision in mode["revisions"]:
        yield revision, tried(partial(over_pipe.exchange, command, revision, floor))


def calling(run: Path, mode: dict[str, Any], over: list[str], command: list[str]) -> Iterator[tuple[str, str]]:
    """A client in each of its revisions, against the demo."""
    lanes = min(IN_FLIGHT, mode.get("in_flight", IN_FLIGHT))

    def attempt(revision: str) -> str | None:
        words = [str(run), "client", mode["mode"], *over, revision, str(CALLS), str(lanes), *command]
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=CLIENT_LIMIT)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["it failed without a word"])[-1]
        told = json.loads(done.stdout)
        figures = [told[name] for name in ("seconds", "cpu_seconds", "p50_us", "p99_us", "p999_us")]
        right = told["calls"] == CALLS and told["wrong"] == 0 and min(figures) > 0
        return None if right else f"a strange count: {done.stdout.strip()}"

    for revision in mode["revisions"]:
        yield revision, tried(partial(attempt, revision))


def rows(run: Path, told: dict[str, Any], demo: str, binary: str) -> Iterator[Row]:
    ways: dict[str, tuple[str, Callable[[dict[str, Any]], Iterator[tuple[str, str]]]]] = {
        "serves": ("server, HTTP", lambda mode: served(run, mode)),
        "clients": ("client, HTTP", lambda mode: calling(run, mode, ["http", demo], [])),
        "pipes": ("server, pipe", lambda mode: piped(run, mode)),
        "pipe_clients": ("client, pipe", lambda mode: calling(run, mode, ["stdio"], ["--", binary, "stdio", "--demo"])),
    }
    for key, (what, way) in ways.items():
        for mode in told.get(key, []):
            try:
                for revision, outcome in way(mode):
                    yield run.parent.name, what, mode["mode"], revision, outcome
            except (OSError, RuntimeError) as error:
                yield run.parent.name, what, mode["mode"], "-", str(error)


def main() -> int:
    binary, *wanted = sys.argv[1:]
    found = sorted(path for path in PEERS.glob("*/run") if not wanted or path.parent.name in wanted)
    if len(found) < max(len(wanted), 1):
        print(f"check: there are no such peers: {' '.join(wanted)}", file=sys.stderr)
        return 2
    port, counted = free_port(), {"ok": 0, "wrong": 0, "not tried": 0}
    serve = [binary, "serve", "--demo", "--bind", f"127.0.0.1:{port}", "--admin-bind", "127.0.0.1:0"]
    with serving(port, serve):
        for run in found:
            told = about(run)
            if isinstance(told, str):
                lines = iter([(run.parent.name, "-", "-", "-", told)])
            else:
                lines = rows(run, told, f"http://127.0.0.1:{port}/mcp", binary)
            for *cells, outcome in lines:
                skipped = outcome.startswith(("not installed: ", "left out: "))
                counted["ok" if outcome == "ok" else "not tried" if skipped else "wrong"] += 1
                print("{:14} {:13} {:10} {:11} {}".format(*cells, outcome), flush=True)
    print(", ".join(f"{count} {name}" for name, count in counted.items()))
    return 1 if counted["wrong"] else 0


sys.exit(main())
