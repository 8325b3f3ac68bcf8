"""What sessions and streams cost in memory, and how soon a new process answers."""

import resource
import statistics
import subprocess
import time
from collections.abc import Callable
from contextlib import contextmanager
from collections.abc import Iterator

import processes
import wire
from processes import CLIENT_CORE, TARGET, Server

# Seconds. The memory store looks at every record once in eight; a little more, for what follows from it.
SWEEP = 12
# Seconds until a session that is not used leaves a replica, and how often that is looked at.
PASSIVATED = 60 + 60
# Seconds without a change of more than a page, until memory counts as settled.
SETTLE = 1


def settled(server: Server) -> int:
    """Resident bytes once they stay."""
    last = server.resident()
    while True:
        time.sleep(SETTLE)
        now = server.resident()
        if abs(now - last) <= processes.PAGE:
            return now
        last = now


@contextmanager
def holder(server: Server, what: str, count: int, path: str = "/mcp") -> Iterator[Callable[[], None]]:
    """A process that opens `count` of something. Gives a function that lets it take its next step."""
    command = ["taskset", "-c", str(CLIENT_CORE), str(TARGET / "streams"), what, "--port", str(server.port)]
    command += ["--requests", str(wire.REQUESTS), "--count", str(count), "--path", path]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=raise_files
    )

    def heard(expected: str) -> None:
        line = process.stdout.readline()
        if not line.startswith(expected):
            raise RuntimeError(f"{what}: {line!r} instead of {expected!r}")

    def step() -> None:
        process.stdin.write("\n")
        process.stdin.flush()
        heard("streams")

    try:
        heard("sessions")
        yield step
    finally:
        process.stdin.close()
        process.wait(60)


def raise_files() -> None:
    """As many files as the system allows."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def abandoned(count: int, ttl: int, say: Callable[[str], None]) -> dict:
    """Sessions that get no further than `initialize`, until they are gone; twice, to see that memory is used again."""
    with processes.trunkline(store={"init_ttl": f"{ttl}s"}) as server:
        wire.open_sessions(server.port, "2025-11-25", 1)
        before = settled(server)
        got: dict[str, object] = {"count": count, "ttl": ttl, "before": before, "rounds": []}
        for _ in range(2):
            began, cpu = time.monotonic(), server.cpu()
            with holder(server, "abandoned", count):
                took, used = time.monotonic() - began, server.cpu() - cpu
                if took > ttl - 2:
                    raise RuntimeError(f"{count} sessions took {took:.0f} s to open; the first are gone by then")
                full = server.resident()
            time.sleep(ttl + SWEEP)
            after = settled(server)
            got["rounds"].append({"full": full, "after": after, "took": took, "cpu": used / count * 1e6})
            say(f"{count} abandoned sessions: {(full - before) / count:.0f} B each; afterwards {after >> 10} KiB, before {before >> 10} KiB")
    return got


def used(count: int, say: Callable[[str], None]) -> dict:
    """Sessions past their handshake with one call each, before and after the replica has let go of them."""
    with processes.trunkline() as server:
        wire.open_sessions(server.port, "2025-11-25", 1)
        before = settled(server)
        with holder(server, "used", count):
            full = server.resident()
        time.sleep(PASSIVATED)
        passive = settled(server)
    say(f"{count} used sessions: {(full - before) / count:.0f} B each, passivated {(passive - before) / count:.0f} B")
    return {"count": count, "before": before, "full": full, "passive": passive}


def streams(what: str, count: int, say: Callable[[str], None]) -> dict:
    """Open streams that nothing is sent on."""
    with processes.trunkline() as server:
        wire.open_sessions(server.port, "2025-11-25", 1)
        return held(server, what, "/mcp", count, say)


def floor_streams(count: int, say: Callable[[str], None]) -> dict:
    """The same on the floor."""
    with processes.floor(128) as server:
        return held(server, "listen", "/stream", count, say)


def held(server: Server, what: str, path: str, count: int, say: Callable[[str], None]) -> dict:
    with holder(server, what, count, path) as step:
        before = settled(server)
        step()
        full = settled(server)
    after = settled(server)
    each, kept = (full - before) / count, (after - before) / count
    say(f"{count} streams, {server.name} {what}: {each:.0f} B each, {kept:.0f} B each when closed")
    return {"count": count, "before": before, "full": full, "after": after}


def cold_start(spawns: int, say: Callable[[str], None]) -> dict:
    """Milliseconds from the start of a process to its first answer, to a call."""
    template, took = wire.Template("call-2026-07-28"), []
    for _ in range(spawns):
        began = time.perf_counter()
        with processes.trunkline(pause=0) as server:
            connection = wire.Connection(server.port)
            status, _, body = connection.ask(template.fill(connection.host, "", 0)[0])
            took.append((time.perf_counter() - began) * 1e3)
            connection.close()
            if status != 200:
                raise RuntimeError(f"{status} {body[:200]!r}")
    say(f"cold start: {statistics.median(took):.1f} ms (least {min(took):.1f}, greatest {max(took):.1f})")
    return {"all": took, "median": statistics.median(took), "min": min(took), "max": max(took)}
