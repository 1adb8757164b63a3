"""What rescaling would do to what real Spark wrote, and what is refused: decided from files, without a Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain.ids import QueryName
from pipelines.domain.rewrites import RewritePlan
from pipelines.savepoint import library, rescaling, take
from pipelines.savepoint.batch_choice import Newest
from tests.savepoint.golden import GOLDEN, NEWEST, Bench, lay_checkpoint, lay_output


def planned(folder: Path, golden: str, partitions: int = 8, spark: str = "4.3.0") -> RewritePlan:
    bench = laid(folder, golden)
    manifest = library.manifest(bench.library, bench.take().id)
    plan = rescaling.plan(rescaling.of_savepoint(bench.library, manifest), partitions, spark)
    look = take.look(bench.source(), Newest(), bench.library)
    assert rescaling.plan(rescaling.of_look(look), partitions, spark) == plan, "before it is taken the plan is the same"
    return plan


def laid(folder: Path, golden: str) -> Bench:
    bench = Bench(folder, golden)
    lay_checkpoint(golden, bench.checkpoint)
    lay_output(golden, bench.output / "counts")
    return bench


@pytest.mark.parametrize(("golden", "stores"), [("rocksdb", 1), ("rocksdb_changelog", 1), ("rocksdb_format2", 1), ("transform", 1)])
def test_state_in_rocksdb_is_rewritten(tmp_path: Path, golden: str, stores: int) -> None:
    plan = planned(tmp_path, golden)
    (operator,) = plan.operators
    assert (plan.refusal, operator.stores, plan.left) == (None, stores, ())
    assert operator.partitions != 8 and plan.bytes == operator.bytes > 0
    newest = max(int(path.name) for path in (GOLDEN / golden / "checkpoint" / "commits").iterdir() if path.name.isdigit())
    assert dict(plan.batches) == {"counts": newest + 1}


@pytest.mark.parametrize(
    ("golden", "code", "says"),
    [
        ("hdfs", "rescale.store", "HDFS-backed store"),
        ("limit_format2", "rescale.keyless", "one partition always"),
        ("stateless", "rescale.no_state", "none to rescale"),
    ],
)
def test_what_spark_cannot_rescale_is_refused(tmp_path: Path, golden: str, code: str, says: str) -> None:
    refusal = planned(tmp_path, golden).refusal
    assert refusal is not None and (refusal.code, says in refusal.message, bool(refusal.hint)) == (code, True, True)


def test_the_same_number_and_an_older_spark_are_refused(tmp_path: Path) -> None:
    present = planned(tmp_path, "rocksdb_format2").operators[0].partitions
    same = planned(tmp_path / "same", "rocksdb_format2", present)
    assert same.refusal is not None and same.refusal.code == "rescale.same" and same.left == (f"counts has {present} partitions already",)
    older = planned(tmp_path / "older", "rocksdb_format2", 8, "4.2.1").refusal
    assert older is not None and older.code == "rescale.spark"


def test_an_operator_with_one_partition_is_rescaled_if_its_state_has_a_key(tmp_path: Path) -> None:
    """Where the query has one partition in all, the state's schema tells an aggregation by a key from one without."""
    bench = laid(tmp_path, "rocksdb_format2")
    held = rescaling.of_savepoint(bench.library, library.manifest(bench.library, bench.take().id))
    (image,) = held.images
    single = replace(image, operators=(replace(image.operators[0], partitions=1),), conf={"spark.sql.shuffle.partitions": "1"})
    assert rescaling.plan(replace(held, images=[single]), 8).refusal is None
    several = replace(single, conf={"spark.sql.shuffle.partitions": "4"})
    refusal = rescaling.plan(replace(held, images=[several]), 8).refusal
    assert refusal is not None and refusal.code == "rescale.keyless"


def test_a_query_whose_state_has_no_key_stays_as_it_is_beside_others(tmp_path: Path) -> None:
    bench = laid(tmp_path, "rocksdb_format2")
    held = rescaling.of_savepoint(bench.library, library.manifest(bench.library, bench.take().id))
    (image,) = held.images
    total = replace(image, query=QueryName("total"), operators=(replace(image.operators[0], partitions=1),))
    plan = rescaling.plan(replace(held, images=[image, total]), 8)
    assert plan.refusal is None and [*plan.batches] == [image.query]
    assert plan.left == ("total keeps state without a key, which has one partition always",)
    both = replace(image, operators=(*image.operators, replace(image.operators[0], id=1, partitions=1)))
    mixed = rescaling.plan(replace(held, images=[both]), 8).refusal
    assert mixed is not None and mixed.code == "rescale.keyless"
    same = rescaling.plan(replace(held, images=[image, total]), image.operators[0].partitions).refusal
    assert same is not None and same.code == "rescale.same"


@pytest.mark.parametrize(("sink", "refused"), [("delta", True), ("foreachBatch", True), ("kafka", False), ("parquet", False)])
def test_a_batch_that_its_sink_may_have_already_is_not_done_under_another_number(tmp_path: Path, sink: str, refused: bool) -> None:
    bench = laid(tmp_path, "rocksdb_format2")
    look = take.look(bench.source(), Newest(), bench.library)
    assert rescaling.unfinished(bench.source(sink), look) is None
    (bench.checkpoint / "offsets" / str(NEWEST + 1)).write_bytes((bench.checkpoint / "offsets" / str(NEWEST)).read_bytes())
    conflict = rescaling.unfinished(bench.source(sink), look)
    assert (conflict is not None and conflict.code == "rescale.batch_planned") is refused
