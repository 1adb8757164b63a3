"""Which operator goes on with which state: as the user says, by what is computed, by number, by kind; else it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain import operator_places, placement_choices, verdicts
from pipelines.domain.contracts import Contract, Keeps
from pipelines.domain.errors import Invalid
from pipelines.domain.ids import QueryName, SavepointId, VersionId
from pipelines.domain.operator_places import LIMIT, PLACED, Placement, Places
from pipelines.domain.plannings import PlannedOperator
from pipelines.domain.savepoints import Operator
from pipelines.domain.verdicts import OperatorPair, OperatorPlan, Outcome, Part, Verdict
from tests import samples


def keeps(name: str, key: str = "k string", value: str = "sum bigint") -> Keeps:
    return Keeps(name, {"default key": key, "default value": value})


SUMS, MORE, ONCE = keeps("agg"), keeps("agg", value="sum bigint, count bigint"), keeps("dedupe")
OTHER = keeps("agg", key="n int")


def planned(*digests: str) -> Mapping[int, PlannedOperator]:
    return {number: PlannedOperator(number, "", digest) for number, digest in enumerate(digests)}


def placed(
    old: list[Keeps], new: list[Keeps], then: str, now: str, drop: tuple[int, ...] = (), told: Mapping[int, int] | None = None
) -> Places:
    """Digests are a letter each."""
    contracts: list[Contract] = [dict(enumerate(of)) for of in (old, new)]
    return operator_places.place(contracts[0], contracts[1], planned(*then), planned(*now), drop, told)


CASES = {
    "all as they were": ([SUMS, ONCE], [SUMS, ONCE], "ab", "ab", Places({0: 0, 1: 1})),
    "computed otherwise": ([SUMS, ONCE], [SUMS, ONCE], "ab", "xy", Places({0: 0, 1: 1})),
    "another key": ([SUMS], [OTHER], "a", "x", Places({0: 0})),
    "more columns": ([SUMS], [MORE], "a", "x", Places({0: 0})),
    "added below": ([SUMS], [SUMS, ONCE], "a", "xb", Places({0: 0}, added=(1,))),
    "added above": ([SUMS], [ONCE, SUMS], "a", "ba", Places({1: 0}, added=(0,))),
    "added above, with more columns": ([SUMS], [ONCE, MORE], "a", "bx", Places({1: 0}, added=(0,))),
    "dropped below": ([SUMS, ONCE], [SUMS], "ab", "x", Places({0: 0}, (1,))),
    "dropped above": ([ONCE, SUMS], [SUMS], "ba", "a", Places({0: 1}, (0,))),
    "replaced": ([SUMS], [ONCE], "a", "b", Places({}, (0,), (0,))),
    "all dropped": ([SUMS, ONCE], [], "ab", "", Places({}, (0, 1))),
    "exchanged": ([SUMS, SUMS], [SUMS, SUMS], "ab", "ba", Places({0: 1, 1: 0})),
    "one of two alike moved": ([SUMS, SUMS], [SUMS, SUMS], "ab", "bx", Places({0: 1, 1: 0})),
    "alike, and told apart by their keys": ([SUMS, OTHER], [OTHER, SUMS], "ab", "xy", Places({0: 1, 1: 0})),
    "alike": ([SUMS, SUMS], [SUMS, SUMS], "ab", "xy", Places({}, ambiguous=((0, 1), (0, 1)))),
    "one of two alike is gone": ([SUMS, SUMS], [SUMS], "ab", "x", Places({}, ambiguous=((0, 1), (0,)))),
}


@pytest.mark.parametrize("name", CASES)
def test_operators_find_their_state(name: str) -> None:
    old, new, then, now, places = CASES[name]
    assert placed(old, new, then, now) == places


def test_alike_ones_are_told_apart_by_their_names() -> None:
    """Which come before what is computed; a name that two have, or one of another kind, says nothing."""

    def called(*names: str, digests: str = "ab") -> Mapping[int, PlannedOperator]:
        return {at: replace(planned(*digests)[at], name="agg", alias=name) for at, name in enumerate(names)}

    both: Contract = {0: SUMS, 1: SUMS}
    swapped = Places({0: 1, 1: 0})
    assert operator_places.place(both, both, called("views", "clicks"), called("clicks", "views", digests="xy")) == swapped
    assert operator_places.place(both, both, called("views", "clicks"), called("clicks", "views")) == swapped
    assert operator_places.place(both, both, called("views", "clicks"), called("clicks", "views"), by_number=True) == swapped
    assert operator_places.place(both, both, called("views", "views"), called("views", "views", digests="xy")).ambiguous == ((0, 1), (0, 1))
    others = {at: replace(operator, name="dedupe") for at, operator in called("clicks", "views", digests="xy").items()}
    assert operator_places.place(both, both, called("views", "clicks"), others).ambiguous == ((0, 1), (0, 1))


def test_spark_takes_those_of_the_same_kinds_by_their_numbers() -> None:
    both = {0: SUMS, 1: SUMS}
    assert operator_places.place(both, both, planned("a", "b"), planned("x", "y"), by_number=True).stay
    assert not operator_places.place(both, both, planned("a", "b"), planned("b", "a"), by_number=True).stay
    keyed = operator_places.place({0: SUMS, 1: OTHER}, {0: OTHER, 1: SUMS}, planned("a", "b"), planned("x", "y"), by_number=True)
    assert keyed.pairs == {0: 1, 1: 0}, "where it would not take them, by what they are"


def test_what_is_told_and_what_is_dropped_comes_first() -> None:
    assert placed([SUMS, SUMS], [SUMS, SUMS], "ab", "ab", told={0: 1}) == Places({1: 0, 0: 1})
    assert placed([SUMS, SUMS], [SUMS], "ab", "x", drop=(1,)) == Places({0: 0}, (1,))
    assert placed([SUMS], [SUMS], "a", "a", drop=(0,)) == Places({}, (0,), (0,)), "it begins anew"


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({2: 0}, "no operator 2"),
        ({0: 2}, "no operator 2"),
        ({0: 1}, "a agg, and operator 1"),
        ({0: 0, 1: 0}, "More than one operator is to go on as operator 0"),
    ],
)
def test_what_is_told_of_others_is_refused(told: Mapping[int, int], message: str) -> None:
    with pytest.raises(Invalid, match=message) as refused:
        placed([SUMS, ONCE], [SUMS, ONCE], "ab", "ab", told=told)
    assert refused.value.code == "map.operator"


@pytest.mark.parametrize("name", ["other.0", "counts.7", "other.sources.0", "other.0.last", "counts.7.last", "counts"])
def test_what_is_told_of_what_the_savepoint_does_not_have_is_refused(name: str) -> None:
    held = [replace(samples.query_image("a", 3), query=QueryName("counts"), operators=(Operator(0, "agg", 1, ("default",)),))]
    operator_places.check_told(held, {"counts.0": "counts.1", "counts.sources.0": "counts.sources.1", "counts.0.last": "counts.0.newest"})
    with pytest.raises(Invalid) as refused:
        operator_places.check_told(held, {name: name})
    assert refused.value.code == "map.operator"


def test_an_operator_that_stands_alone_may_go_on_as_one_of_its_kind() -> None:
    """Of the same query, where none goes on with it yet."""
    operator, other = OperatorPlan(0, "dedupe"), OperatorPlan(1, "dedupe")
    alone = [OperatorPair(query, operator, None) for query in "qr"]
    taken = OperatorPair("q", OperatorPlan(2, "agg"), OperatorPlan(2, "agg"))
    assert placement_choices.choices(verdict(*alone, taken, OperatorPair("q", None, other))) == {"q.0": ("q.1",)}
    assert placement_choices.choices(verdict(taken, OperatorPair("q", OperatorPlan(3, "agg"), None), OperatorPair("q", None, other))) == {}


def test_what_goes_on_because_the_verdict_was_told_so_may_go_on_as_another() -> None:
    together = OperatorPair("q", OperatorPlan(0, "dedupe"), OperatorPlan(1, "dedupe"))
    other = OperatorPair("q", None, OperatorPlan(0, "dedupe"))
    assert placement_choices.choices(verdict(together, other)) == {}
    assert placement_choices.choices(replace(verdict(together, other), told={"q.0": "q.1"})) == {"q.0": ("q.1", "q.0")}


def test_a_state_variable_that_is_dropped_may_go_on_as_one_that_begins_empty_of_the_same_operator() -> None:
    moved, other = (OperatorPair("q", OperatorPlan(old, "tws"), OperatorPlan(new, "tws")) for old, new in ((0, 1), (1, 0)))
    part = Part("q", 1, "tws", Outcome.PARTLY_KEPT, (), dropped=("q.0.last", "q.0"), empty=("q.1.newest", "q.0.newest"))
    judged = replace(verdict(moved, other), parts=(part,))
    assert placement_choices.choices(judged) == {"q.0.last": ("q.1.newest",)}
    told = replace(judged, parts=(replace(part, dropped=(), empty=()),), told={"q.0.last": "q.1.newest"})
    assert placement_choices.choices(told) == {"q.0.last": ("q.1.newest",)}


def verdict(*pairs: OperatorPair) -> Verdict:
    return replace(verdicts.of(SavepointId("sp-1"), VersionId("v-1"), ()), operators=pairs)


def test_names_are_read_as_the_verdict_writes_them() -> None:
    assert operator_places.mapped("a.b", {"a.b.0": "a.b.1", "c.1": "c.0"}) == {0: 1}
    for wrong in ({"0": "1"}, {"a.0": "b.0"}, {"a.x": "a.0"}):
        with pytest.raises(Invalid):
            operator_places.mapped("a", wrong)


def test_what_moved_is_listed() -> None:
    kept, new = {0: ONCE, 1: SUMS}, {0: SUMS, 1: keeps("limit")}
    listed = list(operator_places.placements("q", kept, new, Places({0: 1}, (0,), (1,))))
    assert listed == [Placement("q", 1, 0, "agg"), Placement("q", 0, None, "dedupe"), Placement("q", None, 1, "limit")]


def test_the_docs_say_which_operators_move_and_begin_empty() -> None:
    lines = (Path(__file__).parents[2] / "pipelines" / "README.md").read_text().splitlines()
    moved, new = ([line for line in lines if line.startswith(f"| an operator {what}")] for what in ("moved, because", "that is new"))
    words = {name: word for name, word in PLACED.items() if name != LIMIT}
    assert all(word in moved[0] for word in words.values()) and PLACED[LIMIT] in new[0] and PLACED[LIMIT] not in moved[0]
