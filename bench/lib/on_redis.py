"""A server on a Redis of its own beside one on memory: what the shared store and hub cost a call."""

import base64
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import instructions
import processes
import wall
import wire

REVISIONS = ("2025-11-25", "2026-07-28")
IN_FLIGHT = (1, 32)
# Seconds until a Redis listens.
START = 10


class OnRedis:
    """A server and its Redis, to be used as the server alone. Redis is on no core of its own: the kernel places it."""

    def __init__(self, wrapper: list[str] | None = None, **sections: dict[str, object]) -> None:
        (port,) = processes.free_ports(1)
        self.folder = tempfile.TemporaryDirectory()
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", self.folder.name]
        self.redis = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        await_listener(port)
        self.redis_port = port
        ring = Path(self.folder.name) / "ring"
        ring.write_text(f"bench:{base64.b64encode(bytes(32)).decode()}\n")
        store, keys = {"url": f"redis://127.0.0.1:{port}"}, {"ring_file": ring}
        self.server = processes.trunkline(wrapper, store=store, keys=keys, **sections)
        self.port, self.pid, self.name = self.server.port, self.server.pid, self.server.name
        self.cpu, self.resident = self.server.cpu, self.server.resident

    def __enter__(self) -> "OnRedis":
        return self

    def __exit__(self, *_: object) -> None:
        self.server.end()
        self.redis.terminate()
        self.redis.wait()
        self.folder.cleanup()


def await_listener(port: int) -> None:
    deadline = time.monotonic() + START
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise RuntimeError("redis-server does not listen")


def counted(calls: int, say: Callable[[str], None]) -> dict:
    """Instructions per warm call of each revision, and per `initialize`, on memory and on Redis."""
    asked = [("tools/call", revision, f"call-{revision}") for revision in wire.REVISIONS]
    asked.append(("initialize", "2025-11-25", "initialize-2025-11-25"))
    got = {}
    for name, revision, template in asked:
        each = {}
        for where, start in (("memory", processes.trunkline), ("redis", OnRedis)):
            each[where] = instructions.per_call(
                lambda wrapper, start=start: start(wrapper, limits={"sessions": 1_000_000}),
                wire.Template(template),
                revision,
                calls,
            )
        got[f"{name} {revision}"] = each
        say(f"{name} {revision}: memory {each['memory']:.0f}, redis {each['redis']:.0f}")
    return got


def cells() -> list[wall.Cell]:
    """What is timed: warm calls at 1 and 32 in flight, and new sessions."""
    roomy = {"limits": {"sessions": 10_000_000}}
    made = []
    for connections in IN_FLIGHT:
        asked = [("tools/call", revision, f"call-{revision}") for revision in REVISIONS]
        asked.append(("initialize", "2025-11-25", "initialize-2025-11-25"))
        for name, revision, template in asked:
            for where, start in (("memory", processes.trunkline), ("redis", OnRedis)):
                begin = lambda start=start: start(**roomy)  # noqa: E731
                made.append(wall.Cell(name, where, revision, template, "/mcp", connections, begin))
    return made
