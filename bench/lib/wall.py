"""Calls per second, latencies and CPU per call, by wrk: the server on one core, wrk on another."""

import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import wire
from processes import CLIENT_CORE, OUT, SERVER_CORE, TICK, Server

SCRIPT = Path(__file__).resolve().parent.parent / "wrk.lua"
WARM_UP = 1
# Above this share of the server's core taken by others, a cell is measured again, this often at most.
FOREIGN = 0.05
TRIES = 2
# Seconds of one look at how busy the core is.
LOOK = 1
SESSIONS = 32


@dataclass
class Cell:
    """One row of the table: a server, a request, and a number of requests in flight."""

    name: str
    server: str
    revision: str
    template: str
    path: str
    connections: int
    start: Callable[[], Server]

    def key(self) -> str:
        return f"{self.name} {self.revision} {self.server} c{self.connections}"


@dataclass
class Sample:
    """One measurement of a cell."""

    calls: float
    p50: float
    p99: float
    cpu: float
    # Shares of the server's core.
    own: float
    foreign: float
    failed: int


def core_busy() -> float:
    """Seconds that the server's core has not been idle, what the host took of it included."""
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name == f"cpu{SERVER_CORE}":
            user, nice, system, _idle, _wait, irq, soft, steal = map(int, fields[:8])
            return (user + nice + system + irq + soft + steal) / TICK
    raise RuntimeError("the server's core is not in /proc/stat")


def look(cell: Cell) -> str:
    """What every answer is checked for."""
    if cell.name == "tools/call":
        return "sum"
    # The floor's list is the same bytes for everybody.
    return "status" if cell.server == "floor" else "id"


def wait_for_calm(patience: float) -> None:
    """Waits until others leave the server's core alone, for so many seconds at most."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        before = core_busy()
        time.sleep(LOOK)
        if core_busy() - before < FOREIGN * LOOK:
            return


def wrk(server: Server, cell: Cell, sessions: Path, seconds: float, check: bool = False) -> dict:
    """Runs wrk; raises if anything failed or was answered wrongly."""
    environment = {
        **os.environ,
        "BENCH_TEMPLATE": str(wire.REQUESTS / f"{cell.template}.http"),
        "BENCH_HOST": f"127.0.0.1:{server.port}",
        "BENCH_PATH": cell.path,
        "BENCH_SESSIONS": str(sessions),
        "BENCH_CHECK": look(cell) if check else "",
    }
    command = ["taskset", "-c", str(CLIENT_CORE), "wrk", "-t1", f"-c{cell.connections}", f"-d{seconds}s"]
    command += ["--timeout", "10s", "-s", str(SCRIPT), f"http://127.0.0.1:{server.port}{cell.path}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    got = json.loads(done.stdout.splitlines()[-1])
    if got["failed"] or got["not_2xx"] or got["wrong"] or (check and not got["checked"]):
        raise RuntimeError(f"{cell.key()}: {got}")
    return got


def measure(cell: Cell, seconds: float) -> Sample:
    """Measures a cell once, on a fresh server."""
    with cell.start() as server:
        file = OUT / "sessions.txt"
        count = 1 if cell.connections == 1 else SESSIONS
        template = (wire.REQUESTS / f"{cell.template}.http").read_text()
        if "{session}" not in template or cell.server == "floor":
            ids = ["x" * 38] * count
        else:
            ids = wire.open_sessions(server.port, cell.revision, count)
        file.write_text("".join(f"{id}\n" for id in ids))
        wrk(server, cell, file, WARM_UP, check=True)
        wrk(server, cell, file, WARM_UP)
        cpu, busy, began = server.cpu(), core_busy(), time.monotonic()
        got = wrk(server, cell, file, seconds)
        elapsed, own = time.monotonic() - began, server.cpu() - cpu
        foreign = max(0.0, core_busy() - busy - own)
    return Sample(
        calls=got["requests"] / got["seconds"],
        p50=got["p50"],
        p99=got["p99"],
        cpu=own / got["requests"] * 1e6,
        own=own / elapsed,
        foreign=foreign / elapsed,
        failed=got["failed"],
    )


def calm(cell: Cell, seconds: float, patience: float) -> Sample:
    """The measurement that others disturbed least, of a few if they disturb at all."""
    samples: list[Sample] = []
    while len(samples) < TRIES:
        wait_for_calm(patience)
        samples.append(measure(cell, seconds))
        if samples[-1].foreign < FOREIGN:
            break
    return min(samples, key=lambda sample: sample.foreign)


def rounds(cells: list[Cell], count: int, seconds: float, patience: float, say: Callable[[str], None]) -> dict:
    """All cells, `count` times, beginning elsewhere each time. Cells that are compared stand beside one another."""
    got: dict[str, list[Sample]] = {cell.key(): [] for cell in cells}
    for number in range(count):
        shift = number * len(cells) // count
        for cell in cells[shift:] + cells[:shift]:
            sample = calm(cell, seconds, patience)
            got[cell.key()].append(sample)
            say(
                f"round {number + 1}: {cell.key():42} {sample.calls:8.0f}/s p99 {sample.p99:7.0f} us "
                f"cpu {sample.cpu:6.2f} us, others {sample.foreign:.0%}"
            )
    return {key: summary(samples) for key, samples in got.items()}


def summary(samples: list[Sample]) -> dict:
    """Median, least and greatest of each figure."""
    return {
        name: {
            "median": statistics.median(values),
            "min": min(values),
            "max": max(values),
            "all": values,
        }
        for name in asdict(samples[0])
        for values in [[asdict(sample)[name] for sample in samples]]
    }
