"""What the pages cost with 500 jobs, 10 million batches and 1,500 savepoints: a script run each, and 20 browsers at once.

Run by hand: `python3 -m tests -m bench tests/bench/test_pages.py -s`. The server is a process of its own; its CPU time is counted apart
from that of the browsers, which are websocket sessions. `TIDEMARK_BENCH_BATCHES` makes the past shorter than 20,000 batches a job.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.bench.browsers import Page, cpu_seconds, live, open_page

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]
BATCHES = int(os.environ.get("TIDEMARK_BENCH_BATCHES", "20000"))
ROUNDS = 40
BROWSERS, LIVE_SECONDS = 20, 30
LIMIT_MS = 200
PAGES = {
    "overview": ("", ""),
    "overview 24 h": ("", "range=24h"),
    "job 15 min": ("job", "job=job-005"),
    "job 6 h": ("job", "job=job-005&range=6h"),
    "job 24 h": ("job", "job=job-005&range=24h"),
    "savepoints": ("savepoints", ""),
    "versions": ("versions", ""),
    "events": ("events", ""),
}


@dataclass(frozen=True)
class Fleet:
    """The server under load."""

    url: str
    pid: int


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    where = os.environ.get("TIDEMARK_BENCH_WORKSPACE") or str(tmp_path_factory.mktemp("fleet"))
    command = [sys.executable, "-m", "tests.bench.fleet", where, "--batches", str(BATCHES)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            match = re.search(r"serves (\S+)", server.stdout.readline())
            assert match
            os.sync()  # ten million rows were written for it: that is not to go on beside what is measured
            yield Fleet(match.group(1), server.pid)
        finally:
            server.terminate()


@pytest.mark.parametrize("name", PAGES)
def test_a_script_run(fleet: Fleet, name: str) -> None:
    """The whole page anew, as on a click, and the part that refreshes itself."""
    whole, part = asyncio.run(_measured(fleet, *PAGES[name]))
    print(f"\n{name:14} whole: {_times(whole)}\n{'':14} part:  {_times(part)}", end="")
    assert _p95([cpu for cpu, _ in whole]) < LIMIT_MS


async def _measured(fleet: Fleet, path: str, query: str) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    page = await open_page(fleet.url, path, query)
    try:
        whole = [await _run(fleet, page) for _ in range(ROUNDS)]
        part = [await _run(fleet, page, fragment) for fragment in page.fragments for _ in range(ROUNDS)]
    finally:
        await page.socket.close()
    assert not page.failed
    print(f"\n{page.received / 1e6 / (ROUNDS + 1 + len(part)):.2f} MB a run, {len(page.fragments)} parts", end="")
    return whole, part


async def _run(fleet: Fleet, page: Page, fragment: str = "") -> tuple[float, float]:
    """CPU and wall ms of one run."""
    before = cpu_seconds(fleet.pid)
    wall = await page.rerun(fragment)
    return (cpu_seconds(fleet.pid) - before) * 1_000, wall * 1_000


def _times(runs: list[tuple[float, float]]) -> str:
    cpu, wall = [cpu for cpu, _ in runs], [wall for _, wall in runs]
    shown = [f"{min(times):.0f} / {statistics.median(times):.0f} / {_p95(times):.0f}" for times in (cpu, wall)]
    return f"CPU min/median/p95 {shown[0]} ms, wall {shown[1]} ms"


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[18]


@pytest.mark.parametrize("name", ["overview", "job 15 min"])
def test_twenty_browsers(fleet: Fleet, name: str) -> None:
    share, count = asyncio.run(_watched(fleet, *PAGES[name]))
    print(f"\n{BROWSERS} browsers on {name}: {share:.2f} of a core, {count / LIVE_SECONDS:.1f} runs/s", end="")
    assert share < 1.0


async def _watched(fleet: Fleet, path: str, query: str) -> tuple[float, int]:
    """The server's CPU seconds a second while all look on, and the runs that they asked for."""
    pages = [await open_page(fleet.url, path, query) for _ in range(BROWSERS)]
    try:
        began, before = time.perf_counter(), cpu_seconds(fleet.pid)
        counts = await asyncio.gather(*(live(page, began + LIVE_SECONDS) for page in pages))
        return (cpu_seconds(fleet.pid) - before) / (time.perf_counter() - began), sum(counts)
    finally:
        for page in pages:
            await page.socket.close()
