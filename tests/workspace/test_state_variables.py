"""State variables of changed code: what each becomes, what Spark reads by itself, and what the old state does not say."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.checkpoint import state_schema
from pipelines.domain import operator_places, state_variables
from pipelines.domain.contracts import Keeps
from pipelines.domain.errors import Invalid, Unsupported
from pipelines.domain.judged_operators import Pair, judged
from pipelines.domain.migrations import Aggregate, Becomes
from pipelines.domain.plannings import PlannedOperator
from pipelines.domain.verdicts import Outcome

NAME = "transformWithStateInPySparkExec"
GROUP, NOTHING = {"k": "string"}, {"__dummy__": "void"}


def struct(columns: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()]}


def keeps(*variables: tuple[str, str, dict[str, Any]], rest: str = "integer", lives: bool = False, timers: str = "event") -> Keeps:
    """An operator with variables (name, kind, columns)."""
    families = {}
    for name, kind, columns in variables:
        key = struct({"key": struct(GROUP), "userKey": struct({"rest": rest})} if kind == "map" else GROUP)
        value = struct({"value": struct(columns), "ttlExpirationMs": "long"} if lives else columns)
        families[name] = (key, value)
        if kind == "list":
            families[f"$rowCounter_{name}"] = (key, struct({"count": "long"}))
        if lives:
            families[f"$ttl_{name}"] = (struct({"expirationMs": "long", "elementKey": key}), struct(NOTHING))
    if timers:
        families[f"${timers}Timers_keyToTimestamp"] = (struct({"key": struct(GROUP), "expiryTimestampMs": "long"}), struct(NOTHING))
    parts = {
        f"default {name} {part}": schema for name, pair in families.items() for part, schema in zip(("key", "value"), pair, strict=True)
    }
    texts = {place: state_schema.ddl(schema) for place, schema in parts.items()}
    return Keeps(NAME, texts, {name: kind for name, kind, _ in variables}, families)


OLD = keeps(("count", "value", {"n": "integer", "m": "long"}), ("last", "list", {"n": "long"}), ("seen", "map", {"times": "long"}))


def test_each_column_is_kept_widened_added_or_dropped_and_the_other_families_stay() -> None:
    new = keeps(("count", "value", {"n": "long", "later": "long"}), ("last", "list", {"n": "long"}), ("more", "value", {"x": "long"}))
    made = state_variables.by_names("q", 0, OLD, new)
    assert made.changes and made.variables == (
        Aggregate(Becomes.WIDENED, "count.n"),
        Aggregate(Becomes.ADDED, "count.later (null)"),
        Aggregate(Becomes.DROPPED, "count.m"),
        Aggregate(Becomes.ADDED, "more (empty)"),
        Aggregate(Becomes.DROPPED, "seen"),
    )
    assert [family.after for family in made.families] == ["count", "last", "$rowCounter_last", "$eventTimers_keyToTimestamp"]


def test_the_key_of_a_map_may_be_wider_with_its_time_to_live() -> None:
    old, new = (keeps(("seen", "map", {"times": "long"}), rest=rest, lives=True) for rest in ("integer", "long"))
    made = state_variables.by_names("q", 0, old, new)
    assert made.changes and made.variables[-1] == Aggregate(Becomes.KEPT, "seen's key (with other columns)")
    assert [(family.before, family.after) for family in made.families[:2]] == [("seen", "seen"), ("$ttl_seen", "$ttl_seen")]


def test_variables_go_on_under_another_name_or_begin_anew() -> None:
    new = keeps(("total", "value", {"n": "integer", "m": "long"}), ("last", "list", {"n": "long"}), ("seen", "map", {"times": "long"}))
    made = state_variables.by_names("q", 0, OLD, new, dropped=("last",), renamed={"count": "total"})
    assert made.changes and {(family.before, family.after) for family in made.families} == {
        ("count", "total"),
        ("seen", "seen"),
        ("$eventTimers_keyToTimestamp", "$eventTimers_keyToTimestamp"),
    }
    assert Aggregate(Becomes.KEPT, "total (was count).n") in made.variables and Aggregate(Becomes.ADDED, "last (empty)") in made.variables
    assert state_variables.lost(OLD, new, ("last",), {"count": "total"}) == ("last",)
    assert state_variables.lost(OLD, new) == ("count",)


def test_what_spark_does_by_itself_needs_no_rewriting() -> None:
    more = keeps(("count", "value", {"n": "integer", "m": "long"}), ("other", "list", {"n": "long"}))
    assert state_variables.is_read_by_spark(OLD, more) and state_variables.is_read_by_spark(OLD, OLD)
    exchanged = keeps(("count", "value", {"n": "long", "m": "long"})), keeps(("count", "value", {"m": "long", "n": "long"}))
    assert not state_variables.is_read_by_spark(*exchanged), "Spark would read one as the other"


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (keeps(("count", "value", {"n": "string", "m": "long"})), "of count, n is of another type"),
        (keeps(("count", "list", {"n": "integer"})), "count was a value, and is a list now"),
        (keeps(("count", "value", {"n": "integer", "m": "long"}), lives=True), "count has a time to live now and had none"),
        (keeps(("count", "value", {"n": "integer", "m": "long"}), timers=""), "it has no timers any more"),
        (keeps(("seen", "map", {"times": "long"}), rest="string"), "of seen, rest is of another type"),
    ],
)
def test_what_the_old_state_does_not_say_is_refused(new: Keeps, message: str) -> None:
    with pytest.raises(Unsupported, match=message) as refused:
        state_variables.by_names("q", 1, OLD, new)
    assert refused.value.code == "migrate.operators" and "--drop q.1" in refused.value.hint


def test_another_grouping_key_is_refused() -> None:
    wide = {**OLD.families, "count": (struct({"k": "long"}), OLD.families["count"][1])}
    narrow = {**OLD.families, "count": (struct({"k": "integer"}), OLD.families["count"][1])}
    with pytest.raises(Unsupported, match="groups by another key"):
        state_variables.by_names("q", 0, Keeps(NAME, {}, OLD.variables, narrow), Keeps(NAME, {}, OLD.variables, wide))


def test_the_verdict_says_what_is_rewritten_and_what_spark_goes_on_with() -> None:
    new = keeps(("count", "value", {"n": "long", "m": "long"}), ("last", "list", {"n": "long"}), ("seen", "map", {"times": "long"}))
    then, now = PlannedOperator(0, NAME, "a"), PlannedOperator(0, NAME, "b")
    part = judged(Pair("q", 0, 0, OLD, new, then, now, is_explained=True), ())
    assert part.outcome is Outcome.NEEDS_REWRITING and "count.n is kept, and wider" in part.hint and "--map" in part.hint
    renamed = keeps(("total", "value", {"n": "long", "m": "long"}), ("last", "list", {"n": "integer"}))
    part = judged(Pair("q", 0, 0, OLD, renamed, then, now, is_explained=True), ())
    assert part.outcome is Outcome.NEEDS_REWRITING and part.dropped == ("q.0.count", "q.0.seen"), "named before anything starts"
    by_spark = judged(Pair("q", 0, 0, OLD, new, then, now, is_explained=True, is_avro=True), ())
    assert by_spark.outcome is Outcome.CHANGED_MEANING
    same_types = keeps(("count", "value", {"n": "long", "m": "long"})), keeps(("count", "value", {"m": "long", "n": "long"}))
    exchanged = judged(Pair("q", 0, 0, *same_types, then, now, is_explained=True), ())
    assert exchanged.outcome is Outcome.CHANGED_MEANING and "--migrate columns" in exchanged.hint
    assert "Spark reads the columns of state by their places" in " ".join(exchanged.reasons)
    fewer = judged(Pair("q", 0, 0, OLD, keeps(("count", "value", {"n": "integer", "m": "long"})), then, now, is_explained=True), ())
    assert fewer.outcome is Outcome.CHANGED_MEANING and fewer.dropped == ("q.0.last", "q.0.seen")
    assert "--drop" in fewer.hint and "--map" not in fewer.hint


def test_names_of_variables_are_told_apart_from_those_of_operators() -> None:
    told = {"q.0.count": "q.0.total", "q.1": "q.0"}
    assert operator_places.mapped("q", told) == {1: 0}
    new = keeps(("total", "value", {"n": "integer", "m": "long"}))
    assert operator_places.renamed("q", told, 0, 0, OLD, new) == {"count": "total"}
    assert operator_places.renamed("q", told, 1, 1, OLD, new) == {}
    for wrong in ({"q.0.nothing": "q.0.total"}, {"q.0.count": "q.0.nothing"}, {"q.0.count": "q.1.total"}):
        with pytest.raises(Invalid, match="no such state variable"):
            operator_places.renamed("q", wrong, 0, 0, OLD, new)
    with pytest.raises(Invalid, match="is to go on as one"):
        operator_places.renamed("q", {"q.0.count": "q.0.total", "q.0.last": "q.0.total"}, 0, 0, OLD, new)
