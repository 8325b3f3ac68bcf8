"""Requests of official clients, as they were recorded."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REQUESTS = Path(__file__).resolve().parents[2] / "requests"
MODERN = "2026-07-28"
A, B = 123, 1004
INITIALIZED = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})


@dataclass
class Recorded:
    headers: dict[str, str]
    body: str


def request(what: str, revision: str, number: int) -> Recorded:
    """`call` or `initialize`, with its gaps filled, but for the session."""
    head, body = (REQUESTS / f"{what}-{revision}.http").read_text().rstrip().split("\n\n", 1)
    headers = dict(line.split(": ", 1) for line in head.splitlines()[1:])
    del headers["Host"]
    for gap, value in (("{id}", number), ("{a}", A), ("{b}", B)):
        body = body.replace(gap, str(value))
    return Recorded(headers, body)


def complaint(message: Any, number: int) -> str | None:
    """What is wrong with the answer to the call of that number, if anything is."""
    if message.get("id") != number:
        return f"the answer's id is {message.get('id')!r}, not {number}"
    result = message.get("result") or {}
    # The oldest revisions have the text alone.
    try:
        data = result.get("structuredContent") or json.loads(result["content"][0]["text"])
        total = data["sum"]
    except (KeyError, IndexError, ValueError):
        return f"no sum: {json.dumps(message)[:200]}"
    return None if total == A + B else f"{A} and {B} are not {total}"
