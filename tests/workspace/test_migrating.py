"""Migrations by columns: which aggregates are matched, and what becomes of the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.domain import migrated_columns
from pipelines.domain.errors import Unsupported
from pipelines.domain.migrated_columns import once
from pipelines.domain.migrations import Aggregate, Becomes, told
from pipelines.domain.planned_columns import PlannedAggregate
from pipelines.domain.plannings import PlannedOperator
from pipelines.domain.types import is_wider

LONG, INT, DOUBLE = '"long"', '"integer"', '"double"'
SUM = PlannedAggregate("sum(n)", "sum", "sum", (LONG,), ("CAST(NULL AS BIGINT)",))
COUNT = PlannedAggregate("count(n)", "count", "count", (LONG,), ("0L",))
MEAN = PlannedAggregate("avg(n)", "avg", "avg", (DOUBLE, LONG), ("0.0D", "0L"), ("a UDF of elsewhere",))
MOST = PlannedAggregate("max(n)", "max", "max", (INT,), ("CAST(NULL AS INT)",))
WIDE = PlannedAggregate("max(CAST(n AS BIGINT))", "max of long", "max", (LONG,), ("CAST(NULL AS BIGINT)",))
UNKNOWN = PlannedAggregate("approx(n)", "approx", "approx", (LONG, LONG), ())


def operator(*aggregates: PlannedAggregate) -> PlannedOperator:
    return PlannedOperator(0, "stateStoreSave", "", aggregates=aggregates)


def test_each_aggregate_is_kept_moved_widened_added_or_dropped() -> None:
    old, new = operator(SUM, MEAN, MOST), operator(WIDE, COUNT, MEAN)
    made = migrated_columns.by_columns("q", old, new, ["sum", "sum_2", "count", "max"])
    assert made.expressions == ("value.`max`", "0L", "value.`sum_2`", "value.`count`")
    assert [aggregate.becomes for aggregate in made.aggregates] == [Becomes.WIDENED, Becomes.ADDED, Becomes.KEPT, Becomes.DROPPED]
    assert made.changes and made.gaps == MEAN.gaps and made.aggregates[-1] == Aggregate(Becomes.DROPPED, "sum(n)")
    assert told(made.aggregates[1:2]) == "count(n) begins with 0, as if no row had come before the savepoint"


@pytest.mark.parametrize(
    ("initial", "reference"),
    [
        (["0L"], "0"),
        (["CAST(NULL AS BIGINT)"], "null"),
        (["0.0D", "0L"], "0.0, 0"),
        (["false", "CAST(0 AS DECIMAL(20,0))"], "false, 0"),
        (["X'00'"], ""),
        (["array()", "0L"], ""),
    ],
)
def test_what_an_added_aggregate_begins_with_is_said_as_people_write_it(initial: list[str], reference: str) -> None:
    assert migrated_columns.reference(initial) == reference


def test_below_operators_that_came_an_aggregate_is_kept_where_it_alone_and_its_key_are_the_same() -> None:
    before, after = replace(SUM, own="sum by k"), replace(SUM, digest="other", narrow="other", own="sum by k")
    with pytest.raises(Unsupported):
        migrated_columns.by_columns("q", operator(before), operator(after), ["sum"])
    made = migrated_columns.by_columns(
        "q", operator(before, COUNT), operator(replace(COUNT, own="c"), after), ["sum", "count"], beneath=True
    )
    assert made.expressions == ("value.`count`", "value.`sum`") and made.changes
    assert made.gaps == ("what sum(n) is computed of, since operators or sources came and went",)
    with pytest.raises(Unsupported):
        migrated_columns.by_columns("q", operator(before), operator(replace(after, own="sum by j")), ["sum"], beneath=True)


def test_the_same_in_another_place_is_a_change_and_in_its_place_is_none() -> None:
    assert migrated_columns.by_columns("q", operator(SUM, COUNT), operator(COUNT, SUM), ["sum", "count"]).changes
    assert not migrated_columns.by_columns("q", operator(SUM, COUNT), operator(SUM, COUNT), ["sum", "count"]).changes


@pytest.mark.parametrize(
    ("old", "new", "names", "message"),
    [
        (operator(), operator(SUM), ["sum"], "cannot be told apart"),
        (None, operator(SUM), ["sum"], "cannot be told apart"),
        (operator(SUM), operator(COUNT), ["sum"], "another key, filter or source"),
        (operator(SUM), operator(SUM, COUNT), ["key", "sum"], "has 2 columns"),
        (operator(SUM), operator(SUM, UNKNOWN), ["sum"], "what approx"),
        (operator(WIDE), operator(MOST), ["max"], "another key, filter or source"),
    ],
)
def test_what_cannot_be_matched_is_refused(old: PlannedOperator | None, new: PlannedOperator, names: list[str], message: str) -> None:
    with pytest.raises(Unsupported, match=message) as refused:
        migrated_columns.by_columns("q", old, new, names)
    assert refused.value.code == "migrate.columns" and "--migrate FILE:function" in refused.value.hint


def test_types_are_wider_only_where_no_value_is_lost() -> None:
    assert is_wider('"short"', LONG) and is_wider('"float"', DOUBLE)
    assert not any(is_wider(a, b) for a, b in ((LONG, INT), (LONG, DOUBLE), (INT, INT), (INT, '"float"'), ('"string"', LONG)))


def test_counters_and_marks_are_never_null() -> None:
    assert migrated_columns.never_null([SUM, MEAN, COUNT]) == (2, 3)
    assert migrated_columns.never_null([COUNT, UNKNOWN]) == ()


def test_a_name_that_comes_again_gets_a_number() -> None:
    assert once(["sum", "count", "sum", "sum"]) == ["sum", "count", "sum_2", "sum_3"]
