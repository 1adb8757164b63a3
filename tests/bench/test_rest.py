"""How soon reads over REST are answered: 10,000 of them by 50 clients at once, each of which asks again when it has its answer.

Run by hand: `python3 -m tests -m bench tests/bench/test_rest.py -s`. The server is the real one, in a process of its own.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

import pytest

from pipelines.client.wire import bearer
from pipelines.verbs.face import do
from pipelines.verbs.take import Take
from tests.browser.serving import Served, served
from tests.workspace.conftest import House

pytestmark = pytest.mark.bench
READS, CLIENTS = 10_000, 50
JOBS, SAVEPOINTS = 5, 20
LIMIT_MS = 50


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    house = House(tmp_path_factory.mktemp("rest") / "ws")
    for number in range(JOBS):
        house.ran(f"job-{number}", "stateless")
    for number in range(SAVEPOINTS):
        do(house.face, Take(f"job-{number % JOBS}"))
    house.face.close()
    with served(house.root, house.root.parent / "log") as running:
        yield running


async def client(url: str, token: str, paths: list[str], times_ms: list[float]) -> None:
    """Asks for each of `paths` over one connection."""
    host = urlsplit(url)
    reader, writer = await asyncio.open_connection(host.hostname, host.port)
    for path in paths:
        times_ms.append(await answered(reader, writer, host.netloc, path, bearer(token)))
    writer.close()


async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, path: str, headers: Mapping[str, str]) -> float:
    """Reads one address over a connection; how long it took, in ms."""
    began = time.perf_counter()
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"GET /api/v1{path} HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    await reader.readexactly(int(length.split(b":")[1]))
    return (time.perf_counter() - began) * 1000


async def crowd(url: str, token: str, paths: list[str], clients: int) -> list[float]:
    times_ms: list[float] = []
    await asyncio.gather(*(client(url, token, paths[number::clients], times_ms) for number in range(clients)))
    return times_ms


def test_reads(server: Served) -> None:
    named = server.ask("/savepoints")[0]["id"]
    kinds = {
        "mixed": ["/jobs", "/savepoints", "/health", "/jobs/job-1", f"/savepoints/{named}", "/operations", "/events", "/ping"],
        "jobs": ["/jobs"],
        "savepoints": ["/savepoints"],
        "ping": ["/ping"],
    }
    medians = {}
    for name, paths in kinds.items():
        count = READS if name == "mixed" else READS // 5
        began = time.perf_counter()
        times_ms = sorted(asyncio.run(crowd(server.url, server.token, (paths * count)[:count], CLIENTS)))
        medians[name] = statistics.median(times_ms)
        rate = count / (time.perf_counter() - began)
        print(f"{name}: {rate:,.0f} reads/s, p50 {medians[name]:.1f} ms, p99 {times_ms[int(len(times_ms) * 0.99)]:.1f} ms")
    print(f"mixed: {medians['mixed'] / LIMIT_MS:.2f} of the {LIMIT_MS} ms expected, {medians['mixed'] / medians['ping']:.1f} times a ping")
    assert medians["mixed"] <= LIMIT_MS
