"""What was measured as tables, with the budget beside each figure."""

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
# The greatest shares of the floor that are allowed: for a call, and for a list.
INSTRUCTIONS = {"tools/call": 1.25, "tools/list": 1.2}
CPU = {"tools/call": 1.2, "tools/list": 1.2}
# A warm call on Redis beside one on memory.
ON_REDIS = {"tools/call": 1.1}
P99 = {"tools/call": 1.5, "tools/list": 1.5}


def markdown(measured: dict) -> str:
    """Everything that was measured, as Markdown."""
    parts = []
    if "instructions" in measured:
        parts.append(instructions(measured["instructions"]["results"]))
    if "wall" in measured:
        parts.append(wall(measured["wall"]["results"]))
    if "memory" in measured:
        parts.append(memory(measured["memory"]["results"]))
    if "cold" in measured:
        cold = measured["cold"]["results"]
        parts.append(
            f"Cold start to the first answer, {len(cold['all'])} processes: median {cold['median']:.1f} ms, "
            f"{cold['min']:.1f} to {cold['max']:.1f} ms. Budget: below 50 ms{verdict(cold['median'] < 50)}.\n"
        )
    if "redis" in measured:
        parts.append(on_redis(measured["redis"]["results"]))
    if measured:
        parts.append(conditions(measured))
    return "\n".join(parts)


def verdict(kept: bool) -> str:
    return "" if kept else " **(over)**"


def rows(head: str, lines: list[str]) -> str:
    columns = head.count("|") - 1
    return "\n".join([head, "|" + "---|" * 2 + "--:|" * (columns - 2), *lines, ""])


def instructions(results: dict) -> str:
    lines = []
    for key, got in results.items():
        name, revision = key.split(" ")
        share, most = got["trunkline"] / got["floor"], INSTRUCTIONS[name]
        lines.append(
            f"| {name} | {revision} | {got['floor']:,.0f} | {got['trunkline']:,.0f} "
            f"| {share:.2f}{verdict(share <= most)} | {most:.2f} |"
        )
    head = "| request | revision | floor | Trunkline | share | budget |"
    return "### Instructions per call\n\n" + rows(head, lines)


def wall(results: dict) -> str:
    out = []
    for connections in (1, 32):
        lines = []
        for name in ("tools/call", "tools/list", "initialize"):
            for revision in REVISIONS:
                ours = results.get(f"{name} {revision} trunkline c{connections}")
                floor = results.get(f"{name} {revision} floor c{connections}")
                if floor:
                    lines.append(cells(f"{name}, floor", revision, floor, None, name))
                if ours:
                    lines.append(cells(name, revision, ours, floor, name))
        head = "| request | revision | calls/s (least, greatest) | p50 us | p99 us (least, greatest) | CPU us per call (least, greatest) | CPU share | p99 share | others on the core |"
        out.append(f"### {connections} in flight\n\n" + rows(head, lines))
    return "\n".join(out)


def cells(label: str, revision: str, got: dict, floor: dict | None, name: str) -> str:
    def spread(key: str, form: str) -> str:
        figure = got[key]
        return f"{figure['median']:{form}} ({figure['min']:{form}}, {figure['max']:{form}})"

    shares = ["", ""]
    if floor:
        cpu = got["cpu"]["median"] / floor["cpu"]["median"]
        p99 = got["p99"]["median"] / floor["p99"]["median"]
        shares = [
            f"{cpu:.2f} of {CPU[name]:.1f}{verdict(cpu <= CPU[name])}",
            f"{p99:.2f} of {P99[name]:.1f}{verdict(p99 <= P99[name])}",
        ]
    return (
        f"| {label} | {revision} | {spread('calls', ',.0f')} | {got['p50']['median']:,.0f} | {spread('p99', ',.0f')} "
        f"| {spread('cpu', '.1f')} | {shares[0]} | {shares[1]} | {got['foreign']['median']:.0%} |"
    )


def memory(results: dict) -> str:
    lines = []
    gone, used = results["abandoned"], results["used"]
    for number, got in enumerate(gone["rounds"], 1):
        each = (got["full"] - gone["before"]) / gone["count"]
        left = (got["after"] - gone["before"]) / gone["count"]
        what = f"session, `initialize` only, time {number}"
        lines.append(f"| {what} | {gone['count']:,} | {each:,.0f} | {left:,.0f} when all have expired | |")
    each = (used["full"] - used["before"]) / used["count"]
    passive = (used["passive"] - used["before"]) / used["count"]
    lines.append(
        f"| session with one call | {used['count']:,} | {each:,.0f}{verdict(each < 2048 + 800)} "
        f"| {passive:,.0f} when the replica has let go of it | < 2,048 beside its record |"
    )
    streams = (
        ("floor", "stream of the floor"),
        ("get", "GET stream, 2025-11-25"),
        ("listen", "`subscriptions/listen` stream"),
    )
    for key, what in streams:
        got = results[key]
        each = (got["full"] - got["before"]) / got["count"]
        left = (got["after"] - got["before"]) / got["count"]
        lines.append(
            f"| {what} | {got['count']:,} | {each:,.0f}{verdict(key == 'floor' or each < 8192)} "
            f"| {left:,.0f} when closed | {'' if key == 'floor' else '< 8,192'} |"
        )
    head = "| what | number | bytes each | bytes left | budget |"
    return "### Resident memory\n\n" + rows(head, lines)


def on_redis(results: dict) -> str:
    lines = []
    for key, got in results["instructions"].items():
        name, revision = key.split(" ")
        share = got["redis"] / got["memory"]
        most = ON_REDIS.get(name)
        budget = f"{share:.2f} of {most}{verdict(share <= most)}" if most else f"{share:.2f}"
        lines.append(f"| {name} | {revision} | {got['memory']:,.0f} | {got['redis']:,.0f} | {budget} |")
    head = "| request | revision | memory | Redis | share |"
    out = ["### On Redis: instructions\n\n" + rows(head, lines)]
    lines = []
    for key, got in results["wall"].items():
        name, revision, where, connections = key.split(" ")
        if where == "memory":
            continue
        beside = results["wall"][f"{name} {revision} memory {connections}"]
        cpu, other = got["cpu"]["median"], beside["cpu"]["median"]
        lines.append(
            f"| {name} | {revision} | {connections[1:]} | {other:.1f} | {cpu:.1f} | {cpu / other:.2f} "
            f"| {1e6 / cpu:,.0f} | {got['foreign']['median']:.0%} |"
        )
    head = "| request | revision | in flight | memory, CPU us | Redis, CPU us | share | a second of CPU serves | others on the core |"
    out.append("### On Redis: CPU of the replica\n\n" + rows(head, lines))
    return "\n".join(out)


def conditions(measured: dict) -> str:
    known = next(iter(measured.values()))["conditions"]
    commands = sorted({got["conditions"]["command"] for got in measured.values()})
    return (
        f"{known['date']}, commit {known['commit']}, `{'`, `'.join(commands)}`: {known['cores']} x {known['cpu']}, "
        f"Linux {known['kernel']}, {known['rustc']}, {known['wrk']}, {known['valgrind']}.\n"
    )
