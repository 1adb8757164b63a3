"""How soon a standby takes over from a server that is killed: 500 jobs that have ended, each with 100 batches, and five whose drivers live.

Run by hand: `python3 -m tests -m bench tests/bench/test_takeover.py -s`. The servers are real, in processes of their own; the drivers are
tiny, without Spark.
"""

from __future__ import annotations

import os
import signal
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx
import psutil
import pytest
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from pipelines.client.wire import bearer
from tests.browser.serving import Served, served
from tests.supervisor.conftest import House, house
from tests.waiting import until
from tests.workspace import conftest as ended

__all__ = ["house"]
pytestmark = [pytest.mark.bench, pytest.mark.timeout(1200)]
JOBS, BATCHES, LIVE, TIMES = 500, 100, 5, int(os.environ.get("TIDEMARK_TAKEOVERS", "3"))
LIMIT_S = 5.0
REST_S = 5.0


def fill(house: House) -> None:
    house.workspace.close()
    fleet = ended.House(house.root)
    for number in range(JOBS):
        run = fleet.ran(f"job-{number}", "stateless")
        fleet.append(run, "progress.jsonl", "".join(ended.progress_line(batch % 60, WATERMARK) for batch in range(BATCHES)))
    fleet.face.close()
    house.open()
    for number in range(LIVE):
        house.up(house.begin("query", f"live-{number}"))
    house.supervisor.tick()
    house.workspace.close()


WATERMARK = "2026-11-20T09:00:00.000Z"


def role(server: Served, token: str) -> str:
    """Empty where it does not answer as the one or the other yet."""
    answer = httpx.get(f"{server.url}/api/v1/ping", headers=bearer(token), timeout=30)
    return str(answer.json()["role"]) if answer.is_success else ""


def adopted(server: Served, before: list[int]) -> bool:
    runs = [server.ask(f"/jobs/live-{number}")["runs"][0] for number in range(LIVE)]
    return [run["pid"] for run in runs] == before and {run["state"] for run in runs} == {"running"}


def test_takeover(house: House, tmp_path: Path) -> None:
    fill(house)
    took_s: list[float] = []
    with ExitStack() as servers:
        active = servers.enter_context(served(house.root, tmp_path / "0.log", "--standby"))
        pids = [active.ask(f"/jobs/live-{number}")["runs"][0]["pid"] for number in range(LIVE)]
        for number in range(1, TIMES + 1):
            standby = servers.enter_context(served(house.root, tmp_path / f"{number}.log", "--standby"))
            token = standby.token
            assert role(standby, token) == "standby"
            until(lambda standby=standby: adopted(standby, pids))  # type: ignore[misc]
            cost = share_of_a_core(standby.pid)
            began = time.perf_counter()
            os.kill(active.pid, signal.SIGKILL)
            soon(lambda standby=standby, token=token: role(standby, token) == "active")  # type: ignore[misc]
            soon(lambda standby=standby: adopted(standby, pids))  # type: ignore[misc]
            took_s.append(time.perf_counter() - began)
            print(f"\ntakeover {number}: {took_s[-1]:.2f} s at load {os.getloadavg()[0]:.0f}", end="", flush=True)
            active = standby
        median, worst = statistics.median(took_s), max(took_s)
        print(f"\n{TIMES} takeovers: median {median:.2f} s, worst {worst:.2f} s ({worst / LIMIT_S:.2f} of the {LIMIT_S:.0f} s expected)")
        print(f"a standby of {JOBS + LIVE} jobs, nobody looking: {cost:.2f} of a core")
    house.open()


@retry(wait=wait_fixed(0.02), stop=stop_after_delay(60), retry=retry_if_result(lambda true: not true))
def soon(true: Callable[[], bool]) -> bool:
    return true()


def share_of_a_core(pid: int) -> float:
    """Of the process, over some seconds in which nobody asks it anything."""
    process = psutil.Process(pid)
    process.cpu_percent()
    return process.cpu_percent(interval=REST_S) / 100
