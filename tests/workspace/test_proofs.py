"""The rows that a proof expects: what the progress of the batch said, operator by operator."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain import proofs
from pipelines.domain.ids import QueryName
from pipelines.domain.savepoints import Operator, QueryImage

SAVE, DEDUPE = Operator(0, "stateStoreSave", 2, ("default",)), Operator(1, "dedupe", 2, ("default",))


def image(*operators: Operator, provider: str = "rocksdb") -> QueryImage:
    return QueryImage(QueryName("q"), "id", 3, 1, 0, (), provider, 2, operators, {}, "noop", "", 1, 1)


def event(stores: int = 2, **rows: int) -> dict[str, Any]:
    """`stores` as Spark opened them for each operator: two are those of one execution."""
    operators = [{"operatorName": name, "numRowsTotal": count, "numStateStoreInstances": stores} for name, count in rows.items()]
    return {"stateOperators": operators}


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (event(stateStoreSave=1, dedupe=5), [1, 5]),
        (event(dedupe=5, stateStoreSave=1), [None, None]),
        (event(stateStoreSave=1), [None, None]),
        ({}, [None, None]),
        (None, [None, None]),
    ],
    ids=["in the order of ids", "another plan", "an operator missing", "no state", "no progress"],
)
def test_operators_are_matched_by_place_and_name(progress: dict[str, Any] | None, expected: list[int | None]) -> None:
    counts = proofs.state_counts(image(DEDUPE, SAVE), {0: 1, 1: 5}, progress, {})
    assert [count.expected for count in sorted(counts, key=lambda count: count.operator)] == expected
    assert proofs.damages(counts) == ()


def test_other_rows_are_damage_that_says_both_numbers() -> None:
    counts = proofs.state_counts(image(SAVE), {0: 4}, event(stateStoreSave=5), {})
    (damage,) = proofs.damages(counts)
    assert (damage.path, damage.kind) == ("queries/q/checkpoint/state/0", "state")
    assert damage.message == "has 4 rows (stateStoreSave 0); the job counted 5 at that batch"


@pytest.mark.parametrize(
    ("stores", "job_rows", "expected", "damaged", "remarked"),
    [
        (4, 8, 4, False, False),
        (6, 12, 4, False, False),
        (4, 10, 5, False, True),
        (4, 9, None, False, False),
        (3, 5, None, False, False),
        (0, 4, None, False, False),
        (2, 8, 8, True, False),
    ],
    ids=["twice", "three times", "twice, other rows", "twice, unequally", "a part of it twice", "not said", "once: half is lost"],
)
def test_a_batch_that_was_computed_more_than_once(stores: int, job_rows: int, expected: int | None, damaged: bool, remarked: bool) -> None:
    """Spark adds up the rows of every execution: no count of several shows damage, and half of the rows of one execution does."""
    counts = proofs.state_counts(image(SAVE), {0: 4}, event(stores, stateStoreSave=job_rows), {})
    assert (counts[0].expected, bool(proofs.damages(counts)), bool(proofs.remarks(counts))) == (expected, damaged, remarked)


@pytest.mark.parametrize(
    ("provider", "conf", "rows", "job_rows", "expected"),
    [
        ("rocksdb", {proofs.TRACKING: "false"}, 0, 0, None),
        ("rocksdb", {}, 7, 0, None),
        ("rocksdb", {}, 0, 0, 0),
        ("rocksdb", {}, 0, 7, 7),
        ("hdfs", {proofs.TRACKING: "false"}, 7, 7, 7),
        ("hdfs", {}, 7, 0, 0),
    ],
    ids=["told not to count", "does not count", "empty", "lost", "hdfs always counts", "hdfs found more"],
)
def test_rocksdb_may_not_count(provider: str, conf: dict[str, str], rows: int, job_rows: int, expected: int | None) -> None:
    (count,) = proofs.state_counts(image(SAVE, provider=provider), {0: rows}, event(stateStoreSave=job_rows), conf)
    assert count.expected == expected
