"""The first measurement of the server: beside its floor, over every revision. `run.sh` builds, and then runs this."""

import argparse
import json
import platform
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "lib"))

import callgrind  # noqa: E402
import instructions  # noqa: E402
import memory  # noqa: E402
import on_redis  # noqa: E402
import processes  # noqa: E402
import report  # noqa: E402
import wall  # noqa: E402
import wire  # noqa: E402

LISTED = ("2025-11-25", "2026-07-28")
IN_FLIGHT = (1, 32)
PARTS = ("instructions", "profile", "memory", "cold", "wall", "redis")
PROFILED = ("2024-11-05", "2025-11-25", "2026-07-28")


def say(*words: object) -> None:
    print(*words, file=sys.stderr, flush=True)


class Plan:
    """What is compared with what, and how long."""

    def __init__(self, quick: bool, rounds: int | None) -> None:
        self.rounds = rounds or (1 if quick else 5)
        self.seconds = 2 if quick else 6
        self.calls = 1000 if quick else 4000
        self.sessions = 5_000 if quick else 100_000
        self.init_ttl = 8 if quick else 60
        self.used = 2_000 if quick else 20_000
        self.streams = 1_000 if quick else 10_000
        self.spawns = 5 if quick else 25
        self.answers = {revision: self._answer(f"call-{revision}", revision) for revision in wire.REVISIONS}
        self.lists = {revision: self._list(revision) for revision in LISTED}

    def _answer(self, template: str, revision: str) -> bytes:
        """Our answer to a request, for the floor to send as much."""
        with processes.trunkline() as server:
            session = wire.open_sessions(server.port, revision, 1)[0]
            connection = wire.Connection(server.port)
            request, _ = wire.Template(template).fill(connection.host, session, 0)
            status, _, body = connection.ask(request)
            connection.close()
        if status != 200:
            raise RuntimeError(f"{template}: {status} {body[:200]!r}")
        return body

    def _list(self, revision: str) -> Path:
        path = processes.OUT / f"list-{revision}.json"
        path.write_bytes(self._answer(f"list-{revision}", revision))
        return path

    def floor(self, revision: str, wrapper: list[str] | None = None) -> processes.Server:
        return processes.floor(len(self.answers[revision]), self.lists.get(revision), wrapper)

    def requests(self) -> list[tuple[str, str, str, str]]:
        """What is asked: name, revision, recorded request, and the floor's path for it."""
        calls = [("tools/call", revision, f"call-{revision}", "/mcp") for revision in wire.REVISIONS]
        return calls + [("tools/list", revision, f"list-{revision}", "/list") for revision in LISTED]

    def cells(self) -> list[wall.Cell]:
        cells = []
        for connections in IN_FLIGHT:
            for name, revision, template, path in self.requests():
                start = partial(self.floor, revision)
                cells.append(wall.Cell(name, "floor", revision, template, path, connections, start))
                cells.append(wall.Cell(name, "trunkline", revision, template, "/mcp", connections, processes.trunkline))
            template = "initialize-2025-11-25"
            cells.append(
                wall.Cell("initialize", "trunkline", "2025-11-25", template, "/mcp", connections, self._roomy)
            )
        return cells

    @staticmethod
    def _roomy() -> processes.Server:
        """A server that takes as many sessions as one run opens."""
        return processes.trunkline(limits={"sessions": 10_000_000})


def counted(plan: Plan) -> dict:
    """Instructions per call of every request, ours and the floor's."""
    got = {}
    for name, revision, template, path in plan.requests():
        floor = instructions.per_call(
            partial(plan.floor, revision), wire.Template(template, path), revision, plan.calls
        )
        ours = instructions.per_call(
            lambda wrapper: processes.trunkline(wrapper), wire.Template(template), revision, plan.calls
        )
        got[f"{name} {revision}"] = {"floor": floor, "trunkline": ours}
        say(f"{name} {revision}: floor {floor:.0f}, trunkline {ours:.0f} instructions, {ours / floor:.3f}")
    return got


