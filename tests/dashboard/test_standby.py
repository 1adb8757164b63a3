"""Two real servers on one workspace: the second reads, and takes over when the first is killed. The driver is tiny, without Spark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dashboard.readiness import Readiness
from pipelines.client.servers import active_address, running_server
from pipelines.client.wire import bearer
from pipelines.domain.ids import JobName, RunId
from pipelines.storage.layout import Layout
from tests.browser.serving import ROOT, Served, served
from tests.driver.process import CONF
from tests.supervisor.conftest import House, house
from tests.waiting import until
from tests.workspace.conftest import progress_line

__all__ = ["house"]


@pytest.fixture
def pair(house: House, tmp_path: Path) -> Iterator[tuple[Served, Served]]:
    """The active server and the standby of a workspace in which a job runs, both begun alike."""
    house.up(house.begin("query"))
    house.supervisor.tick()
    house.workspace.close()
    with (
        served(house.root, tmp_path / "active.log", "--standby") as active,
        served(house.root, tmp_path / "standby.log", "--standby") as standby,
    ):
        yield active, standby
    house.open()


def role(server: Served) -> str:
    """Empty while it serves neither as the one nor as the other."""
    answer = httpx.get(f"{server.url}/api/v1/ping", headers=bearer(server.token), timeout=30)
    return str(answer.json()["role"]) if answer.is_success else ""


def shown(server: Served) -> list[dict[str, Any]]:
    """What a standby and the active server show alike: jobs with their runs."""
    return [server.ask(f"/jobs/{summary['job']['name']}")["runs"] for summary in server.ask("/jobs")]


def test_it_reads_until_the_first_is_killed(house: House, pair: tuple[Served, Served], tmp_path: Path) -> None:
    active, standby = pair
    assert (role(active), role(standby)) == ("active", "standby")
    assert active_address(Layout(house.root)) == active.url
    until(lambda: shown(standby) == shown(active) and shown(active)[0][0]["state"] == "running")
    (run,) = shown(active)[0]

    refused = httpx.post(f"{standby.url}/api/v1/jobs/a/stop", json={}, headers=bearer(standby.token), timeout=60)
    assert refused.status_code == 503 and refused.json()["error"]["code"] == "server.standby"
    assert active.url in refused.json()["error"]["message"]
    assert httpx.get(f"{standby.url}/readyz", timeout=60).text == "ready: standby"
    assert httpx.get(f"{standby.url}/readyz?active", timeout=60).status_code == 503
    assert "tidemark_server_active 0.0" in httpx.get(f"{standby.url}/metrics", headers=bearer(standby.token), timeout=60).text

    progress = Layout(house.root).run(JobName(run["job"]), RunId(run["id"])) / "progress.jsonl"
    progress.write_text("".join(progress_line(batch, "2026-11-20T09:00:00.000Z") for batch in range(5)))
    until(lambda: standby.ask("/jobs/a/batches") == active.ask("/jobs/a/batches") != [])
    before = active.ask("/jobs/a/batches")

    os.kill(active.pid, signal.SIGKILL)
    until(lambda: role(standby) == "active", what=(tmp_path / "standby.log").read_text())
    assert httpx.get(f"{standby.url}/readyz?active", timeout=60).text == "ready"
    until(lambda: "server.took_over" in [event["kind"] for event in standby.ask("/events")])
    assert active.url in next(event["message"] for event in standby.ask("/events") if event["kind"] == "server.took_over")
    (adopted,) = shown(standby)[0]
    assert (adopted["id"], adopted["pid"], adopted["state"]) == (run["id"], run["pid"], "running")
    assert standby.ask("/jobs/a/batches") == before, "nothing is counted twice"
    assert active_address(Layout(house.root)) == standby.url
    found = running_server(Layout(house.root))
    assert found is not None and found.url == standby.url

    command = [sys.executable, "-m", "pipelines", "stop", "a", "--no-savepoint", "--workspace", str(house.root)]
    assert subprocess.run(command, cwd=ROOT, timeout=120).returncode == 0
    until(lambda: shown(standby)[0][0]["state"] == "stopped")


def test_ready_for_what() -> None:
    readiness = Readiness()
    readiness.looks(lambda: 1.0, is_standby=True)
    assert (readiness.why_not(), readiness.why_not(active=True)) == ("", "a standby takes no changes")
    readiness.looks(lambda: 61.0, is_standby=True)
    assert readiness.why_not() == "the standby has read no file for 61 s"
    readiness.looks(lambda: 1.0)
    assert readiness.why_not(active=True) == ""


CODE = """
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.getOrCreate()
values = spark.readStream.format("rate").option("rowsPerSecond", 20).load().groupBy((F.col("value") % 5).alias("key")).count()
values.writeStream.queryName("counts").outputMode("update").trigger(processingTime="300 milliseconds").start(format="noop")
spark.streams.awaitAnyTermination()
"""


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_job_goes_on_under_the_next_server(tmp_path: Path) -> None:
    """Real Spark: killed is the server that started the driver."""
    root = tmp_path / "my data #1 (ä)"
    body = {"name": "counts", "script": "counts.py", "code": CODE, "conf": CONF}
    with served(root, tmp_path / "active.log") as active, served(root, tmp_path / "standby.log", "--standby") as standby:
        active.tell("/jobs", body)
        until(lambda: newest_batch(standby) >= 3)
        (run,) = shown(active)[0]
        os.kill(active.pid, signal.SIGKILL)
        at_death = newest_batch(standby)
        until(lambda: role(standby) == "active", what=(tmp_path / "standby.log").read_text())
        until(lambda: newest_batch(standby) >= at_death + 5)

        saved = standby.tell("/jobs/counts/savepoints", {"label": "after"})
        assert saved["queries"][0]["batch"] > at_death
        (adopted,) = shown(standby)[0]
        assert (adopted["id"], adopted["pid"], adopted["state"]) == (run["id"], run["pid"], "running")
        rows = [(row["batch"], row["input_rows"]) for row in standby.ask("/jobs/counts/batches?limit=1000")]
        lines = (Layout(root).run(JobName(run["job"]), RunId(run["id"])) / "progress.jsonl").read_text().splitlines()
        written = {said["batchId"]: said["numInputRows"] for said in map(json.loads, lines) if "addBatch" in said["durationMs"]}
        assert rows == sorted(((batch, written[batch]) for batch, _ in rows), reverse=True), "each batch is counted once, as Spark said it"
        assert [batch for batch, _ in rows] == list(range(rows[0][0], -1, -1))
        assert not {event["kind"] for event in standby.ask("/events")} & {"run.failed", "run.killed", "run.restarted"}


def newest_batch(server: Served) -> int:
    return max((row["batch"] for jobs in shown(server) for _ in jobs for row in server.ask("/jobs/counts/batches")), default=-1)
