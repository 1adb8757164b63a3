"""The state of session windows for changed code: what it is grouped by stands where the code names it, before its aggregates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.domain import session_windows
from pipelines.domain.contracts import Keeps
from pipelines.domain.conversions import SESSIONS
from pipelines.domain.errors import Unsupported
from pipelines.domain.judged_operators import Pair, judged
from pipelines.domain.planned_columns import PlannedAggregate
from pipelines.domain.plannings import PlannedOperator
from pipelines.domain.session_windows import Columns
from pipelines.domain.verdicts import Outcome

SUM = PlannedAggregate("sum(n)", "s", "s", ('"long"',), ("CAST(NULL AS BIGINT)",))
ROWS = PlannedAggregate("count(1)", "c", "c", ('"long"',), ("0L",))
KEY = ("key", "sessionStartTime")


def operator(*aggregates: PlannedAggregate) -> PlannedOperator:
    return PlannedOperator(0, SESSIONS, "", aggregates=aggregates)


def test_the_session_moves_with_the_code_and_aggregates_are_kept_added_and_dropped() -> None:
    before, after = Columns(KEY, ("session_window", "key", "sum")), Columns(KEY, ("key", "session_window", "count", "sum"))
    made = session_windows.by_columns("q", operator(SUM), operator(ROWS, SUM), before, after)
    assert made.expressions == ("value.`key`", "value.`session_window`", "0L", "value.`sum`") and made.changes
    assert session_windows.never_null(operator(ROWS, SUM), after) == (2,)
    same = session_windows.by_columns("q", operator(SUM), operator(SUM), before, before)
    assert not same.changes and same.expressions == ("value.`session_window`", "value.`key`", "value.`sum`")


def test_columns_of_one_name_are_told_apart_by_their_places() -> None:
    before = Columns(("sum", "sessionStartTime"), ("sum", "session_window", "sum"))
    made = session_windows.by_columns("q", operator(SUM), operator(SUM), before, before)
    assert made.expressions == ("value.`sum`", "value.`session_window`", "value.`sum_2`")
    assert before.copies() == (("key.`sum`", "value.`sum`"), ("key.`sessionStartTime`", "value.`session_window`.start"))


@pytest.mark.parametrize("value", [("session_window", "other", "sum"), ("key", "key", "sum")])
def test_a_session_that_cannot_be_told_from_the_other_columns_is_refused(value: tuple[str, ...]) -> None:
    with pytest.raises(Unsupported) as refused:
        session_windows.by_columns("q", operator(SUM), operator(SUM), Columns(KEY, value), Columns(KEY, value))
    assert refused.value.code == "migrate.columns" and "its session" in refused.value.message


def test_the_verdict_says_what_becomes_of_its_aggregates() -> None:
    columns = {
        "default key": "key string, sessionStartTime timestamp",
        "default value": "session_window struct<a int>, key string, sum long",
    }
    kept, keeps = Keeps(SESSIONS, columns), Keeps(SESSIONS, {**columns, "default value": f"{columns['default value']}, count long"})
    pair = Pair("q", 0, 0, kept, keeps, operator(SUM), operator(SUM, ROWS), is_explained=True)
    part = judged(pair, ())
    assert part.outcome is Outcome.NEEDS_REWRITING
    assert "columns: sum(n) is kept as it is, count(1) begins with 0, as if no row had come before the savepoint." in part.hint
    assert "--migrate FILE:function" in judged(replace(pair, is_explained=False), ()).hint
