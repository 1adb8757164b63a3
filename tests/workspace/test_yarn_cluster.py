"""In cluster mode on a real YARN: the driver shares the bucket alone with this machine. Its job is watched, killed, saved, stopped and
forked like any other, with the rows of one that ran here."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from pipelines.domain.errors import Unsupported
from pipelines.domain.home_leases import PERIOD_VARIABLE
from pipelines.domain.ids import JobName
from pipelines.domain.masters import DEPLOY_MODE
from pipelines.domain.runs import RunState
from pipelines.storage.addresses import open_storage
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListBatches, ReadLog, ShowJob
from pipelines.verbs.run import RunScript
from tests import s3_connector
from tests.cluster import HERE
from tests.hadoop import Yarn
from tests.waiting import until
from tests.warm import one_environment
from tests.workspace import on_yarn
from tests.workspace.serving import Server, serving
from tests.workspace.test_job_places_exact import FILES, ONE_STORE, SCRIPT, reaches, write_files, written

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(s3_connector.missing()), reason=s3_connector.missing() or "it is there"),
]
JARS = "spark.jars"
SLOWLY = "import time\n" + SCRIPT.replace('.queryName("sums")', '.queryName("sums").trigger(processingTime="2 seconds")')


def cluster_conf() -> Mapping[str, str]:
    """Of a job in cluster mode, whose driver gives its lease way soon; jars lie where YARN finds them."""
    local = ",".join(f"local:{path}" for path in s3_connector.conf()[JARS].split(","))
    lease = {f"spark.yarn.appMasterEnv.{PERIOD_VARIABLE}": "20"}
    return {**ONE_STORE, **on_yarn.conf(), JARS: local, DEPLOY_MODE: "cluster", "spark.driver.memory": "600m", **lease}


@pytest.fixture
def server(tmp_path: Path, s3_url: str, yarn: Yarn, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    one_environment()
    yarn.enter(monkeypatch)
    monkeypatch.setenv("SPARK_LOCAL_IP", HERE)
    with serving(tmp_path / "workspace") as server:
        yield server


def begin(server: Server, name: str, folder: Path, conf: Mapping[str, str], home: str = "", master: str = "local[2]") -> None:
    args = (folder.as_uri(), "{output}")
    do(server.face, RunScript(name=name, script="job.py", code=SLOWLY, args=args, conf=conf, home=home, master=master))


def test_a_driver_on_the_cluster_is_exact(server: Server, s3_url: str, yarn: Yarn, tmp_path: Path) -> None:
    home, folder = f"{s3_url}/home", tmp_path / "in"
    write_files(folder)
    with pytest.raises(Unsupported) as refused:
        begin(server, "nowhere", folder, cluster_conf(), master="yarn")
    assert refused.value.code == "master.cluster_mode" and "--home" in refused.value.hint
    begin(server, "there", folder, cluster_conf(), home, "yarn")
    reaches(server, "there", 1)
    until(lambda: (seen := server.face.ask(ShowJob("there")).cluster) is not None and seen.executors == 1, 60)
    seen = server.face.ask(ShowJob("there")).cluster
    assert seen is not None and (seen.master, seen.deploy_mode) == ("yarn", "cluster")
    first = server.newest("there")

    end_process(server, "there")  # what stands for the driver here: that goes on
    until(lambda: server.newest("there").pid != first.pid, 60)
    kill_driver(seen.application)
    until(lambda: server.newest("there").id != first.id, 200)
    reaches(server, "there", FILES)
    assert "goes on" in server.face.ask(ReadLog("there")).text or "lease" in server.face.ask(ReadLog("there")).text
    saved = server.stop("there", savepoint=True)
    assert server.newest("there").state is RunState.STOPPED
    last = server.face.ask(ShowJob("there")).cluster
    assert last is not None and last.application != seen.application
    until(lambda: on_yarn.application(yarn, last.application)["finalStatus"] == "SUCCEEDED", 60)
    batches = [row.batch for row in server.face.ask(ListBatches("there"))]
    assert len(batches) == len(set(batches)) > 0
    place = server.newest("there").checkpoints.partition("/checkpoints/")[0]
    until(lambda: not list(open_storage(f"{place}/runs").list()), 60, what="something of ended runs is left at home")

    here = {**ONE_STORE, **s3_connector.conf()}
    begin(server, "here", folder, here)
    do(server.face, Fork(saved, name="forked", home="workspace", conf={**here, DEPLOY_MODE: "client"}, master="local[2]"))
    for job in ("here", "forked"):
        reaches(server, job, FILES)
        server.stop(job, savepoint=False)
    expected = written(server, "here", tmp_path / "here")
    assert expected and written(server, "there", tmp_path / "there") == expected
    assert written(server, "forked", tmp_path / "forked") == expected


def end_process(server: Server, job: str) -> None:
    """SIGKILL to the process that the supervisor knows as the driver's."""
    run = server.newest(job)
    process = server.face.context.files.process(JobName(job), run.id)
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)


def kill_driver(application: str) -> None:
    """SIGKILL to the JVM in the first container of the application."""
    name = f"{application.replace('application', 'container')}_01_000001"
    drivers = [
        process
        for process in psutil.process_iter(["cmdline", "name"])
        if process.info["name"] == "java" and any(name in word for word in process.info["cmdline"] or ())
    ]
    assert drivers, name
    for process in drivers:
        process.kill()
