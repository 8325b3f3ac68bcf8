"""Servers that are started for a while."""

import os
import random
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

# Seconds until a server listens.
START_LIMIT = 30


def free_port() -> int:
    """Below those that outgoing connections are given, so that only another server can take it before ours does."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


@contextmanager
def serving(port: int, command: list[str], redis: str | None = None) -> Iterator[None]:
    """The command, from when it listens until the block ends."""
    environment = os.environ | ({"REDIS_URL": redis} if redis else {})
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            wait(process, port, log)
            yield
        finally:
            process.kill()
            process.wait()


def wait(process: subprocess.Popen[bytes], port: int, log: IO[str]) -> None:
    limit = time.monotonic() + START_LIMIT
    while time.monotonic() < limit:
        if process.poll() is not None:
            log.seek(0)
            said = log.read().strip().splitlines() or ["without a word"]
            raise RuntimeError(f"it ended before it listened: {said[-1]}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"it does not listen within {START_LIMIT} s")


@contextmanager
def redis_server() -> Iterator[str]:
    """The URL of an empty Redis that keeps nothing."""
    port = free_port()
    options = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", "/tmp"]
    with serving(port, ["redis-server", "--port", str(port), *options]):
        yield f"redis://127.0.0.1:{port}"
