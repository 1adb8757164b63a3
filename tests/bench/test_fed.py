"""A server that watches 500 runs, whose files another process feeds with a batch a second each, while people read over REST.

Run by hand: `python3 -m tests -m bench tests/bench/test_fed.py -s`. The server is the real one, in a process of its own; so is the writer,
whose process stands for all 500 drivers.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from pipelines.client.wire import bearer
from pipelines.domain.processes import PROCESS_FILE
from pipelines.domain.runs import PROGRESS_FILE, RunState
from tests.bench.test_rest import answered
from tests.browser.serving import ROOT, Served, served
from tests.waiting import until
from tests.workspace.conftest import House

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1200)]
RUNS = int(os.environ.get("TIDEMARK_FED_RUNS", "500"))
SECONDS = float(os.environ.get("TIDEMARK_FED_SECONDS", "30"))
CLIENTS, READS_A_SECOND = 50, 100
LIMIT_MS, LIMIT_CORES, LIMIT_BYTES = 50.0, 1.0, 1 << 30
WRITER = """
import json, sys, time
paths = [line.strip() for line in sys.stdin]
files = [open(path, "a", buffering=1) for path in paths]
line = json.loads(open(sys.argv[1]).read())
began = time.time()
for batch in range(10**9):
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + ".000Z"
    for number, file in enumerate(files):
        file.write(json.dumps({**line, "id": f"q-{number}", "runId": f"s-{number}", "batchId": batch, "timestamp": at}) + "\\n")
        time.sleep(max(0.0, began + batch + number / len(files) - time.time()))
"""
EVENT = Path(__file__).parents[1] / "golden" / "workspace" / "2"


@contextmanager
def fed(root: Path) -> Iterator[subprocess.Popen[str]]:
    """The workspace's runs, live in the process that feeds them."""
    house = House(root / "ws")
    runs = [house.ran(f"job-{number:03d}", "stateless", RunState.RUNNING) for number in range(RUNS)]
    event = root / "event.json"
    event.write_text(next(EVENT.rglob(PROGRESS_FILE)).read_text().splitlines()[-1])
    with subprocess.Popen([sys.executable, "-c", WRITER, str(event)], stdin=subprocess.PIPE, text=True) as writer:
        try:
            process = json.dumps({"pid": writer.pid, "started": psutil.Process(writer.pid).create_time()})
            for run in runs:
                (house.folder(run) / PROCESS_FILE).write_text(process)
            house.face.close()
            assert writer.stdin is not None
            writer.stdin.write("".join(f"{house.folder(run) / PROGRESS_FILE}\n" for run in runs))
            writer.stdin.close()
            yield writer
        finally:
            writer.kill()


async def client(url: str, token: str, paths: list[str], every_s: float, times_ms: list[tuple[float, str]]) -> None:
    """Asks for one of `paths` after the other, each at its time."""
    host = urlsplit(url)
    reader, writer = await asyncio.open_connection(host.hostname, host.port)
    due_s = time.monotonic()
    for path in paths:
        await asyncio.sleep(max(0.0, due_s - time.monotonic()))
        due_s += every_s
        times_ms.append((await answered(reader, writer, host.netloc, path, bearer(token)), path))
    writer.close()


async def crowd(server: Served) -> list[tuple[float, str]]:
    times_ms: list[tuple[float, str]] = []
    every_s = CLIENTS / READS_A_SECOND
    kinds = ["/jobs", "/health", "/jobs/job-001", "/jobs/job-002/batches", "/savepoints", "/operations", "/events", "/ping"]
    each = [[kinds[(number + at) % len(kinds)] for at in range(int(SECONDS / every_s))] for number in range(CLIENTS)]
    await asyncio.gather(*(client(server.url, server.token, paths, every_s, times_ms) for paths in each))
    return sorted(times_ms)


def shares(server: psutil.Process, seconds: float) -> float:
    """Of a core, over so long."""
    server.cpu_percent()
    return server.cpu_percent(interval=seconds) / 100


def test_five_hundred_runs(tmp_path: Path) -> None:
    assert Path(ROOT, "requirements.txt").is_file()
    with fed(tmp_path), served(tmp_path / "ws", tmp_path / "log") as server:
        process = psutil.Process(server.pid)
        until(lambda: len(server.ask(f"/jobs/job-{RUNS - 1:03d}/batches")) > 2, 300)
        watching = shares(process, SECONDS)
        before, began = sum(process.cpu_times()[:2]), time.monotonic()
        answers = asyncio.run(crowd(server))
        times_ms = [ms for ms, _ in answers]
        reading = (sum(process.cpu_times()[:2]) - before) / (time.monotonic() - began)
        rss, p99 = process.memory_info().rss, times_ms[int(len(times_ms) * 0.99)]
        lag = max(time.time() - server.ask(f"/jobs/job-{number:03d}/batches?limit=1")[0]["at_ms"] / 1000 for number in range(0, RUNS, 50))
    middle = times_ms[len(times_ms) // 2]
    print(f"\n{RUNS} runs, a batch a second each: {watching:.2f} of a core ({watching / LIMIT_CORES:.2f} of what is expected), ", end="")
    print(f"{rss / 1e6:.0f} MB ({rss / LIMIT_BYTES:.2f})")
    print(
        f"with {READS_A_SECOND} reads a second by {CLIENTS} clients: {reading:.2f} of a core; p50 {middle:.1f} ms, p99 {p99:.1f} ms ",
        end="",
    )
    print(f"({p99 / LIMIT_MS:.2f} of what is expected), worst {times_ms[-1]:.1f} ms; newest batches {lag:.1f} s old")
    for path in sorted({path for _, path in answers}):
        own_ms = [ms for ms, asked in answers if asked == path]
        print(f"  {path}: p50 {own_ms[len(own_ms) // 2]:.1f} ms, p99 {own_ms[int(len(own_ms) * 0.99)]:.1f} ms")
