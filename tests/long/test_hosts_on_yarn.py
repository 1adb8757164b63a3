"""One workspace, servers of several hosts: the driver on the cluster goes on whatever of a host dies, and counts on exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.home_leases import PERIOD_VARIABLE
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.masters import DEPLOY_MODE
from pipelines.domain.processes import PROCESS_FILE, Process
from pipelines.storage import documents
from pipelines.storage.layout import Layout
from tests.browser.serving import Served
from tests.cluster import HERE
from tests.dashboard.test_standby import BATCHES, each_batch_is_counted_once, role, shown
from tests.hadoop import Yarn
from tests.long.test_hosts import takes_over
from tests.two_hosts import host
from tests.waiting import until
from tests.workspace import on_yarn
from tests.workspace.serving import serving
from tests.workspace.test_job_places_exact import FILES, ONE_STORE, SCRIPT, UTC, undisturbed, write_files, writes

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
JOB = "counts"
ROWS = 3
"""Of a file."""


@pytest.mark.spark
def test_the_other_host_takes_over(hdfs_url: str, yarn: Yarn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: Any) -> None:
    yarn.enter(monkeypatch)
    monkeypatch.setenv("SPARK_LOCAL_IP", HERE)
    root, folder = tmp_path / "shared", tmp_path / "in"
    write_files(folder)
    late = [path.rename(tmp_path / path.name) for path in sorted(folder.iterdir())[2:]]
    lease = {f"spark.yarn.appMasterEnv.{PERIOD_VARIABLE}": "20", "spark.driver.memory": "600m"}
    conf = {**ONE_STORE, **UTC, **on_yarn.conf(), **lease, DEPLOY_MODE: "cluster"}
    job = {"name": JOB, "script": "job.py", "code": SCRIPT, "args": [folder.as_uri(), "{output}"], "conf": conf, "master": "yarn"}
    with host("b", root, tmp_path) as b, host("a", root, tmp_path) as a:
        assert (role(b.server), role(a.server)) == ("active", "standby")
        b.server.tell("/jobs", {**job, "home": f"{hdfs_url}/home"})
        until(lambda: has_read(a.server, 2), 400)
        (run,) = shown(a.server)[0]
        there = application(a.server)
        assert stands_for(root, run)[0] == "b"

        b.kill_server()
        takes_over(a.server)
        until(lambda: stands_for(root, run)[0] == "a", 60)
        log = Layout(root).run(JobName(JOB), RunId(run["id"])) / "submission.log"
        until(lambda: "another process stands for the driver" in log.read_text(), 60, what=log.read_text())
        late.pop(0).rename(folder / "002.json")
        until(lambda: has_read(a.server, 3), 200)

        with host("c", root, tmp_path) as c:
            assert role(c.server) == "standby"
            a.kill()
            takes_over(c.server)
            until(lambda: stands_for(root, run)[0] == "c", 60)
            late.pop(0).rename(folder / "003.json")
            until(lambda: has_read(c.server, 4), 200)
            saved = c.server.tell(f"/jobs/{JOB}/savepoints", {"label": "after"})
            assert saved["queries"][0]["batch"] >= 3
            late.pop(0).rename(folder / "004.json")
            until(lambda: has_read(c.server, FILES), 200)
            assert application(c.server) == there and [each["id"] for each in shown(c.server)[0]] == [run["id"]]
            c.server.tell(f"/jobs/{JOB}/stop", {"savepoint": True})
            until(lambda: shown(c.server)[0][0]["state"] == "stopped", 200)
            each_batch_is_counted_once(c.server, run)
            happened = {event["kind"] for event in c.server.ask("/events")}
            assert not happened & {"run.failed", "run.killed", "run.restarted", "job.restarted"}, happened
    with serving(root) as server:
        writes(server, JOB, undisturbed(spark, folder, tmp_path / "undisturbed"), tmp_path)


def has_read(server: Served, files: int) -> bool:
    """Whether so many files are read, one a batch, and the windows written that the last one has closed: by a batch without input."""
    rows = [row["input_rows"] for row in server.ask(BATCHES)] if shown(server) else []
    return sum(rows) == ROWS * files and rows[0] == 0


def application(server: Served) -> str:
    """YARN's id of the driver."""
    return str(server.ask(f"/jobs/{JOB}")["cluster"]["application"])


def stands_for(root: Path, run: Any) -> tuple[str, int]:
    """The host and the pid there of the process that stands for the driver."""
    path = Layout(root).run(JobName(run["job"]), RunId(run["id"])) / PROCESS_FILE
    process = documents.decode(Process, path.read_bytes(), path.name)
    assert process.host is not None
    return process.host.name, process.pid
