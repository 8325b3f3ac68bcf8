"""A server's answers over a pipe."""

import json
import subprocess
from typing import Any

import recorded


def exchange(command: list[str], revision: str, is_floor: bool) -> str | None:
    """A handshake, where the revision has one, and a call. What is wrong, if anything is."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            if revision != recorded.MODERN:
                hello = ask(process, recorded.request("initialize", revision, 1).body, 1)
                agreed = None if is_floor else hello["result"]["protocolVersion"]
                if agreed not in (None, revision):
                    return f"{agreed} was agreed on"
                say(process, recorded.INITIALIZED)
            return recorded.complaint(ask(process, recorded.request("call", revision, 2).body, 2), 2)
        finally:
            process.kill()


def say(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin
    process.stdin.write(line + "\n")
    process.stdin.flush()


def ask(process: subprocess.Popen[str], line: str, number: int) -> Any:
    assert process.stdout
    say(process, line)
    for answer in process.stdout:
        message = json.loads(answer)
        if message.get("id") == number:
            return message
    raise RuntimeError("the server has ended")
