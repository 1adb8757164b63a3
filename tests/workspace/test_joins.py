"""The rows that wait on the sides of a join under changed code: each column is matched by what it is computed of."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from pipelines.domain import joins
from pipelines.domain.contracts import Keeps
from pipelines.domain.errors import Unsupported
from pipelines.domain.judged_operators import Pair, judged
from pipelines.domain.migrations import Becomes
from pipelines.domain.operators import JOIN
from pipelines.domain.plain_json import rebuilt
from pipelines.domain.planned_columns import PlannedJoin, PlannedKey
from pipelines.domain.plannings import NEW, Planned, PlannedOperator, PlannedQuery, Planning
from pipelines.domain.verdicts import Outcome

KEY = PlannedKey("k", "k", "k", '"string"', False)
NUMBER = PlannedKey("n", "n", "n", '"integer"', False, ("a function",))
WIDE = PlannedKey("n", "n as long", "n", '"long"', False)
OTHER = PlannedKey("m", "n + 1", "n + 1", '"long"', False)
TIME = PlannedKey("ts", "ts", "ts", '"timestamp"', True)
NAMES = {"left": ["k", "n", "ts", "matched"], "right": ["k", "matched"]}


def operator(*left: PlannedKey, digest: str = "joined") -> PlannedOperator:
    return PlannedOperator(0, JOIN, "", join=PlannedJoin(digest, left, (KEY,)))


OLD = operator(KEY, NUMBER, TIME)


def test_each_column_of_a_side_is_kept_moved_widened_added_or_dropped() -> None:
    made = joins.by_columns("q", OLD, operator(TIME, OTHER, WIDE), NAMES)
    assert made["left"].expressions == ("value.`ts`", "NULL", "value.`n`", "value.`matched`")
    assert [(aggregate.becomes, aggregate.text) for aggregate in made["left"].aggregates] == [
        (Becomes.KEPT, "left ts"),
        (Becomes.ADDED, "left m (null in the rows that wait)"),
        (Becomes.WIDENED, "left n"),
        (Becomes.DROPPED, "left k"),
    ]
    assert made["left"].changes and made["left"].gaps == ("a function",) and not made["right"].changes


def test_a_join_that_does_not_say_what_was_matched_has_the_columns_alone() -> None:
    made = joins.by_columns("q", OLD, OLD, {"left": ["k", "n", "ts"], "right": ["k"]})
    assert made["right"].expressions == ("value.`k`",) and not made["left"].changes


@pytest.mark.parametrize(
    ("old", "new", "names", "message"),
    [
        (None, OLD, NAMES, "cannot be told apart"),
        (replace(OLD, join=None), OLD, NAMES, "cannot be told apart"),
        (OLD, replace(OLD, join=None), NAMES, "cannot be told apart"),
        (OLD, operator(KEY, digest="another filter"), NAMES, "joins other rows, or on another condition"),
        (OLD, operator(KEY, TIME, replace(OTHER, is_nullable=False)), NAMES, "left m is new or computed otherwise, is never null"),
        (OLD, operator(KEY, NUMBER), NAMES, "left side keeps another event time"),
        (operator(KEY, NUMBER), OLD, {**NAMES, "left": ["k", "n", "matched"]}, "left side keeps another event time"),
        (OLD, OLD, {**NAMES, "left": ["k", "n", "ts", "more", "matched"]}, "keeps 5 columns"),
        (OLD, OLD, {**NAMES, "left": ["k", "n"]}, "keeps 2 columns"),
    ],
)
def test_what_the_rows_that_wait_do_not_determine_is_refused(
    old: PlannedOperator | None, new: PlannedOperator, names: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(Unsupported, match=message) as refused:
        joins.by_columns("q", old, new, names)
    assert refused.value.code == "migrate.operators" and refused.value.hint.endswith("--drop q.0.")


def keeps(left: str, key: str = "field0 string", store: str = "{}-keyWithIndexToValue") -> Keeps:
    columns = {}
    for side, value in (("left", left), ("right", "k string")):
        place = store.format(side)
        columns |= {f"{place} key": f"{key}, index long", f"{place} value": f"{value}, matched boolean"}
    return Keeps(JOIN, columns)


KEPT = keeps("k string, n integer, ts timestamp")


@pytest.mark.parametrize(
    ("kept", "now", "after", "hint"),
    [
        (KEPT, operator(KEY, TIME), keeps("k string, ts timestamp"), "with --migrate columns: left k is kept as it is"),
        (KEPT, operator(TIME), keeps("ts timestamp", "field0 int"), "it joins by another key than before. Give a function"),
        (
            keeps("k string, n integer, ts timestamp", store="default {}-unheardOf"),
            operator(KEY, TIME),
            keeps("k string, ts timestamp", store="default {}-unheardOf"),
            "of another format than 1 to 4",
        ),
    ],
)
def test_the_verdict_says_what_becomes_of_its_columns_and_what_stands_against_it(
    kept: Keeps, now: PlannedOperator, after: Keeps, hint: str
) -> None:
    part = judged(Pair("q", 0, 0, kept, after, OLD, now, is_explained=True), ())
    assert part.outcome is Outcome.NEEDS_REWRITING and hint in part.hint


def struct(*names: str) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in names]}


def test_in_one_store_the_column_families_of_rows_get_the_columns_by_their_places() -> None:
    key, count = struct("field0"), struct("value")
    old, new = struct("k", "n", "ts", "matched"), struct("ts", "m", "n", "matched")
    before, after = (
        Keeps(JOIN, families={"left-keyToNumValues": (key, count), "left-keyWithIndexToValue": (key, value)}) for value in (old, new)
    )
    index, rows = joins.families(before, after, joins.by_columns("q", OLD, operator(TIME, OTHER, WIDE), NAMES))
    assert (index.places, rows.places, rows.values) == (None, (2, None, 1, 3), (old, new))


def timed(key: str, *value: str) -> Keeps:
    """The left side of a join in format 4, whose key is a window or not and whose columns have a watermark where they say so."""
    window = {"type": "struct", "fields": [{"name": "start"}, {"name": "end"}]}
    keys = {"fields": [{"name": "field0", "type": window if key == "window" else "timestamp"}, {"name": joins.EVENT_TIME, "type": "long"}]}
    fields = [
        {"name": name.removesuffix("!"), "type": "timestamp", "metadata": {joins.WATERMARK: 1} if "!" in name else {}} for name in value
    ]
    return Keeps(JOIN, families={f"left-{kind}": (keys, {"fields": fields}) for kind in (joins.TIMED, joins.TIMES)})


@pytest.mark.parametrize(
    ("keeps", "timed_by", "time"),
    [
        (timed("time", "k", "ts!"), None, "unix_micros(value.`ts`)"),
        (timed("time", "ts", "ts!"), None, "unix_micros(value.`ts_2`)"),
        (timed("time", "k", "ts!"), 0, "unix_micros(key.`field0`)"),
        (timed("window", "k", "ts!"), 0, "unix_micros(key.`field0`.end)"),
        (timed("window", "k", "ts"), None, ""),
    ],
)
def test_in_format_4_a_row_that_a_function_made_is_kept_by_the_event_time_of_its_key_or_its_value(
    keeps: Keeps, timed_by: int | None, time: str
) -> None:
    now = replace(OLD, join=PlannedJoin("", (), (), timed_by=timed_by))
    assert [family.time for family in joins.made_families("q", now, keeps, keeps)] == [time, time]
    with pytest.raises(Unsupported, match="which event time its rows are kept by cannot be told"):
        joins.made_families("q", replace(OLD, join=None), keeps, keeps)


def test_what_was_planned_is_read_as_it_was_written() -> None:
    planning = Planning("4.3.0", sides={NEW: Planned((PlannedQuery("q", (OLD,)),))})
    assert rebuilt(Planning, json.loads(json.dumps(asdict(planning)))) == planning
