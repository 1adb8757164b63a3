"""Rescaling as the workspace does it: on a copy, and where it fails or is killed, the job and its savepoint are as they were."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipelines.domain.decisions import Does
from pipelines.domain.errors import Conflict, TidemarkError, Unavailable, Unsupported
from pipelines.domain.operations import OperationState
from pipelines.domain.runs import RunState
from pipelines.sandbox.states import TIMEOUT_VARIABLE
from pipelines.verbs.attach import Attach
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListBatches, ListJobs, ShowJob
from pipelines.verbs.rescale import Rescale
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.workspace.workspace import Workspace
from tests.savepoint.golden import lay_checkpoint
from tests.waiting import until
from tests.workspace.conftest import NEWEST, House, job, newest, stop_as_the_supervisor_would
from tests.workspace.serving import Server, serving
from tests.workspace.written import await_row_count


def partitions(checkpoint: Path) -> int:
    """Partitions of operator 0's newest state, as the commit log of format 2 has them."""
    newest = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    committed = json.loads((checkpoint / "commits" / str(newest)).read_text().split("\n")[1])
    return len(committed["stateUniqueIds"]["0"])


def held(folder: Path) -> Mapping[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def seen(face: Workspace) -> tuple[Any, ...]:
    """What lists show of job `a`: its runs and their checkpoints."""
    runs = face.ask(ShowJob("a")).runs
    return tuple((run.id, run.state) for run in runs), sorted(path.name for path in Path(runs[0].checkpoints).parent.iterdir())


@pytest.mark.parametrize(
    ("golden", "code"), [("hdfs", "rescale.store"), ("stateless", "rescale.no_state"), ("limit_format2", "rescale.keyless")]
)
def test_what_cannot_be_rescaled_is_refused_before_anything_is_done(house: House, golden: str, code: str) -> None:
    house.ran(golden=golden)
    refusal = house.face.plan(Rescale("a", 8)).restore.refusal
    assert refusal is not None and refusal.code == code
    with pytest.raises((Conflict, Unsupported)) as not_begun:
        do(house.face, Rescale("a", 8))
    assert not_begun.value.code == code
    assert not house.face.ask(ListSavepoints("a")), "not even a savepoint was taken"
    taken = do(house.face, Take("a"))
    fork = Fork(savepoint=taken.id, name="b", partitions=8)
    planned = house.face.plan(fork)
    assert planned.refusal is not None and planned.refusal.code == code
    with pytest.raises((Conflict, Unsupported)) as refused:
        do(house.face, fork)
    assert refused.value.code == code and [summary.job.name for summary in house.face.ask(ListJobs())] == ["a"]


def test_a_job_that_runs_elsewhere_is_refused(house: House, tmp_path: Path) -> None:
    lay_checkpoint("rocksdb_format2", tmp_path / "far")
    do(house.face, Attach(name="far", checkpoints={"counts": str(tmp_path / "far")}))
    with pytest.raises(Conflict) as refused:
        house.face.plan(Rescale("far", 8))
    assert refused.value.code == "job.attached"


def test_the_plan_says_what_is_rewritten(house: House) -> None:
    house.ran()
    plan = house.face.plan(Rescale("a", 8))
    rewrite = plan.restore.rewrite
    assert rewrite is not None and plan.restore.refusal is None and not plan.stops
    assert [step.does for step in plan.steps] == [Does.SAVE, Does.REWRITE, Does.RESUME]
    assert rewrite.partitions == 8 and rewrite.bytes > 0 and dict(rewrite.batches) == {"counts": NEWEST + 1}


def test_a_rewriting_that_fails_leaves_the_job_as_it_was(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran()
    before = seen(house.face)
    monkeypatch.setenv(TIMEOUT_VARIABLE, "0.01")
    with pytest.raises(Unavailable) as failed:
        do(house.face, Rescale("a", 8))
    assert failed.value.code == "sandbox.timeout"
    assert seen(house.face) == before
    (savepoint,) = house.face.ask(ListSavepoints("a"))
    with pytest.raises(Unavailable):
        do(house.face, Fork(savepoint=savepoint.id, name="b", partitions=8))
    assert [summary.job.name for summary in house.face.ask(ListJobs())] == ["a"] and not house.face.layout.job(job("b")).exists()
    assert not house.face.layout.sandbox.exists() or not list(house.face.layout.sandbox.iterdir())


def test_a_job_whose_savepoint_fails_goes_on_as_it_was(house: House) -> None:
    ran = house.ran(state=RunState.RUNNING)
    begun = house.face.begin(Rescale("a", 8))
    shutil.rmtree(Path(ran.checkpoints) / "counts" / "state")
    stop_as_the_supervisor_would(house, "a")
    with pytest.raises(TidemarkError, match=r"without a savepoint.* a goes on as it was"):
        house.face.answer(begun)
    run = newest(house, "a")
    assert (run.state, run.version, run.checkpoints) == (RunState.WANTED, ran.version, ran.checkpoints) and run.id != ran.id


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_killed_while_spark_rewrites_and_done_again(house: House) -> None:
    """After the kill the job is as it was, and no process or copy is left; then it is done whole, and what it began from is untouched."""
    ran = house.ran()
    before, was = seen(house.face), held(Path(ran.checkpoints))
    house.face.close()
    command = [sys.executable, "-m", "tests.workspace.killed_rescaling", str(house.root), "a", "8"]
    assert subprocess.run(command, cwd=Path(__file__).parents[2], check=False).returncode == -signal.SIGKILL
    house.open()
    assert seen(house.face) == before and held(Path(ran.checkpoints)) == was
    assert "checkpoint.cleaned" in {event.kind for event in house.face.ask(ListEvents("a"))}
    assert not [process for process in psutil.process_iter(["environ"]) if str(house.root) in str(process.info["environ"])]
    (savepoint,) = house.face.ask(ListSavepoints("a"))
    files = held(Path(savepoint.path))
    done = do(house.face, Rescale("a", 8))
    assert done.state is OperationState.DONE, done
    newest = house.face.ask(ShowJob("a")).runs[0]
    assert newest.id == done.result and newest.version == ran.version and newest.id != ran.id
    spec = house.face.context.files.spec(newest.job, newest.id)
    assert (Path(spec.sink_logs["counts"]) / "batch").read_text() == str(NEWEST + 1)
    assert partitions(Path(newest.checkpoints) / "counts") == 8 and partitions(Path(ran.checkpoints) / "counts") == 2
    assert held(Path(ran.checkpoints)) == was and held(Path(savepoint.path)) == files


CODE = """
import sys
from pyspark.sql import SparkSession, functions as F
into, out = sys.argv[1:3]
spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.streaming.fileSink.log.compactInterval", "3")
events = spark.readStream.schema("k STRING, ts TIMESTAMP, n INT").option("maxFilesPerTrigger", 1).json(into).withWatermark("ts", "1 minute")
counted = events.groupBy(F.window("ts", "2 minutes"), "k").agg(F.sum("n").alias("s")).selectExpr("window.start AS at", "k", "s")
unique = events.dropDuplicates(["k", "ts"])
for name, rows in (("counted", counted), ("unique", unique)):
    rows.writeStream.queryName(name).option("path", f"{out}/{name}").start()
spark.streams.awaitAnyTermination()
"""
CONF = {
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}
KEYS = 6


def put(folder: Path, first: int, files: int) -> None:
    """Files of two minutes each, every key twice in each: nothing is late, so what comes out does not depend on when a batch runs."""
    for minute in range(2 * first, 2 * (first + files), 2):
        rows = [{"k": f"k{key}", "ts": f"2026-01-01T00:{minute:02d}:0{key}Z", "n": minute + key} for key in range(KEYS)]
        aside = folder / f".{minute:03d}"
        aside.write_text("".join(json.dumps(row) + "\n" for row in rows * 2))
        os.utime(aside, (1_767_225_600 + minute, 1_767_225_600 + minute))
        aside.rename(folder / f"{minute:03d}.json")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Over a workspace with a space in its path, which Spark's reader of state cannot cope with."""
    with serving(tmp_path / "a workspace") as running:
        yield running


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_a_running_job_is_rescaled_and_loses_and_doubles_nothing(
    spark: Any, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4 → 8 while it runs, first in vain, and a fork of the savepoint before with 2: the outputs of both are those of one uninterrupted
    run."""
    into = tmp_path / "in"
    into.mkdir()
    put(into, 0, 4)
    do(server.face, RunScript(name="a", script="job.py", code=CODE, args=(str(into), "{output}"), conf=CONF, master="local[2]"))
    await_both(server, 3)
    goes_on_as_it_was(server, monkeypatch)
    done = do(server.face, Rescale("a", 8))
    assert done.state is OperationState.DONE, done
    assert server.newest("a").id == done.result
    put(into, 4, 5)
    savepoint = server.face.ask(ListSavepoints("a"))[0]
    do(server.face, Fork(savepoint=savepoint.id, name="b", partitions=2))
    outputs = [server.face.layout.output(job(name)) for name in ("a", "b")]
    await_rows(*outputs)
    for name, partitions_now in (("a", 8), ("b", 2)):
        manifest = server.face.ask(ReadManifest(server.stop(name, savepoint=True)))
        assert {operator.partitions for image in manifest.queries for operator in image.operators} == {partitions_now}
        diagnoses = do(server.face, Diagnose(name))
        assert all(diagnosis.sound for diagnosis in diagnoses), diagnoses
    assert all(rows(spark, output) == EXPECTED for output in outputs)


def await_both(server: Server, batch: int) -> None:
    """Until each query of `a` has run that batch: one alone may be far ahead."""
    until(lambda: {row.query for row in server.face.ask(ListBatches("a")) if row.batch >= batch} == {"counted", "unique"})


def goes_on_as_it_was(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rescaling of a running job fails in the sandbox: the job runs again, on the checkpoint that it had."""
    before = server.newest("a")
    with monkeypatch.context() as patched:
        patched.setenv(TIMEOUT_VARIABLE, "0.01")
        with pytest.raises(Unavailable, match="goes on as it was") as failed:
            do(server.face, Rescale("a", 8))
    assert failed.value.code == "sandbox.timeout"
    until(lambda: server.newest("a").state is RunState.RUNNING, 120)
    after = server.newest("a")
    assert after.id != before.id and after.checkpoints == before.checkpoints and after.version == before.version


def await_rows(*outputs: Path) -> None:
    """Until each of them has as many rows as are expected in the end."""
    for output in outputs:
        for name, expected in zip(COLUMNS, EXPECTED, strict=True):
            await_row_count(output / name, len(expected))


def rows(spark: Any, output: Path) -> tuple[list[Any], list[Any]]:
    """What the job has put out."""
    counted, unique = (
        sorted(map(tuple, spark.read.parquet(str(output / name)).selectExpr(*columns).collect())) for name, columns in COLUMNS.items()
    )
    return counted, unique


COLUMNS = {"counted": ("minute(at)", "k", "s"), "unique": ("minute(ts)", "k", "n")}
LAST = 2 * (4 + 5 - 1)
"""The minute of the last file: its window and the one before are still open, because the watermark is a minute behind."""
EXPECTED = (
    sorted((minute, f"k{key}", 2 * (minute + key)) for minute in range(0, LAST - 2, 2) for key in range(KEYS)),
    sorted((minute, f"k{key}", minute + key) for minute in range(0, LAST + 2, 2) for key in range(KEYS)),
)
"""What one uninterrupted run puts out."""