def profiled(plan: Plan) -> dict:
    """Where the instructions of a call go: a text for each revision, and a table of layers."""
    got = {}
    for revision in PROFILED:
        profiles = {}
        for name, start in (("floor", partial(plan.floor, revision)), ("trunkline", processes.trunkline)):
            path = processes.OUT / f"callgrind-{name}-{revision}.out"
            instructions.profile(start, wire.Template(f"call-{revision}"), revision, plan.calls, path)
            profiles[name] = callgrind.read(path.with_name(path.name + ".1"), plan.calls)
        ours, floor = profiles["trunkline"], profiles["floor"]
        title = f"tools/call {revision}"
        (processes.OUT / f"profile-{revision}.txt").write_text(callgrind.text(title, ours, floor))
        say(f"{title}: profiled, {ours.total:.0f} instructions beside {floor.total:.0f}")
        got[revision] = {"trunkline": ours.layers, "floor": floor.layers}
    return got


def kept(plan: Plan) -> dict:
    """Everything about memory."""
    return {
        "abandoned": memory.abandoned(plan.sessions, plan.init_ttl, say),
        "used": memory.used(plan.used, say),
        "get": memory.streams("get", plan.streams, say),
        "listen": memory.streams("listen", plan.streams, say),
        "floor": memory.floor_streams(plan.streams, say),
    }


def conditions(arguments: list[str]) -> dict:
    """Where and with what it was measured."""

    def told(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True)
        return (done.stdout + done.stderr).strip().split("\n")[0]

    cpu = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "date": time.strftime("%Y-%m-%d"),
        "command": " ".join(["bench/run.sh", *arguments]),
        "cpu": cpu[0].split(": ", 1)[1] if cpu else "unknown",
        "cores": len(cpu),
        "kernel": platform.release(),
        "rustc": told("rustc", "--version"),
        "wrk": told("wrk", "--version"),
        "valgrind": told("valgrind", "--version"),
        "commit": told("git", "-C", str(processes.ROOT), "rev-parse", "--short", "HEAD"),
        "load": Path("/proc/loadavg").read_text().split()[0],
    }


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--quick", action="store_true", help="one short round: to see that it works")
    flags.add_argument("--rounds", type=int, help="rounds of the wall-clock part (5)")
    flags.add_argument("--patience", type=float, default=20, help="seconds to wait for a calm machine before a cell (20)")
    flags.add_argument("--only", choices=PARTS, action="append", help="one part, may be repeated")
    flags.add_argument("--report", action="store_true", help="write the table from what was measured before")
    options = flags.parse_args()
    wanted = options.only or PARTS
    if not options.report:
        memory.raise_files()
        plan = Plan(options.quick, options.rounds)
        steps = {
            "instructions": lambda: counted(plan),
            "profile": lambda: profiled(plan),
            "wall": lambda: wall.rounds(plan.cells(), plan.rounds, plan.seconds, options.patience, say),
            "memory": lambda: kept(plan),
            "cold": lambda: memory.cold_start(plan.spawns, say),
            "redis": lambda: {
                "instructions": on_redis.counted(plan.calls, say),
                "wall": wall.rounds(on_redis.cells(), plan.rounds, plan.seconds, options.patience, say),
            },
        }
        for part in PARTS:
            if part in wanted:
                got = {"conditions": conditions(sys.argv[1:]), "results": steps[part]()}
                (processes.OUT / f"{part}.json").write_text(json.dumps(got, indent=1) + "\n")
    measured = {
        part: json.loads((processes.OUT / f"{part}.json").read_text())
        for part in PARTS
        if (processes.OUT / f"{part}.json").exists()
    }
    table = report.markdown(measured)
    (processes.OUT / "report.md").write_text(table)
    print(table)


if __name__ == "__main__":
    main()
