"""Where the bytes of a job lie that is run or forked at a home: what is refused at first, and what is left in the end. No Spark."""

from __future__ import annotations

import io
import json
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.checkpoint import metadata
from pipelines.domain import job_places as places
from pipelines.domain.conversions import StateStore
from pipelines.domain.decisions import StateFrom
from pipelines.domain.errors import Conflict, TidemarkError, Unavailable, Unsupported
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.jobs import Run
from pipelines.domain.runs import QUERIES_FILE, RunState
from pipelines.sandbox import environment
from pipelines.sandbox.readings import Far
from pipelines.sandbox.states import TIMEOUT_VARIABLE
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Entry
from pipelines.verbs.experiments import Compare
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.promote import Promote
from pipelines.verbs.rescale import Rescale
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest
from pipelines.verbs.take import Take
from pipelines.workspace import job_places, states
from pipelines.workspace.tickets import Ticket
from tests.savepoint.golden import lay_checkpoint, lay_output
from tests.workspace import process_forks
from tests.workspace.conftest import CODE, NEWEST, House, query_line

PACKAGE = {places.PACKAGES: "org.apache.hadoop:hadoop-aws:3.5.0"}
NOBODY = "nobody-there"
"""A user that HDFS does not know, and for whom there is nothing to write in."""


def script(home: str, conf: Mapping[str, str] = PACKAGE, name: str = "a") -> RunScript:
    return RunScript(name=name, script="job.py", code=CODE, args=("--output", "{output}"), conf=conf, home=home)


@pytest.fixture(params=["s3", "hdfs", "disk"])
def url(request: pytest.FixtureRequest) -> str:
    """A place of the test's own where jobs are kept."""
    return str(request.getfixturevalue(f"{request.param}_url"))


def test_its_checkpoint_and_its_output_are_planned_in_a_folder_of_its_own(house: House, url: str) -> None:
    plan = house.face.plan(script(f"{url}/home/"))
    assert plan.place == f"{url.replace('s3://', 's3a://')}/home/a-{plan.run}" and plan.output == f"{plan.place}/output"
    run = do(house.face, script(f"{url}/home"))
    spec = house.face.context.files.spec(run.job, run.id)
    assert spec.checkpoints == run.checkpoints and run.checkpoints.startswith(f"{job_places.of_job(house.face.context, run.job)}/")
    assert spec.args == ("--output", spec.output) and spec.output == plan.output.replace(plan.run, run.id)
    assert spec.warehouse.removeprefix("file://").startswith(str(house.root))


def test_a_job_without_a_home_is_in_the_workspace(house: House) -> None:
    assert house.face.plan(script("")).place == "" and house.face.plan(script("workspace")).place == ""


@pytest.mark.parametrize(
    ("conf", "code"),
    [
        ({}, "home.connector"),
        ({places.JARS: "/nowhere/hadoop-aws-3.5.0.jar"}, "home.connector"),
        ({**PACKAGE, places.ENDPOINT: "http://elsewhere:9000"}, "home.endpoint"),
        ({**PACKAGE, places.ACCESS_KEY: "another"}, "home.credentials"),
    ],
)
def test_what_could_not_begin_there_is_refused_by_the_plan(house: House, s3_url: str, conf: dict[str, str], code: str) -> None:
    with pytest.raises((Unsupported, Conflict)) as error:
        house.face.plan(script(s3_url, conf))
    assert error.value.code == code and "another" not in f"{error.value.message} {error.value.hint}"
    if code == "home.connector":
        assert "org.apache.hadoop:hadoop-aws" in error.value.hint


def test_the_hint_names_the_artifact_of_the_spark_that_will_run_it(house: House, s3_url: str) -> None:
    with pytest.raises(Unsupported) as error:
        house.face.plan(script(s3_url, {}))
    assert "org.apache.hadoop:hadoop-aws:3.5.0" in error.value.hint


