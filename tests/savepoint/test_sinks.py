from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.domain.errors import Conflict, Invalid
from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.savepoints import QueryImage
from pipelines.savepoint import history, sinks
from pipelines.savepoint.sink_places import Arguments
from pipelines.savepoint.sinks import Choice

PARENT = "/w/jobs/a/output"
IMAGE = QueryImage(QueryName("q"), "id", 4, 0, 0, (), "none", 0, (), {}, "parquet", f"{PARENT}/counts", 0, 0)

FILE_CASES = {
    "both by {output}": (("{output}",), ("{output}",), f"{PARENT}/counts", "continue"),
    "{output} within an argument": (("--out={output}/x",), ("--out={output}/x",), f"file://{PARENT}/x", "continue"),
    "the fork lost {output}": (("{output}",), (), f"{PARENT}/counts", "refuse"),
    "the fork names the parent's directory": (("{output}",), ("{output}", f"{PARENT}/counts"), f"{PARENT}/counts", "refuse"),
    "the fork names it in an option": (("{output}",), ("{output}", f"--out={PARENT}"), f"{PARENT}/counts", "refuse"),
    "the same literal path": (("/data/out",), ("/data/out",), "/data/out/counts", "refuse"),
    "the literal path replaced": (("/data/out",), ("{output}",), "/data/out/counts", "continue"),
    "another literal path": (("/data/out",), ("/data/other",), "/data/out/counts", "continue"),
    "a directory with the same beginning": (("/data/out",), ("/data/outer",), "/data/out", "continue"),
    "written into the code": ((), (), "/data/out", "refuse"),
    "written into the code, {output} for something else": (("{output}",), ("{output}",), "/data/out", "refuse"),
    "a relative path in the code": ((), (), f"file:{PARENT}/counts", "continue"),
    "a relative path in an argument": (("counts",), ("counts",), f"{PARENT}/counts", "continue"),
    "the sink of an attached job": ((), (), PARENT, "refuse"),
    "the code had it, the fork takes {output}": ((), ("{output}",), "/data/out", "continue"),
    "the workspace was elsewhere": (("{output}",), ("{output}",), "/before/jobs/a/output/counts", "continue"),
    "another job's output": (("{output}",), ("{output}",), "/before/jobs/b/output/counts", "refuse"),
}


@pytest.mark.parametrize(("before", "now", "path", "action"), FILE_CASES.values(), ids=FILE_CASES.keys())
def test_a_forks_file_sink(before: tuple[str, ...], now: tuple[str, ...], path: str, action: str) -> None:
    decided = sinks.for_fork(replace(IMAGE, sink_path=path), Arguments(before, now, PARENT))
    assert decided.plan.action == action
    assert decided.plan.message
    assert (decided.refusal is not None) == (action == "refuse")
    fresh = sinks.for_fork(replace(IMAGE, sink_path=path), Arguments(before, now, PARENT), Choice.FRESH)
    assert fresh.plan.action == action.replace("continue", "fresh"), "an empty beginning is no leave to share a directory"


@pytest.mark.parametrize(
    ("before", "now", "path", "place"),
    [
        ("{output}", "{output}", f"{PARENT}/counts", "/w/jobs/b/output/counts"),
        ("/data/out", "/data/out", "/data/out/counts", "/data/out/counts"),
        ("/data/out", "/data/other", "file:///data/out/counts", "/data/other/counts"),
        ("--out=/data/out", "--out=s3a://lake/b", "/data/out/counts", "s3a://lake/b/counts"),
        ("/data/out", "{output}/x", "/data/out", "/w/jobs/b/output/x"),
        ("/data/out", "x", "/data/out/counts", "/w/jobs/b/output/x/counts"),
        ("/data/out", "{output}", "/data/elsewhere", ""),
    ],
)
def test_where_a_fork_has_what_its_parent_wrote(before: str, now: str, path: str, place: str) -> None:
    arguments = Arguments((before,), (now,), PARENT, "/w/jobs/b/output", "b", "/w/jobs/b/warehouse")
    assert history.own_place(replace(IMAGE, sink_path=path), arguments, JobName("a")) == place


TABLE_CASES = {
    "the same argument names it": (("--table", "db.Counts"), ("--table", "counts"), "refuse"),
    "another argument": (("--table", "db.counts"), ("--table", "db.counts_fork"), "other"),
    "an option": (("--table=counts",), ("--table=other",), "other"),
    "written into the code": ((), (), "refuse"),
    "{output} for something else": (("{output}",), ("{output}",), "refuse"),
}


@pytest.mark.parametrize(("before", "now", "action"), TABLE_CASES.values(), ids=TABLE_CASES.keys())
@pytest.mark.parametrize(("sink", "own"), [("parquet", "continue"), ("delta", "none"), ("iceberg", "none")])
def test_a_fork_onto_the_same_table_is_refused(before: tuple[str, ...], now: tuple[str, ...], action: str, sink: str, own: str) -> None:
    path = "/warehouse/db.db/counts" if sink == "parquet" else ""
    image = replace(IMAGE, sink=sink, sink_path=path, sink_table="db.counts")
    decided = sinks.for_fork(image, Arguments(before, now, PARENT))
    assert decided.plan.action == (own if action == "other" else "refuse")
    assert decided.plan.path == "db.counts"
    if action == "refuse":
        refusal = sinks.refusal([decided])
        assert isinstance(refusal, Conflict) and "counts" in refusal.message
        assert refusal.code == ("restore.sink_shared" if sink == "parquet" else "restore.table_shared")
        assert "table in the job's arguments" in refusal.hint


