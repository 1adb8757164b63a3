"""Two real servers on one workspace with a job of real Spark: the second reads, and takes over when the first is killed."""

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
import psutil
import pytest

from dashboard.readiness import Readiness
from pipelines.client.servers import active_address, running_server
from pipelines.client.wire import bearer
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.workspace_leases import PERIOD_VARIABLE, unrenewed
from pipelines.storage.layout import Layout
from tests.browser.serving import ROOT, Served, served
from tests.driver.process import CONF
from tests.waiting import until

CODE = """
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.getOrCreate()
values = spark.readStream.format("rate").option("rowsPerSecond", 20).load().groupBy((F.col("value") % 5).alias("key")).count()
values.writeStream.queryName("counts").outputMode("update").trigger(processingTime="300 milliseconds").start(format="noop")
spark.streams.awaitAnyTermination()
"""
BATCHES = "/jobs/counts/batches?limit=1000"
"""Newest first."""


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Served, Served]]:
    """The active server and the standby of a workspace in which a job runs, both begun alike."""
    root = tmp_path / "my data #1 (ä)"
    with (
        served(root, tmp_path / "active.log", "--standby") as active,
        served(root, tmp_path / "standby.log", "--standby") as standby,
    ):
        active.tell("/jobs", {"name": "counts", "script": "counts.py", "code": CODE, "conf": CONF})
        yield active, standby


def role(server: Served) -> str:
    """Empty while it serves neither as the one nor as the other."""
    answer = httpx.get(f"{server.url}/api/v1/ping", headers=bearer(server.token), timeout=30)
    return str(answer.json()["role"]) if answer.is_success else ""


def shown(server: Served) -> list[dict[str, Any]]:
    """What a standby and the active server show alike: jobs with their runs."""
    return [server.ask(f"/jobs/{summary['job']['name']}")["runs"] for summary in server.ask("/jobs")]


@pytest.mark.spark
def test_it_reads_until_the_first_is_killed_and_the_job_goes_on_under_it(pair: tuple[Served, Served], tmp_path: Path) -> None:
    active, standby = pair
    layout = Layout(active.workspace)
    assert (role(active), role(standby)) == ("active", "standby")
    assert active_address(layout) == active.url
    until(lambda: shown(standby) == shown(active) and shown(active)[0][0]["state"] == "running")
    (run,) = shown(active)[0]
    takes_no_changes(standby, active)
    until(lambda: newest_batch(standby) >= 3)
    before = standby.ask(BATCHES)
    until(lambda: newest_batch(active) >= before[0]["batch"])
    assert before == active.ask(BATCHES)[-len(before) :]

    os.kill(active.pid, signal.SIGKILL)
    at_death = newest_batch(standby)
    until(lambda: role(standby) == "active", what=(tmp_path / "standby.log").read_text())
    assert httpx.get(f"{standby.url}/readyz?active", timeout=60).text == "ready"
    until(lambda: "server.took_over" in [event["kind"] for event in standby.ask("/events")])
    assert active.url in next(event["message"] for event in standby.ask("/events") if event["kind"] == "server.took_over")
    assert active_address(layout) == standby.url
    server = running_server(layout)
    assert server is not None and server.url == standby.url

    until(lambda: newest_batch(standby) >= at_death + 5)
    saved = standby.tell("/jobs/counts/savepoints", {"label": "after"})
    assert saved["queries"][0]["batch"] > at_death
    (adopted,) = shown(standby)[0]
    assert (adopted["id"], adopted["pid"], adopted["state"]) == (run["id"], run["pid"], "running")
    assert standby.ask(BATCHES)[-len(before) :] == before
    each_batch_is_counted_once(standby, run)
    assert not {event["kind"] for event in standby.ask("/events")} & {"run.failed", "run.killed", "run.restarted"}

    command = [sys.executable, "-m", "pipelines", "stop", "counts", "--no-savepoint", "--workspace", str(standby.workspace)]
    assert subprocess.run(command, cwd=ROOT, timeout=120).returncode == 0
    until(lambda: shown(standby)[0][0]["state"] == "stopped")


def test_one_that_is_stopped_is_taken_over_from_and_ends_when_it_goes_on(tmp_path: Path) -> None:
    """On one host too: it has the lock on the catalog, and does not renew its lease."""
    root, log = tmp_path / "ws", tmp_path / "active.log"
    with (
        served(root, log, "--standby", **{PERIOD_VARIABLE: "4"}) as active,
        served(root, tmp_path / "standby.log", "--standby") as standby,
    ):
        assert (role(active), role(standby)) == ("active", "standby")
        os.kill(active.pid, signal.SIGSTOP)
        until(lambda: role(standby) == "active", 120, what=(tmp_path / "standby.log").read_text())
        until(lambda: active_address(Layout(root)) == standby.url, 60)
        os.kill(active.pid, signal.SIGCONT)
        until(lambda: psutil.Process(active.pid).status() == psutil.STATUS_ZOMBIE, 60)
        assert "another process has taken the workspace" in log.read_text().lower()
        assert active_address(Layout(root)) == standby.url


def takes_no_changes(standby: Served, active: Served) -> None:
    refused = httpx.post(f"{standby.url}/api/v1/jobs/counts/stop", json={}, headers=bearer(standby.token), timeout=60)
    assert refused.status_code == 503 and refused.json()["error"]["code"] == "server.standby"
    assert active.url in refused.json()["error"]["message"]
    assert httpx.get(f"{standby.url}/readyz", timeout=60).text == "ready: standby"
    assert httpx.get(f"{standby.url}/readyz?active", timeout=60).status_code == 503
    assert "tidemark_server_active 0.0" in httpx.get(f"{standby.url}/metrics", headers=bearer(standby.token), timeout=60).text


def each_batch_is_counted_once(server: Served, run: Any) -> None:
    """As Spark said it, and none is missing."""
    rows = [(row["batch"], row["input_rows"]) for row in server.ask(BATCHES)]
    lines = (Layout(server.workspace).run(JobName(run["job"]), RunId(run["id"])) / "progress.jsonl").read_text().splitlines()
    written = {progress["batchId"]: progress["numInputRows"] for progress in map(json.loads, lines) if "addBatch" in progress["durationMs"]}
    assert rows == sorted(((batch, written[batch]) for batch, _ in rows), reverse=True)
    assert [batch for batch, _ in rows] == list(range(rows[0][0], -1, -1))


def test_ready_for_what() -> None:
    readiness = Readiness()
    readiness.looks(lambda: 1.0, is_standby=True)
    assert (readiness.why_not(), readiness.why_not(active=True)) == ("", "a standby takes no changes")
    readiness.looks(lambda: 61.0, is_standby=True)
    assert readiness.why_not() == "the standby has read no file for 61 s"
    readiness.looks(lambda: 1.0)
    assert readiness.why_not(active=True) == ""

    def in_doubt() -> None:
        raise unrenewed("/ws", "Read-only file system")

    readiness.looks(lambda: 1.0, in_doubt)
    assert readiness.why_not() == "The lease of the workspace /ws could not be renewed in time: Read-only file system"


def newest_batch(server: Served) -> int:
    return max((row["batch"] for jobs in shown(server) for _ in jobs for row in server.ask(BATCHES)), default=-1)
