"""Servers as processes: started on one core, watched through /proc, ended by their own id."""

import os
import random
import signal
import socket
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
OUT = ROOT / "bench" / "out"
SERVER_CORE, CLIENT_CORE = 0, 1
TICK = os.sysconf("SC_CLK_TCK")
# Seconds until a server listens; many under valgrind.
START = 60
PAGE = os.sysconf("SC_PAGE_SIZE")


def free_ports(count: int) -> list[int]:
    """Ports below those that the kernel gives to outgoing connections."""
    ports: list[int] = []
    while len(ports) < count:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in ports:
            ports.append(port)
    return ports


class Server:
    """A running server. `wrapper` goes before its command line, valgrind for example; `pause` is between two looks whether
    it listens, in seconds."""

    def __init__(self, command: list[str], port: int, wrapper: list[str] | None = None, pause: float = 0.01) -> None:
        self.port = port
        self.name = Path(command[0]).name
        OUT.mkdir(exist_ok=True)
        self.log = OUT / f"{self.name}-{port}.log"
        pinned = ["taskset", "-c", str(SERVER_CORE), *(wrapper or []), *command]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(pinned, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.pid = self.process.pid
        deadline = time.monotonic() + START
        while time.monotonic() < deadline and self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(pause)
        self.end()
        raise RuntimeError(f"{command[0]} does not listen; see {self.log}")

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.returncode in (0, -signal.SIGTERM):
            self.log.unlink(missing_ok=True)

    def cpu(self) -> float:
        """Seconds on the processor so far, all threads, user and system."""
        total = 0
        for thread in Path(f"/proc/{self.pid}/task").iterdir():
            total += int((thread / "schedstat").read_text().split()[0])
        return total / 1e9

    def resident(self) -> int:
        """Bytes of memory in use."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * PAGE


def config(**sections: dict[str, object]) -> Path:
    """A configuration file: one worker, logs of warnings only, and what is given."""
    OUT.mkdir(exist_ok=True)
    lines = []
    defaults: dict[str, dict[str, object]] = {"server": {"workers": 1}, "telemetry": {"log_level": "warn"}}
    for name in {**defaults, **sections}:
        lines.append(f"[{name}]")
        for key, value in {**defaults.get(name, {}), **sections.get(name, {})}.items():
            lines.append(f"{key} = {value if isinstance(value, int) else chr(34) + str(value) + chr(34)}")
    path = OUT / f"config-{'-'.join(sections) or 'plain'}.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def trunkline(wrapper: list[str] | None = None, pause: float = 0.01, **sections: dict[str, object]) -> Server:
    """The demo server with its defaults, apart from `config`."""
    port, admin = free_ports(2)
    command = [str(TARGET / "trunkline"), "serve", "--demo", "--config", str(config(**sections))]
    command += ["--bind", f"127.0.0.1:{port}", "--admin-bind", f"127.0.0.1:{admin}"]
    return Server(command, port, wrapper, pause)


def floor(length: int, list_file: Path | None = None, wrapper: list[str] | None = None) -> Server:
    """The floor, with answers of `length` bytes."""
    (port,) = free_ports(1)
    command = [str(TARGET / "floor"), "--bind", f"127.0.0.1:{port}", "--length", str(length)]
    if list_file:
        command += ["--list", str(list_file)]
    return Server(command, port, wrapper)
