"""Reads a callgrind profile: who spent the instructions, by function and by layer."""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

# Where a file belongs, the first that matches. What is inlined from the standard library belongs to the function that
# it is inlined into.
CRATE = re.compile(r"/registry/src/[^/]+/([a-z_0-9-]+?)-\d[^/]*/")
OURS = re.compile(r"(?:^|/)(server|protocol|store|hub|examples/\w+|bench/floor)/src/(.*)\.rs$")
ALLOCATOR = re.compile(r"^(_?_?(libc_)?(malloc|free|calloc|realloc|cfree)|_int_(malloc|free|realloc)|malloc_consolidate|unlink_chunk.*|tcache.*|__rust_.*alloc.*|__rdl_.*|checked_request2size|ptmalloc.*|arena_get.*|sysmalloc|systrim.*)$")
COPYING = re.compile(r"mem(cpy|move|set|cmp|chr|rchr|mem)|bcmp")
HASH = re.compile(r"::h[0-9a-f]{16}$")


@dataclass
class Profile:
    """Instructions per call."""

    total: float = 0
    # (function, layer) to what was spent in its own code.
    own: Counter = field(default_factory=Counter)
    # Function to what was spent in it and in all that it called.
    inclusive: Counter = field(default_factory=Counter)
    # Function to the number of times that it was entered.
    entered: Counter = field(default_factory=Counter)
    # Layer to what was spent in it.
    layers: Counter = field(default_factory=Counter)
    # (caller, callee) to what was spent in the callee on behalf of the caller, and the number of times.
    edges: Counter = field(default_factory=Counter)
    edge_calls: Counter = field(default_factory=Counter)


def layer_of(function: str, inlined: str, home: str) -> str:
    """The layer of code from the file `inlined` in `function`, whose own file is `home`."""
    if ALLOCATOR.match(function):
        return "allocation"
    if COPYING.search(function) and "::" not in function:
        return "libc: copying and comparing"
    for path in (inlined, home):
        if crate := CRATE.search(path):
            return crate[1]
        if ours := OURS.search(path):
            return f"{ours[1]}: {ours[2]}"
    if match := re.search(r"(?:^|[<& ])(trunkline\w*|actix_\w+|tokio\w*|serde_json|serde|h2|http|bytes|hmac|sha2|dashmap|jsonschema|tracing\w*|futures_\w+|parking_lot\w*|rand\w*)::", function):
        return match[1].replace("_", "-")
    if "/rustc/" in inlined or "library/" in inlined or "::" in function:
        return "std"
    return "libc and kernel entry"


def read(path: Path, calls: int) -> Profile:
    """Reads a profile of `calls` calls."""
    names: dict[str, dict[str, str]] = {"f": {}, "n": {}}
    raw = Counter()
    homes: dict[str, str] = {}
    inclusive, entered, edges, edge_calls = Counter(), Counter(), Counter(), Counter()
    file = function = callee = ""
    # A call that has not returned is written with a count of 0.
    pending: int | None = None

    def named(kind: str, text: str) -> str:
        match = re.match(r"\((\d+)\)(?: (.*))?$", text)
        if not match:
            return text
        if match[2] is not None:
            names[kind][match[1]] = match[2]
        return names[kind].get(match[1], match[1])

    for line in path.read_text().splitlines():
        key, eq, value = line.partition("=")
        if eq and key in ("fl", "fi", "fe"):
            file = named("f", value)
        elif eq and key == "fn":
            function = HASH.sub("", named("n", value))
            homes.setdefault(function, file)
        elif eq and key in ("cfi", "cfl"):
            named("f", value)
        elif eq and key == "cfn":
            callee = HASH.sub("", named("n", value))
        elif eq and key == "calls":
            pending = int(value.split()[0])
        elif line[:1] in "0123456789+-*" and line:
            cost = int(line.split()[1]) if " " in line else 0
            if pending is not None:
                inclusive[function] += cost
                edges[function, callee] += cost
                edge_calls[function, callee] += pending
                entered[callee] += pending
                pending = None
            else:
                raw[function, file] += cost
                inclusive[function] += cost
    profile = Profile()
    for (name, inlined), cost in raw.items():
        layer = layer_of(name, inlined, homes.get(name, ""))
        profile.own[name] += cost / calls
        profile.layers[layer] += cost / calls
        profile.total += cost / calls
    for name, cost in inclusive.items():
        profile.inclusive[name] = cost / calls
    for name, count in entered.items():
        profile.entered[name] = count / calls
    for edge, cost in edges.items():
        profile.edges[edge] = cost / calls
        profile.edge_calls[edge] = edge_calls[edge] / calls
    return profile


def table(ours: Counter, floor: Counter, count: int) -> str:
    """The entries with the most, one a line: ours, the floor's, the name."""
    lines = [f"{cost:9.0f} {floor.get(name, 0):9.0f}  {name}" for name, cost in ours.most_common(count)]
    return "\n".join(lines)


def text(title: str, ours: Profile, floor: Profile) -> str:
    """A profile beside the floor's."""
    parts = [
        f"{title}: {ours.total:.0f} instructions per call, floor {floor.total:.0f}. Columns: ours, the floor's.",
        "By layer:\n" + table(ours.layers, floor.layers, 50),
        "By function, its own code:\n" + table(ours.own, floor.own, 80),
        "By function, with all that it calls:\n" + table(ours.inclusive, floor.inclusive, 200),
    ]
    for callee in ("malloc", "realloc", "calloc", "free", "__memcpy_avx_unaligned_erms"):
        callers = Counter({caller: calls for (caller, name), calls in ours.edge_calls.items() if name == callee})
        lines = [f"{calls:9.2f}  {caller}" for caller, calls in callers.most_common(40) if calls >= 0.01]
        parts.append(f"Who calls {callee}, how often per call:\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"