def test_what_is_no_home_of_jobs_is_refused(house: House, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    afar = {**PACKAGE, "spark.submit.deployMode": "cluster"}
    for home, conf, master, code in (
        ("gs://there/home", PACKAGE, "", "home.scheme"),
        (str(tmp_path / "file" / "home"), {}, "", "storage.no_folder"),
        ("disk/home", {}, "", "home.relative"),
        (str(house.root / "home"), {}, "", "home.inside"),
        (str(tmp_path / "disk"), afar, "k8s://http://127.0.0.1:1", "master.cluster_mode"),
    ):
        with pytest.raises(TidemarkError) as error:
            house.face.plan(replace(script(home, conf), master=master))
        assert error.value.code == code and not (tmp_path / "disk").exists()


def refused(house: House, home: str) -> TidemarkError:
    """What the plan says; nothing was written before it was known."""
    with pytest.raises(TidemarkError) as error:
        house.face.plan(script(home, {}))
    assert not house.face.context.files.job_names()
    return error.value


@pytest.mark.parametrize(
    ("home", "code", "hint"),
    [
        ("hdfs://nowhere:8020/home", "storage.namenode", "TIDEMARK_WEBHDFS"),
        ("hdfs:///home", "home.namenode", "fs.defaultFS"),
        ("hdfs://there:8020/home", "storage.unreachable", "HADOOP_CONF_DIR"),
        ("webhdfs://there:9870/home", "home.webhdfs", "hdfs://"),
    ],
)
def test_a_namenode_that_nobody_reaches_is_told_by_the_plan(
    house: House, hdfs_url: str, monkeypatch: pytest.MonkeyPatch, home: str, code: str, hint: str
) -> None:
    monkeypatch.setenv("TIDEMARK_WEBHDFS", "there:8020=http://127.0.0.1:9")
    error = refused(house, home)
    assert error.code == code and hint in error.hint


def test_who_may_not_write_in_hdfs_is_told_by_the_plan(house: House, hdfs_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", NOBODY)
    error = refused(house, f"{hdfs_url}/home")
    assert error.code == "storage.denied" and f"user={NOBODY}" in error.message and "HADOOP_USER_NAME" in error.hint


def test_a_server_that_is_another_user_than_its_sparks_is_refused(house: House, hdfs_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSSPEC_WEBHDFS_USER", NOBODY)
    error = refused(house, f"{hdfs_url}/home")
    assert error.code == "home.credentials" and NOBODY in error.message and "HADOOP_USER_NAME" in error.hint
    monkeypatch.setenv("HADOOP_USER_NAME", NOBODY)
    assert refused(house, f"{hdfs_url}/home").code == "storage.denied"


def test_a_spark_without_a_client_of_hdfs_is_told_by_the_plan(
    house: House, hdfs_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    monkeypatch.delenv("SPARK_DIST_CLASSPATH", raising=False)
    error = refused(house, f"{hdfs_url}/home")
    assert error.code == "home.connector" and "SPARK_DIST_CLASSPATH" in error.hint
    monkeypatch.setenv("SPARK_DIST_CLASSPATH", "/opt/hadoop/share/hadoop/common/*")
    assert house.face.plan(script(f"{hdfs_url}/home", {})).place.startswith(hdfs_url)


def test_a_bucket_that_is_not_there_is_told_by_the_plan(house: House, s3_url: str) -> None:
    with pytest.raises(TidemarkError) as error:
        house.face.plan(script("s3://no-such-bucket-here/home"))
    assert error.value.code.startswith("storage.")


def ran(house: House, home: str, name: str = "a", conf: Mapping[str, str] = PACKAGE) -> Run:
    """A job at `home` with a golden checkpoint and output there."""
    run = do(house.face, script(home, conf, name))
    laid = house.root.parent / "laid" / name
    lay_checkpoint("rocksdb_format2", laid / "checkpoint")
    lay_output("rocksdb_format2", laid / "output")
    output = house.face.context.files.spec(run.job, run.id).output
    pairs = ((laid / "checkpoint", f"{run.checkpoints}/counts"), (laid / "output", f"{output}/counts"))
    for folder, url in pairs:
        target = open_storage(url)
        for path in folder.rglob("*"):
            if path.is_file() and not path.name.endswith(".crc"):
                target.write(str(path.relative_to(folder)), relocated(path, laid / "output", f"{output}/counts"))
    house.append(run, QUERIES_FILE, query_line(f"{run.checkpoints}/counts", f"{output}/counts"))
    return run


def relocated(path: Path, old: Path, new: str) -> bytes:
    data = path.read_bytes()
    return data.replace(f"file://{old}".encode(), new.encode()) if path.parent.name == "_spark_metadata" else data


def copied(url: str) -> str:
    """How files get from one place there to another."""
    return {"s3": "server-copy", "hdfs": "copy"}.get(url.partition("://")[0], "link")


def test_a_savepoint_of_it_lies_at_its_home_and_is_copied_there(house: House, url: str) -> None:
    ran(house, f"{url}/home")
    taken = do(house.face, Take("a"))
    manifest = house.face.ask(ReadManifest(taken.id))
    assert taken.path == f"{url}/home/{taken.id}" and manifest.how.keys() <= {copied(url), "written"}, manifest.how


def test_a_fork_says_what_it_costs_there(house: House, url: str) -> None:
    ran(house, f"{url}/home")
    taken = do(house.face, Take("a"))
    there, here = (house.face.plan(Fork(taken.id, name="b", home=home)) for home in (f"{url}/home", ""))
    assert there.how == copied(url) and there.checkpoints.startswith(places.at(f"{url}/home", JobName("b"), RunId(str(there.run))))
    assert there.files < there.requests < 2 * there.files if "://" in url else there.requests == 0
    assert here.how == "copy" and here.requests == 0 and here.checkpoints.startswith(str(house.root))
    assert there.refusal is None and here.refusal is None, (there.sinks, here.sinks)


def test_what_two_jobs_wrote_there_is_compared(house: House, url: str) -> None:
    for name, last in (("a", 2), ("b", 3)):
        run = ran(house, f"{url}/home", name)
        house.see(run, RunState.STOPPED)
        output = open_storage(f"{house.face.context.files.spec(run.job, run.id).output}/counts")
        for entry in [entry for entry in output.list() if entry.path.endswith(".parquet")]:
            output.write(entry.path, parquet(name=[entry.path, f"{entry.path} 2"], value=[1, last]))
    comparison = house.face.ask(Compare("a", "b"))
    assert comparison.rows_a == comparison.rows_b == comparison.equal + comparison.changed and comparison.equal == comparison.changed > 0, (
        comparison
    )


def parquet(**columns: list[Any]) -> bytes:
    """A data file with these columns."""
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def test_state_is_rewritten_there(house: House, url: str) -> None:
    ran(house, f"{url}/home")
    taken = do(house.face, Take("a"))
    rescaled = house.face.plan(Fork(taken.id, name="b", home=f"{url}/home", partitions=4))
    assert rescaled.refusal is None and rescaled.rewrite is not None and house.face.plan(Rescale("a", 4)).restore.refusal is None
    migrated = house.face.plan(Fork(taken.id, name="b", home=f"{url}/home", code="print(1)\n", migrate={"columns": ""}))
    assert migrated.refusal is None and migrated.migration is not None
    refused = house.face.plan(Fork(taken.id, name="b", home=f"{url}/home", store=StateStore.ROCKSDB)).refusal
    assert refused is not None and refused.code == "convert.same"


def test_a_migration_there_that_fails_leaves_nothing_of_the_fork(house: House, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(house, f"{url}/home")
    taken = do(house.face, Take("a"))
    before = {entry.path for entry in open_storage(f"{url}/home").list()}
    monkeypatch.setenv(TIMEOUT_VARIABLE, "0.01")
    with pytest.raises(Unavailable) as failed:
        do(house.face, Fork(taken.id, name="b", home=f"{url}/home", code="print(1)\n", migrate={"columns": ""}))
    assert failed.value.code == "sandbox.timeout" and house.face.context.files.job(JobName("b")) is None
    assert {entry.path for entry in open_storage(f"{url}/home").list()} == before


def test_a_rewriting_there_that_is_broken_off_leaves_nothing(house: House, url: str) -> None:
    """Of a fork, and of the job itself: its sandbox is killed as it begins, it is cancelled, and then the server is killed. What one try
    had left would be in the way of the next."""
    home = f"{url}/home"
    house.see(ran(house, home), RunState.STOPPED)
    taken = do(house.face, Take("a"))
    before, listed = lying(home), jobs_and_runs(house)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environment, "command", lambda *asked: [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"])
        with pytest.raises(Unavailable):
            do(house.face, Fork(taken.id, name="b", home=home, partitions=4))
    assert_as_before(house, home, before, listed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(states, "follow", cancelling(states.follow))
        with pytest.raises(Conflict, match="cancelled"):
            do(house.face, Rescale("a", 4))
    assert_as_before(house, home, before, listed)
    with process_forks.of("tests.workspace.killed_at_home") as killed:
        for words in (("fork", taken.id, home), ("rescale", "a")):
            house.face.close()
            assert killed(house.root, *words) == -signal.SIGKILL
            house.open()
            assert_as_before(house, home, before, listed)


def cancelling(follow: Callable[[Ticket], Callable[[Far], None]]) -> Callable[[Ticket], Callable[[Far], None]]:
    def begun(ticket: Ticket) -> Callable[[Far], None]:
        ticket.end()
        return follow(ticket)

    return begun


def lying(home: str) -> set[Entry]:
    return set(open_storage(home).list())


def jobs_and_runs(house: House) -> dict[str, list[str]]:
    names = [summary.job.name for summary in house.face.ask(ListJobs())]
    return {name: [run.id for run in house.face.ask(ShowJob(name)).runs] for name in names}


def assert_as_before(house: House, home: str, before: set[Entry], listed: dict[str, list[str]]) -> None:
    """All is there that was, and nothing more but savepoints that are listed."""
    assert jobs_and_runs(house) == listed and set(house.face.context.files.job_names()) == set(listed)
    saved = tuple(f"{savepoint.id}/" for savepoint in house.face.ask(ListSavepoints()))
    there = lying(home)
    assert before <= there and not [entry for entry in there - before if not entry.path.startswith(saved)]


def test_only_on_disks_one_follows_another_in_lock_step(house: House, url: str) -> None:
    run = ran(house, f"{url}/home")
    taken = do(house.face, Take("a", NEWEST - 1))
    for home in (f"{url}/home", ""):
        follows = Fork(taken.id, name="b", home=home, lock_step=True)
        if "://" in url:
            with pytest.raises(Unsupported, match="bytes lie in the workspace, or on other disks"):
                house.face.plan(follows)
        else:
            followed = house.face.plan(follows).lock_step
            assert followed is not None and followed.lead.checkpoints == run.checkpoints


def test_it_goes_on_with_the_state_of_a_variant_that_is_promoted(house: House, url: str) -> None:
    home = f"{url}/home"
    run = ran(house, home)
    house.append(run, QUERIES_FILE, without_output(run))
    house.see(run, RunState.STOPPED)
    theirs = do(house.face, Fork(do(house.face, Take("a")).id, name="b", home=home, code=CODE + "x = 1\n", script="b.py"))
    house.append(theirs, QUERIES_FILE, without_output(theirs))
    house.see(theirs, RunState.STOPPED)
    do(house.face, Promote("b", StateFrom.VARIANT))
    now = house.face.ask(ShowJob("a")).runs[0]
    assert now.from_savepoint and now.checkpoints == f"{job_places.of_job(house.face.context, run.job)}/checkpoints/{now.id}"
    kept, began = (open_storage(f"{checkpoints}/counts") for checkpoints in (now.checkpoints, run.checkpoints))
    state = {entry.path for entry in kept.list("state")}
    assert state and state == {entry.path for entry in open_storage(f"{theirs.checkpoints}/counts").list("state")}
    assert metadata.read(kept).query_id == metadata.read(began).query_id
    assert not any(house.face.layout.checkpoints(run.job, now.id).parent.glob("*"))


def without_output(run: Run) -> str:
    return json.dumps({**json.loads(query_line(f"{run.checkpoints}/counts", "")), "sink": "noop"}) + "\n"


def test_forgetting_it_removes_its_bytes_and_keeps_its_savepoints(house: House, url: str) -> None:
    run = ran(house, f"{url}/home")
    house.see(run, run.state.STOPPED)
    place = job_places.of_job(house.face.context, run.job)
    assert list(open_storage(place).list())
    do(house.face, Forget("a"))
    assert not list(open_storage(place).list())


def test_what_a_crash_left_of_a_beginning_is_removed_at_the_next_opening(house: House, url: str) -> None:
    run = ran(house, f"{url}/home")
    place = job_places.of_job(house.face.context, run.job)
    house.face.layout.wanted_file(run.job).unlink()
    (house.folder(run) / QUERIES_FILE).unlink()
    house.reopen()
    assert house.face.context.files.job(run.job) is None and not list(open_storage(place).list())


def test_a_folder_at_a_home_is_unlike_any_other() -> None:
    folder, other = (places.at("s3://bucket/home/", JobName("a"), RunId(run)) for run in ("r-1", "r-2"))
    assert folder == "s3a://bucket/home/a-r-1" != other and places.place_of(places.checkpoints(folder, RunId("r-1"))) == folder
    assert places.at("hdfs://nn/home/", JobName("a"), RunId("r-1")) == "hdfs://nn/home/a-r-1"
    assert places.place_of("/workspace/jobs/a/checkpoints/r-1") == ""
