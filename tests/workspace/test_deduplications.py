"""The key of a deduplication under changed code: each column is matched by what it is computed of, else nothing is done."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from pipelines.domain import deduplications
from pipelines.domain.contracts import Keeps
from pipelines.domain.conversions import Shape
from pipelines.domain.deduplications import DEDUPLICATION, WITHIN_WATERMARK
from pipelines.domain.errors import Unsupported
from pipelines.domain.judged_operators import Pair, judged
from pipelines.domain.migrations import Becomes
from pipelines.domain.plain_json import rebuilt
from pipelines.domain.planned_columns import PlannedKey
from pipelines.domain.plannings import NEW, Planned, PlannedOperator, PlannedQuery, Planning
from pipelines.domain.state_variables import Family
from pipelines.domain.verdicts import Outcome
from pipelines.sandbox.counts import Store
from pipelines.sandbox.migrations import MigrationTask, Target

KEY = PlannedKey("k", "k", "k", '"string"', False)
NUMBER = PlannedKey("n", "n", "n", '"integer"', False, ("a function",))
WIDE = PlannedKey("n", "n as long", "n", '"long"', False)
OTHER = PlannedKey("n", "n + 1", "n + 1", '"long"', False)
TIME = PlannedKey("ts", "ts", "ts", '"timestamp"', True)


def operator(*keys: PlannedKey, name: str = DEDUPLICATION) -> PlannedOperator:
    return PlannedOperator(0, name, "", keys=keys)


def test_each_column_is_kept_moved_widened_or_dropped() -> None:
    made = deduplications.by_columns("q", operator(KEY, NUMBER, TIME), operator(TIME, WIDE), ["k", "n", "ts"], ["__dummy__"])
    assert (made.key, made.expressions) == (("key.`ts`", "key.`n`"), ("value.`__dummy__`",))
    assert [(aggregate.becomes, aggregate.text) for aggregate in made.aggregates] == [
        (Becomes.KEPT, "ts"),
        (Becomes.WIDENED, "n"),
        (Becomes.DROPPED, "k"),
    ]
    assert made.changes and made.gaps == ("a function",)


@pytest.mark.parametrize(
    ("old", "new", "names", "message"),
    [
        (None, operator(KEY), ["k"], "cannot be told apart"),
        (operator(), operator(KEY), ["k"], "cannot be told apart"),
        (operator(KEY), operator(), ["k"], "cannot be told apart"),
        (operator(KEY, NUMBER), operator(KEY), ["n", "k"], "cannot be told apart"),
        (operator(KEY), operator(KEY, NUMBER), ["k"], "n is new in its key, or computed otherwise"),
        (operator(NUMBER), operator(OTHER), ["n"], "n is new in its key, or computed otherwise"),
        (operator(WIDE), operator(NUMBER), ["n"], "n is new in its key, or computed otherwise"),
        (operator(KEY, TIME), operator(KEY), ["k", "ts"], "no event time any more"),
        (operator(KEY, NUMBER), operator(KEY, name=WITHIN_WATERMARK), ["k", "n"], "which row came first"),
    ],
)
def test_what_the_old_state_does_not_determine_is_refused(
    old: PlannedOperator | None, new: PlannedOperator, names: list[str], message: str
) -> None:
    with pytest.raises(Unsupported, match=message) as refused:
        deduplications.by_columns("q", old, new, names, ["__dummy__"])
    assert refused.value.code == "migrate.operators" and refused.value.hint.endswith("--drop q.0.")


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (operator(NUMBER), operator(WIDE), "with --migrate columns: n is kept, and wider."),
        (operator(NUMBER), operator(OTHER), "or computed otherwise, and the state does not say it. Give a function"),
    ],
)
def test_the_verdict_says_how_its_key_is_rewritten_and_what_stands_against_it(
    old: PlannedOperator, new: PlannedOperator, hint: str
) -> None:
    kept, keeps = (Keeps(DEDUPLICATION, {"default key": f"n {kind}", "default value": "__dummy__ void"}) for kind in ("integer", "long"))
    part = judged(Pair("q", 0, 0, kept, keeps, old, new, is_explained=True), ())
    assert part.outcome is Outcome.NEEDS_REWRITING and hint in part.hint


def test_columns_that_spark_would_read_as_each_other_need_a_migration() -> None:
    keys = ("__dummy__ void", "k string, s string"), ("__dummy__ void", "s string, k string")
    kept, keeps = (Keeps(DEDUPLICATION, {"default key": key, "default value": value}) for value, key in keys)
    other = replace(KEY, name="s", digest="s", narrow="s")
    before, after = (replace(operator(*columns), digest=str(columns)) for columns in ((KEY, other), (other, KEY)))
    part = judged(Pair("q", 0, 0, kept, keeps, before, after, is_explained=True), ())
    assert part.outcome is Outcome.CHANGED_MEANING
    assert "by their places" in part.reasons[-1] and "with --migrate columns: s is kept as it is, k is kept" in part.hint
    filtered = replace(before, digest="another filter")
    there, moved = (judged(Pair("q", 0, 0, kept, columns, before, filtered, is_explained=True), ()) for columns in (kept, keeps))
    assert there.outcome is moved.outcome is Outcome.CHANGED_MEANING
    assert "--migrate columns" not in there.hint and "Or fork twice" in moved.hint


def test_what_was_planned_and_what_is_to_be_done_are_read_as_they_were_written(tmp_path: Path) -> None:
    side = Planned((PlannedQuery("q", (operator(KEY, NUMBER),)),))
    planning = Planning("4.3.0", sides={NEW: side})
    assert rebuilt(Planning, json.loads(json.dumps(asdict(planning)))) == planning
    shape = Shape(2, "{}", "{}", 0, "lz4")
    store = Store("q", "/c", 1, "hdfs", 1, 0, DEDUPLICATION, "default")
    struct = {"type": "struct", "fields": []}
    families = (
        Family("a", "b", (struct, struct), (struct, struct), ("value", "list")),
        Family("left", "left", (struct, struct), (struct, struct), places=(1, None)),
    )
    by_function = Target(shape, "/n", never_null=(0,), copies=(("a", "b"),), name="q.0.left", is_numbered=True, families=families)
    targets = (Target(shape, "/n", ("value.`__dummy__`",), key=("key.`n`",)), by_function, Target(shape, "/n", counts="left"))
    task = MigrationTask(1, "", "", {}, (store,) * 3, targets, "f", "def f")
    task.write(tmp_path)
    assert MigrationTask.read(tmp_path) == task
