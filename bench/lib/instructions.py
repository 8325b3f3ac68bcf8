"""Instructions per call: two runs under callgrind, one twice as long; the difference has neither start nor end in it."""

import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import wire
from processes import Server

# Calls before anything is counted: caches, lazy statics, buffers at their size.
WARM = 200


def wrapper(out: Path) -> list[str]:
    return ["valgrind", "--tool=callgrind", "--quiet", f"--callgrind-out-file={out}"]


def counted(start: Callable[[list[str]], Server], template: wire.Template, revision: str, calls: int) -> int:
    """Instructions of a whole life of a server that serves `calls` calls after the warm-up."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        with start(wrapper(out)) as server:
            sessions = sessions_of(server, template, revision)
            wire.call(server.port, template, sessions, WARM + calls)
        totals = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.MULTILINE)
    if not totals:
        raise RuntimeError("callgrind wrote no total")
    return int(totals[1])


def sessions_of(server: Server, template: wire.Template, revision: str) -> list[str]:
    """A session where the server is ours and the request names one; the floor takes any name of the same length."""
    if "{session}" not in template.head:
        return [""]
    if server.name == "floor":
        return ["x" * 38]
    return wire.open_sessions(server.port, revision, 1)


def per_call(start: Callable[[list[str]], Server], template: wire.Template, revision: str, calls: int) -> float:
    """Instructions per call."""
    short = counted(start, template, revision, calls)
    return (counted(start, template, revision, 2 * calls) - short) / calls


def profile(
    start: Callable[[list[str]], Server], template: wire.Template, revision: str, calls: int, out: Path
) -> None:
    """Writes a callgrind profile of `calls` calls and nothing else, to `out` with `.1` after its name."""
    with start(wrapper(out)) as server:
        sessions = sessions_of(server, template, revision)
        wire.call(server.port, template, sessions, WARM)
        subprocess.run(["callgrind_control", "--zero", str(server.pid)], check=True, capture_output=True)
        wire.call(server.port, template, sessions, calls)
        subprocess.run(["callgrind_control", "--dump=calls", str(server.pid)], check=True, capture_output=True)
