"""What every Python client of the benchmarks does: calls of `add`, so many in flight, each sum checked, and a line of JSON."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable

Add = Callable[[int, int], Awaitable[int]]


async def work(add: Add, calls: int, in_flight: int) -> list[float]:
    """Makes the calls. How long each took, in seconds."""
    numbers, latencies = iter(range(calls)), []

    async def lane() -> None:
        for number in numbers:
            a, b = 100 + number % 900, 1000 + number % 7
            began = time.perf_counter()
            total = await add(a, b)
            latencies.append(time.perf_counter() - began)
            if total != a + b:
                raise RuntimeError(f"{a} and {b} are not {total}")

    await asyncio.gather(*(lane() for _ in range(in_flight)))
    return latencies


async def measure(add: Add, calls: int, in_flight: int) -> None:
    await work(add, calls // 10, in_flight)
    began, before = time.perf_counter(), time.process_time()
    latencies = sorted(await work(add, calls, in_flight))
    took, spent = time.perf_counter() - began, time.process_time() - before
    at = lambda share: latencies[int((len(latencies) - 1) * share)] * 1e6
    figures = {"calls": len(latencies), "wrong": 0, "seconds": took, "cpu_seconds": spent}
    print(json.dumps({**figures, "p50_us": at(0.5), "p99_us": at(0.99), "p999_us": at(0.999)}), flush=True)