@pytest.mark.parametrize("now", [(), ("{output}",), ("counts",)], ids=["written into the code", "an output", "the table named"])
@pytest.mark.parametrize("home", ["warehouse/tables/counts", "runs/r-1/spark-warehouse/counts"])
def test_a_fork_has_a_table_of_its_own_where_its_parent_had_one(now: tuple[str, ...], home: str) -> None:
    image = replace(IMAGE, sink_path=f"/before/jobs/a/{home}", sink_table="counts")
    decided = sinks.for_fork(image, Arguments(now, now, PARENT))
    assert (decided.plan.action, decided.refusal) == ("continue", None)
    named = sinks.for_fork(image, Arguments(now, (*now, "--into=/before/jobs/a"), PARENT))
    assert named.plan.action == "refuse", "the fork would write into the parent's folder"


def test_a_delta_table_by_its_path_is_told_apart_by_its_path() -> None:
    image = replace(IMAGE, sink="delta", sink_path="", sink_table="/data/table")
    assert sinks.for_fork(image, Arguments(("/data/table",), ("/data/table",), PARENT)).plan.action == "refuse"
    assert sinks.for_fork(image, Arguments(("/data/table",), ("/data/other",), PARENT)).plan.action == "none"


@pytest.mark.parametrize(
    ("sink", "action"),
    [
        *((sink, "none") for sink in ("memory", "console", "noop", "delta")),
        *((sink, "shared") for sink in ("foreach", "foreachBatch", "mongodb", "")),
    ],
)
def test_other_sinks_carry_nothing_and_say_what_to_expect(sink: str, action: str) -> None:
    image = replace(IMAGE, sink=sink, sink_path="")
    plans = [sinks.for_fork(image, Arguments((), (), PARENT)).plan, sinks.for_resume(image).plan]
    assert [plan.action for plan in plans] == [action, "none"], "a fork's code may write where its parent's does"
    assert all(plan.message for plan in plans)


def test_a_fork_writes_to_a_kafka_topic_of_its_own() -> None:
    decided = sinks.for_fork(replace(IMAGE, sink="kafka", sink_path="", sink_table="out"), Arguments((), (), PARENT))
    assert (decided.plan.action, decided.plan.path, decided.refusal) == ("own", "out", None)
    assert "at least once" in decided.plan.message


@pytest.mark.parametrize("topic", ["*", ""])
def test_a_fork_whose_rows_name_their_topics_or_whose_topic_nobody_knows_has_its_own_of_each(topic: str) -> None:
    decided = sinks.for_fork(replace(IMAGE, sink="kafka", sink_path="", sink_table=topic), Arguments((), (), PARENT))
    assert (decided.plan.action, decided.refusal) == ("own", None)
    assert "Whatever topic its code or its rows name" in decided.plan.message


def test_a_resume_cuts_its_own_sink() -> None:
    assert sinks.for_resume(IMAGE).plan.action == "cut"
    assert sinks.for_resume(replace(IMAGE, sink="Parquet")).plan.action == "cut"


QUERIES = [QueryName("a"), QueryName("b")]


def test_what_is_not_said_continues() -> None:
    assert sinks.choices(QUERIES, {}) == {"a": "continue", "b": "continue"}
    assert sinks.choices(QUERIES, {"*": "fresh"}) == {"a": "fresh", "b": "fresh"}
    assert sinks.choices(QUERIES, {"*": "fresh", "b": "continue"}) == {"a": "fresh", "b": "continue"}


@pytest.mark.parametrize("asked", [{"c": "fresh"}, {"a": "carry"}, {"*": ""}])
def test_a_choice_that_there_is_not(asked: dict[str, str]) -> None:
    with pytest.raises(Invalid) as refused:
        sinks.choices(QUERIES, asked)
    assert refused.value.code == "fork.sink_choice"


def test_a_fork_of_code_that_writes_by_itself_is_told_whether_it_has_a_place_of_its_own() -> None:
    image = replace(IMAGE, sink="foreachBatch", sink_path="")
    args = ("--database", "postgresql://db/a", "--schema", "{job}")
    assert "Of its arguments, {job} is the fork's own." in sinks.for_fork(image, Arguments(args, args, PARENT)).plan.message
    shared = ("--database", "postgresql://db/a", "--schema", "engagement")
    planned = sinks.for_fork(image, Arguments(shared, shared, PARENT)).plan
    assert planned.action == "shared" and "No argument gives it a place of its own: {output}" in planned.message
    elsewhere = (*shared[:-1], "elsewhere")
    assert sinks.for_fork(image, Arguments(shared, elsewhere, PARENT)).plan.action == "none"
