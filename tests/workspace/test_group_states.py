"""State of applyInPandasWithState under another state type: columns are found again by their names."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain import contracts, group_states
from pipelines.domain.contracts import Keeps
from pipelines.domain.errors import Unsupported
from pipelines.domain.migrations import Aggregate, Becomes


def field(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def struct(**columns: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [field(name, kind) for name, kind in columns.items()]}


def value(*, has_timeouts: bool = True, **columns: Any) -> dict[str, Any]:
    timeouts = {"timeoutTimestamp": "long"} if has_timeouts else {}
    return struct(groupState=struct(**columns), **timeouts)


def test_each_column_is_kept_widened_added_or_dropped() -> None:
    made = group_states.by_columns("q", 0, value(a="integer", b="string", c="long"), value(b="string", new="double", a="long"))
    assert made.aggregates == (
        Aggregate(Becomes.KEPT, "b"),
        Aggregate(Becomes.ADDED, "new (null)"),
        Aggregate(Becomes.WIDENED, "a"),
        Aggregate(Becomes.DROPPED, "c"),
    )
    columns = "value.`groupState`.`b`, NULL, value.`groupState`.`a`"
    assert made.expressions == (f"IF(value.`groupState` IS NULL, NULL, struct({columns}))", "value.`timeoutTimestamp`")


@pytest.mark.parametrize("new", [value(a="string"), value(a="integer"), value(a="long", has_timeouts=False)])
def test_what_the_old_state_does_not_say_is_refused(new: dict[str, Any]) -> None:
    with pytest.raises(Unsupported) as refused:
        group_states.by_columns("q", 1, value(a="long"), new)
    assert refused.value.code == "migrate.operators" and "--drop q.1" in refused.value.hint


def test_what_spark_reads_as_it_is_meant_stays() -> None:
    both = value(a="long", b="long")
    assert group_states.fits(both, both) and group_states.fits(both, value(a="long", renamed="long"))
    assert not group_states.fits(both, value(b="long", a="long")), "by position they would be exchanged"
    assert not group_states.fits(both, value(b="long", c="long")), "by position b would be what a was"
    assert not group_states.fits(both, value(a="long")) and not group_states.fits(both, value(a="long", b="long", has_timeouts=False))


def test_a_key_whose_columns_are_exchanged_is_another_one() -> None:
    group_states.check_key("q", 0, struct(a="string", b="string"), struct(a="string", renamed="string"))
    for other in (struct(b="string", a="string"), struct(a="string"), struct(a="string", b="long")):
        with pytest.raises(Unsupported, match="groups by another key than before"):
            group_states.check_key("q", 0, struct(a="string", b="string"), other)


def test_types_within_a_struct_are_told_apart_and_names_are_not() -> None:
    def keeps(inner: str) -> Keeps:
        return Keeps("applyInPandasWithState", {"default value": f"groupState struct<{inner}>, at bigint"})

    same = contracts.types(keeps("a int, b decimal(10,2), c map<string, bigint>"))
    assert same == contracts.types(keeps("x int, y decimal(10,2), z map<string, bigint>"))
    assert same != contracts.types(keeps("a bigint, b decimal(10,2), c map<string, bigint>"))
    assert same != contracts.types(keeps("a int, b decimal(10,2), c map<string, int>"))
