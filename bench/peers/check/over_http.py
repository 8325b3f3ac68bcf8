"""A server's answers over HTTP."""

import http.client
import json
from typing import Any

import recorded


def exchange(port: int, revision: str, is_floor: bool) -> str | None:
    """A handshake, where the revision has one, and a call. What is wrong, if anything is."""
    wire = Wire(port)
    try:
        if not is_floor and revision != recorded.MODERN:
            agreed = wire.initialize(revision)
            if agreed != revision:
                return f"{agreed} was agreed on"
        return recorded.complaint(wire.ask(recorded.request("call", revision, 2)), 2)
    finally:
        wire.connection.close()


class Wire:
    """A connection, and the session on it."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self.session: str | None = None

    def initialize(self, revision: str) -> str:
        answer = self.ask(recorded.request("initialize", revision, 1))
        note = recorded.request("call", revision, 1)
        note.body = recorded.INITIALIZED
        self._send(note).read()
        return str(answer["result"]["protocolVersion"])

    def ask(self, request: recorded.Recorded) -> Any:
        response = self._send(request)
        self.session = response.headers.get("mcp-session-id", self.session)
        body = response.read().decode()
        if response.status != 200:
            raise RuntimeError(f"{response.status} {body[:200]}")
        if response.headers.get_content_type() == "application/json":
            return json.loads(body)
        lines = [line.removeprefix("data:") for line in body.splitlines() if line.startswith("data:")]
        messages = [json.loads(line) for line in lines if line.strip()]
        return next(message for message in messages if "id" in message)

    def _send(self, request: recorded.Recorded) -> http.client.HTTPResponse:
        headers = request.headers
        if self.session:
            headers["mcp-session-id"] = self.session
        else:
            headers.pop("mcp-session-id", None)
        # Nothing here unpacks an answer.
        headers.pop("Accept-Encoding", None)
        self.connection.request("POST", "/mcp", request.body, headers)
        return self.connection.getresponse()
