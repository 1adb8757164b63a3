"""Forks on another store as the workspace makes them: on a copy, and where that fails nothing is left of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.conversions import StateStore
from pipelines.domain.errors import Conflict, Unavailable, Unsupported
from pipelines.domain.savepoints import Savepoint
from pipelines.sandbox.states import TIMEOUT_VARIABLE
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ReadManifest
from pipelines.verbs.take import Take
from tests.savepoint.matrix import ROCKSDB
from tests.workspace.conftest import NEWEST, House, job
from tests.workspace.serving import serving
from tests.workspace.test_rescales import CODE, EXPECTED, await_both, await_rows, held, partitions, put, rows


def moved(savepoint: Savepoint, count: int | None = None) -> Fork:
    return Fork(savepoint=savepoint.id, name="b", store=StateStore.ROCKSDB, partitions=count)


@pytest.mark.parametrize(
    ("golden", "code"), [("rocksdb_format2", "convert.same"), ("stateless", "convert.same"), ("limit", "convert.operator")]
)
def test_what_cannot_be_converted_is_refused_before_anything_is_done(house: House, golden: str, code: str) -> None:
    house.ran(golden=golden)
    fork = moved(do(house.face, Take("a")))
    planned = house.face.plan(fork)
    assert planned.refusal is not None and planned.refusal.code == code
    with pytest.raises((Conflict, Unsupported)) as refused:
        do(house.face, fork)
    assert refused.value.code == code and [summary.job.name for summary in house.face.ask(ListJobs())] == ["a"]


def test_the_plan_says_what_is_converted_and_what_is_rescaled_then(house: House) -> None:
    house.ran(golden="hdfs")
    savepoint = do(house.face, Take("a"))
    plan = house.face.plan(moved(savepoint, 4))
    assert plan.refusal is None and plan.conversion is not None and plan.rewrite is not None
    (operator,) = plan.conversion.operators
    assert operator.name == "stateStoreSave" and operator.bytes == plan.conversion.bytes > 0
    assert plan.rewrite.partitions == 4 and dict(plan.rewrite.batches) == {"counts": NEWEST + 1}
    assert house.face.plan(Fork(savepoint=savepoint.id, name="b")).conversion is None


def test_a_conf_that_asks_for_another_store_is_said_to_be_ignored(house: House) -> None:
    house.ran(golden="hdfs")
    savepoint = do(house.face, Take("a"))
    (warning,) = house.face.plan(Fork(savepoint=savepoint.id, name="b", conf=ROCKSDB)).warnings
    assert "--store rocksdb" in warning
    plan = house.face.plan(Fork(savepoint=savepoint.id, name="b", conf=ROCKSDB, store=StateStore.ROCKSDB))
    assert plan.conversion is not None and not plan.warnings


def test_confs_that_the_offset_log_pins_are_said_to_be_ignored(house: House) -> None:
    """Of a fork and of a resume; one that pins the same, that the job had, or that is given to a copy of the state is not named."""
    run = house.ran()
    given = {"spark.sql.shuffle.partitions": "8", "spark.sql.streaming.multipleWatermarkPolicy": "max", "spark.sql.ansi.enabled": "false"}
    same = {"spark.sql.streaming.aggregation.stateFormatVersion": "2", "spark.sql.streaming.stateStore.rowChecksum.enabled": "FALSE"}
    resumed = house.face.plan(Resume(run.job, conf=given | same)).warnings
    assert [warning.partition(":")[0] for warning in resumed] == [
        "the state of counts stays in 2 partitions, whatever spark.sql.shuffle.partitions says (8)",
        "counts keeps spark.sql.streaming.multipleWatermarkPolicy=min, not max",
    ]
    savepoint = do(house.face, Take("a"))
    assert house.face.plan(Fork(savepoint=savepoint.id, name="b", conf=given | same)).warnings == resumed
    rescaled = house.face.plan(Fork(savepoint=savepoint.id, name="b", conf=given, partitions=8)).warnings
    assert rescaled == resumed[1:] and not house.face.plan(Fork(savepoint=savepoint.id, name="b")).warnings


def test_a_conversion_that_fails_leaves_nothing_of_the_fork(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran(golden="hdfs")
    savepoint = do(house.face, Take("a"))
    before = held(Path(savepoint.path))
    monkeypatch.setenv(TIMEOUT_VARIABLE, "0.01")
    with pytest.raises(Unavailable) as failed:
        do(house.face, moved(savepoint))
    assert failed.value.code == "sandbox.timeout" and held(Path(savepoint.path)) == before
    assert [summary.job.name for summary in house.face.ask(ListJobs())] == ["a"] and not house.face.layout.job(job("b")).exists()
    assert not house.face.layout.sandbox.exists() or not list(house.face.layout.sandbox.iterdir())


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_a_fork_is_moved_and_rescaled_by_the_sandbox(house: House) -> None:
    """With the confs of the fork, in format 2; what it began from is untouched, and the doctor finds the fork's checkpoint sound."""
    ran = house.ran(golden="hdfs")
    savepoint = do(house.face, Take("a"))
    before, was = held(Path(savepoint.path)), held(Path(ran.checkpoints))
    conf = {"spark.sql.streaming.stateStore.checkpointFormatVersion": "2"}
    fork = Fork(savepoint=savepoint.id, name="b", store=StateStore.ROCKSDB, partitions=4, conf=conf)
    do(house.face, fork)
    checkpoint = Path(house.face.ask(ShowJob("b")).runs[0].checkpoints) / "counts"
    assert partitions(checkpoint) == 4 and (checkpoint / "offsets" / str(NEWEST + 1)).is_file()
    assert not list(checkpoint.rglob("*.delta")) and not (checkpoint / "converted").exists()
    diagnoses = do(house.face, Diagnose(str(checkpoint)))
    assert diagnoses and all(diagnosis.sound for diagnosis in diagnoses), diagnoses
    assert held(Path(savepoint.path)) == before and held(Path(ran.checkpoints)) == was


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_a_fork_goes_on_with_another_store_and_loses_and_doubles_nothing(spark: Any, tmp_path: Path) -> None:
    """A job on Spark's default store is forked to RocksDB with fewer partitions: the outputs of both are those of one uninterrupted run."""
    into = tmp_path / "in"
    into.mkdir()
    put(into, 0, 3)
    conf = {"spark.sql.shuffle.partitions": "4", "spark.sql.session.timeZone": "UTC"}
    with serving(tmp_path / "a workspace") as server:
        do(server.face, RunScript(name="a", script="job.py", code=CODE, args=(str(into), "{output}"), conf=conf, master="local[2]"))
        await_both(server, 2)
        savepoint = do(server.face, Take("a"))
        do(server.face, moved(savepoint, 2))
        put(into, 3, 6)
        outputs = [server.face.layout.output(job(name)) for name in ("a", "b")]
        await_rows(*outputs)
        manifest = server.face.ask(ReadManifest(server.stop("b", savepoint=True)))
        assert {(image.provider, operator.partitions) for image in manifest.queries for operator in image.operators} == {("rocksdb", 2)}
        unsound = [diagnosis for diagnosis in do(server.face, Diagnose("b")) if not diagnosis.sound]
        assert unsound == []
        assert all(rows(spark, output) == EXPECTED for output in outputs)
