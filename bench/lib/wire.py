"""Recorded requests, and the plainest client that can send them: one connection, one request at a time."""

import itertools
import json
import socket
from pathlib import Path

REQUESTS = Path(__file__).resolve().parent.parent / "requests"
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
REVISIONS = (*LEGACY, "2026-07-28")
# Eight digits, as the numbers to add have three and four and their sum four: every request of a kind has the same
# length, and so has every answer.
FIRST_ID = 10_000_000
# Seconds. Everything answers in milliseconds; under valgrind in tenths of a second.
TIMEOUT = 60


class Template:
    """A recorded request with gaps: {host}, {session}, {id}, {a} and {b}."""

    def __init__(self, name: str, path: str = "/mcp") -> None:
        head, body = (REQUESTS / f"{name}.http").read_text().split("\n\n", 1)
        self.head = head.replace("POST /mcp", f"POST {path}").replace("\n", "\r\n")
        self.body = body

    def fill(self, host: str, session: str, number: int) -> tuple[bytes, int]:
        """The request's bytes, and the sum that answers it."""
        a, b = 100 + number % 900, 1000 + number % 7
        body = self.body
        for gap, value in (("{id}", FIRST_ID + number), ("{a}", a), ("{b}", b)):
            body = body.replace(gap, str(value))
        head = self.head.replace("{host}", host).replace("{session}", session)
        return f"{head}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode(), a + b


class Connection:
    """A connection that is kept."""

    def __init__(self, port: int) -> None:
        self.host = f"127.0.0.1:{port}"
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        self.socket.close()

    def ask(self, request: bytes) -> tuple[int, dict[str, str], bytes]:
        """Status, headers in lower case, and body of the answer."""
        self.socket.sendall(request)
        got = b""
        while b"\r\n\r\n" not in got:
            got += self._receive()
        head, _, body = got.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:])
        # The session's id is the one value whose case matters.
        headers |= {"mcp-session-id": line.split(": ", 1)[1] for line in lines if line.lower().startswith("mcp-session-id: ")}
        length = int(headers.get("content-length", 0))
        while len(body) < length:
            body += self._receive()
        return int(lines[0].split()[1]), headers, body

    def _receive(self) -> bytes:
        got = self.socket.recv(1 << 16)
        if not got:
            raise ConnectionError("the server closed the connection")
        return got


def open_sessions(port: int, revision: str, count: int) -> list[str]:
    """The ids of new sessions, each past its handshake. None for a revision without sessions."""
    if revision not in LEGACY:
        return [""] * count
    connection, template, ids = Connection(port), Template(f"initialize-{revision}"), []
    for number in range(count):
        status, headers, body = connection.ask(template.fill(connection.host, "", number)[0])
        if status != 200 or json.loads(body)["result"]["protocolVersion"] != revision:
            raise RuntimeError(f"initialize for {revision}: {status} {body[:200]!r}")
        ids.append(headers["mcp-session-id"])
        note = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
        head = Template(f"call-{revision}").head.replace("{host}", connection.host).replace("{session}", ids[-1])
        status, _, _ = connection.ask(f"{head}\r\nContent-Length: {len(note)}\r\n\r\n".encode() + note)
        if status != 202:
            raise RuntimeError(f"initialized for {revision}: {status}")
    connection.close()
    return ids


def call(port: int, template: Template, sessions: list[str], count: int, first: int = 0) -> int:
    """Sends `count` requests one after the other and checks each answer. Returns the length of the last answer."""
    connection, length = Connection(port), 0
    rotation = itertools.cycle(sessions)
    for number in range(first, first + count):
        request, total = template.fill(connection.host, next(rotation), number)
        status, _, body = connection.ask(request)
        if status != 200:
            raise RuntimeError(f"{status} {body[:300]!r}")
        if '"add"' in template.body:
            answer = json.loads(body)
            # Not `structuredContent`: the oldest revisions have none.
            text = answer["result"]["content"][0]["text"]
            if (answer["id"], json.loads(text)["sum"]) != (FIRST_ID + number, total):
                raise RuntimeError(f"a wrong answer: {body[:300]!r}")
        length = len(body)
    connection.close()
    return length
