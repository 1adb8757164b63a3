"""Plans in words: the same on pages and on the command line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.domain.disposals import DisposeOutcome, DisposePlan, disposal
from pipelines.domain.errors import Refusal
from pipelines.domain.ids import JobName, QueryName, SavepointId
from pipelines.domain.migrations import Aggregate, Becomes, MigratedOperator, Migration, MigrationPlan
from pipelines.domain.paces import Pace
from pipelines.domain.restores import SinkPlan
from pipelines.domain.rewrites import OperatorRewrite
from pipelines.domain.savepoints import ExportPlan, TakePlan
from pipelines.words import migrations, plans
from tests import samples

SINK = SinkPlan(QueryName("counts"), "parquet", "/out", "cut", "It is cut back to batch 7.")


def test_a_restore_says_what_is_new_how_it_comes_and_what_is_saved_first() -> None:
    plan = replace(samples.restore_plan("sp-1", "a", keeps_query_id=True), saves=("before the change",))
    assert plans.restore(plan) == [
        ("state", "12 files, 2.0 MB"),
        ("new bytes", "4.1 kB (hard-linked)"),
        ("query id", "kept"),
        ("saved first", "savepoint “before the change”, so nothing is lost"),
    ]
    timed = plans.restore(replace(plan, pace=Pace(4_200.0, SavepointId("sp-0"))))
    assert timed[2] == ("copying takes", "about 4.20 s, by savepoint sp-0")
    assert plans.restore(replace(plan, files=0, how="as it is"))[:2] == [("state", "in its own checkpoint, as it is"), ("query id", "kept")]
    assert plans.restore(replace(plan, saves=("a", "b")))[-1] == ("saved first", "savepoints “a” and “b”, so nothing is lost")


def test_a_sink_is_said_once_and_not_as_a_warning_again() -> None:
    plan = replace(samples.restore_plan("sp-1", "a", keeps_query_id=False), sinks=(SINK,), warnings=(f"counts: {SINK.message}", "slow"))
    assert plans.sink(SINK) == "counts (parquet): cut back. It is cut back to batch 7."
    assert plan.further_warnings == ("slow",)
    assert plans.refusal(plan) == "" and plans.refusal(None) == ""
    refused = Refusal("conflict", "restore.sink_shared", "Not empty.", "Empty it.")
    assert plans.refusal(replace(plan, refusal=refused)) == "Not empty. Empty it."


@pytest.mark.parametrize(
    ("how", "words"),
    [("link", "hard-linked"), ("copy, link", "copied, hard-linked"), ("server-copy", "copied by the store"), ("as it is", "as it is")],
)
def test_ways(how: str, words: str) -> None:
    assert plans.way(how) == words


def test_a_take_names_the_batch_of_each_query() -> None:
    plan = TakePlan(JobName("a"), {"counts": 1_234, "late": 7}, 3, 900, 0, "link", "s3://b")
    assert plans.take(plan)[:2] == [("batch", "1,234 of counts"), ("batch", "7 of late")]
    assert plans.take(plan)[2:] == [("state", "3 files, 900 B"), ("new bytes", "0 B (hard-linked), and the manifest"), ("to", "s3://b")]


def test_what_is_copied_elsewhere_says_how_much_passes_through_the_server() -> None:
    plan = TakePlan(JobName("a"), {}, 3, 900, 900, "cluster-copy", server_bytes=40)
    assert plans.take(plan)[1:] == [
        ("new bytes", "900 B (copied by a Spark job on the cluster), and the manifest"),
        ("through the server", "40 B"),
    ]
    assert "through the server" not in dict(plans.take(replace(plan, how="copy", server_bytes=900)))


def test_an_archive_says_that_it_is_smaller() -> None:
    plan = ExportPlan(SavepointId("sp-1"), "/a.tar.zst", True, 1, 900, "archive", False, JobName("a"))
    assert plans.export(plan) == [
        ("copies", "1 file, 900 B read; the file is usually smaller"),
        ("becomes", "one compressed file"),
        ("how", "packed"),
    ]


def test_a_disposal_counts_those_that_stay() -> None:
    goes = DisposeOutcome("sp-1", DisposePlan(SavepointId("sp-1"), 2, 900, 400))
    stays = DisposeOutcome("sp-2", None, Refusal("conflict", "savepoint.in_use", "It is needed", "Later."))
    assert plans.disposed(disposal((goes,), 400)) == "1 savepoint, which frees 400 B"
    assert plans.disposed(disposal((goes, stays), 400)) == "1 of 2 savepoints, which frees 400 B"
    assert dict(plans.disposal(disposal((goes, stays), 400))) == {
        "goes": "1 of 2 savepoints",
        "deletes": "2 files, 900 B",
        "frees on disk": "400 B",
        "shared": "500 B",
    }


def test_code_that_is_the_same() -> None:
    assert plans.code(0, 0) == "unchanged"
    assert [plans.code(1, 0), plans.code(2, 1_200)] == ["1 line added, 0 removed", "2 lines added, 1,200 removed"]


def test_a_migration_says_its_steps_and_what_it_did() -> None:
    rewritten = OperatorRewrite(QueryName("counts"), 0, "stateStoreSave", 1, 4, 12_000)
    facts = plans.restore(
        replace(samples.restore_plan("sp-1", "a", keeps_query_id=False), migration=MigrationPlan("columns", (rewritten,)))
    )
    steps = dict(facts)
    assert steps["may change"] == "operator 0 (aggregation) of counts, 1 store, 12.0 kB"
    assert steps["rewritten"].startswith("at most 12.0 kB") and [name for name, _ in facts if name in steps][-1] == "rehearsed"
    kept, added = Aggregate(Becomes.KEPT, "sum(n)"), Aggregate(Becomes.ADDED, "count(1)", "0")
    done = MigratedOperator("counts", 0, 12, 12, "sum long", "sum long, count long", (kept, added))
    told = migrations.told(Migration("columns", "", (done,), "Rehearsed: batch 5 of counts put out 3 rows."))
    assert told == (
        "its state was migrated by columns. counts, operator 0: 12 rows became 12; kept sum(n); added count(1), which begins with 0. "
        "Rehearsed: batch 5 of counts put out 3 rows."
    )
    by_function = Migration("halved", "ab", (replace(done, aggregates=()),), "")
    assert migrations.lines(by_function) == ["counts, operator 0: 12 rows became 12, which are what halved gives at the savepoint."]
