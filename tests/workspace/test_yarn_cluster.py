"""In cluster mode on a real YARN: the driver shares a home alone with this machine, a bucket or a folder in HDFS. Its job is watched,
killed, saved, stopped and forked like any other, with the rows of one that was never interrupted."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipelines.domain.errors import Unavailable, Unsupported
from pipelines.domain.home_leases import PERIOD_VARIABLE
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.masters import DEPLOY_MODE, Cluster
from pipelines.domain.runs import RunState
from pipelines.domain.trust import Trust
from pipelines.sandbox import classes
from pipelines.savepoint import checksums
from pipelines.storage.addresses import open_storage
from pipelines.storage.capabilities import Sums
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListBatches, ReadLog, ShowJob
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ReadManifest
from pipelines.verbs.verify import Verify
from pipelines.workspace import cluster_copies
from tests import s3_connector
from tests.cluster import HERE
from tests.hadoop import Yarn
from tests.java import CODE, INTERPRETED
from tests.waiting import until
from tests.warm import one_environment
from tests.workspace import on_yarn
from tests.workspace.serving import Server, serving
from tests.workspace.test_job_places_exact import ONE_STORE, SCRIPT, UTC, committed, reaches, undisturbed, write_files, writes

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(bool(s3_connector.missing()), reason=s3_connector.missing() or "it is there"),
]
JARS = "spark.jars"


def cluster_conf() -> Mapping[str, str]:
    """Of a job in cluster mode, whose driver gives its lease way soon; jars lie where YARN finds them. That driver's JVM is YARN's, which
    passes over what `tests.java` says in the environment."""
    local = ",".join(f"local:{path}" for path in s3_connector.conf()[JARS].split(","))
    lease = {f"spark.yarn.appMasterEnv.{PERIOD_VARIABLE}": "20"}
    brief = {**INTERPRETED, "spark.driver.extraJavaOptions": f"{classes.BRIEF} {CODE}", "spark.sql.streaming.pollingDelay": "200ms"}
    return {**ONE_STORE, **UTC, **on_yarn.conf(), **brief, JARS: local, DEPLOY_MODE: "cluster", "spark.driver.memory": "600m", **lease}


@pytest.fixture
def server(tmp_path: Path, s3_url: str, yarn: Yarn, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    one_environment()
    yarn.enter(monkeypatch)
    monkeypatch.setenv("SPARK_LOCAL_IP", HERE)
    with serving(tmp_path / "workspace") as server:
        yield server


def begin(server: Server, name: str, folder: Path, home: str = "") -> None:
    args = (folder.as_uri(), "{output}")
    do(server.face, RunScript(name=name, script="job.py", code=SCRIPT, args=args, conf=cluster_conf(), home=home, master="yarn"))


def test_a_driver_on_the_cluster_is_exact(
    server: Server, s3_url: str, hdfs_url: str, yarn: Yarn, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On S3 it is killed; its fork is on HDFS, where a Spark job on YARN copies its savepoint; the fork of that is on this machine."""
    folder = tmp_path / "in"
    write_files(folder)
    late = [path.rename(tmp_path / path.name) for path in sorted(folder.iterdir())[2:]]
    with pytest.raises(Unsupported) as refused:
        begin(server, "nowhere", folder)
    assert refused.value.code == "master.cluster_mode" and "--home" in refused.value.hint
    begin(server, "there", folder, f"{s3_url}/home")
    reaches(server, "there", 1)
    until(lambda: (seen := server.face.ask(ShowJob("there")).cluster) is not None and seen.executors == 1, 60)
    seen = server.face.ask(ShowJob("there")).cluster
    assert seen is not None and (seen.master, seen.deploy_mode) == ("yarn", "cluster")
    first = server.newest("there")

    end_process(server, "there")  # what stands for the driver here: that goes on
    until(lambda: server.newest("there").pid != first.pid, 60)
    kill_driver(seen.application)
    until(lambda: server.newest("there").id != first.id, 200)
    late.pop(0).rename(folder / "002.json")
    reaches(server, "there", 3)
    assert "goes on" in server.face.ask(ReadLog("there")).text or "lease" in server.face.ask(ReadLog("there")).text
    saved = stopped(server, yarn, "there")
    assert cluster_of(server, "there").application != seen.application

    late.pop(0).rename(folder / "003.json")
    conf = {key: value for key, value in cluster_conf().items() if key != JARS}
    do(server.face, Fork(saved, name="over", home=f"{hdfs_url}/home", conf=conf))
    reaches(server, "over", committed(server, "there") + 1)
    monkeypatch.setenv(cluster_copies.VARIABLE, "1")
    saved = stopped(server, yarn, "over")
    assert server.face.ask(ReadManifest(saved)).how.keys() == {"cluster-copy", "written"}
    assert_checked_by_hdfs(server, saved, "over")
    assert server.face.plan(Fork(saved, name="again", home=f"{hdfs_url}/home")).how == "cluster-copy"
    late.pop(0).rename(folder / "004.json")
    do(server.face, Fork(saved, name="back", home="workspace", conf={**ONE_STORE, **UTC}, master="local[2]"))
    writes(server, "back", undisturbed(spark, folder, tmp_path / "undisturbed"), tmp_path)
    server.stop("back", savepoint=False)


def stopped(server: Server, yarn: Yarn, job: str) -> str:
    """The savepoint with which it is stopped. YARN then says that it has succeeded, each batch is known once, and nothing of its runs is
    left at home."""
    saved = server.stop(job, savepoint=True)
    assert server.newest(job).state is RunState.STOPPED
    until(lambda: on_yarn.application(yarn, cluster_of(server, job).application)["finalStatus"] == "SUCCEEDED", 60)
    batches = [row.batch for row in server.face.ask(ListBatches(job))]
    assert len(batches) == len(set(batches)) > 0
    assert cluster_of(server, job).deploy_mode == "cluster"
    place = server.newest(job).checkpoints.partition("/checkpoints/")[0]
    until(lambda: not list(open_storage(f"{place}/runs").list()), 60, what="something of ended runs is left at home")
    return saved


def assert_checked_by_hdfs(server: Server, saved: str, job: str) -> None:
    """HDFS has no checksum of what Spark wrote into the checkpoint, and one of each copy; a verification reads no file."""
    checkpoint = open_storage(f"{server.newest(job).checkpoints}/sums")
    assert isinstance(checkpoint, Sums)
    with pytest.raises(Unavailable):
        checkpoint.checksum(f"commits/{committed(server, job)}")
    assert do(server.face, Verify(saved, Trust.INTACT)).reached is Trust.INTACT
    seal = checksums.read(server.face.context.shelf(SavepointId(saved)), SavepointId(saved))
    assert seal is not None and {path for path, checksum in seal.files.items() if not checksum.startswith("hdfs:")} <= set(checksums.BESIDE)


def cluster_of(server: Server, job: str) -> Cluster:
    cluster = server.face.ask(ShowJob(job)).cluster
    assert cluster is not None
    return cluster


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
