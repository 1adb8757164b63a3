"""Differences of state between points, read by real Spark: what is counted is what Spark's own source says of both sides."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.errors import Corrupt, Invalid, NotFound, TidemarkError
from pipelines.domain.operations import OperationState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.state_differences import KeyChanges, StateDifference
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.face import do
from pipelines.verbs.state import ListStates
from pipelines.verbs.state_difference import CompareState, QueryStateDifference, ShowStateDifference
from pipelines.verbs.take import Take
from tests.workspace.conftest import NEWEST, House
from tests.workspace.test_states import row_files, taken


def compared(house: House, a: str, b: str, **named: str) -> StateDifference:
    operation = do(house.face, CompareState(a, b, **named))  # type: ignore[arg-type]
    assert operation.state is OperationState.DONE, operation.error_message
    return house.face.ask(ShowStateDifference(operation.result or ""))


def refused(house: House, a: str, b: str) -> TidemarkError:
    with pytest.raises(TidemarkError) as error:
        operation = house.face.begin(CompareState(a, b)).operation
        assert operation is not None
        do(house.face, CompareState(a, b))
    return error.value


def read_apart(house: House, rows: tuple[int, int]) -> tuple[Savepoint, Savepoint]:
    """Two savepoints whose state was read before, with so many rows each."""
    a, b = taken(house, "rocksdb_format2", "a"), do(house.face, Take("a"))
    for at, (savepoint, count) in enumerate(zip((a, b), rows, strict=True)):
        row_files(house, savepoint, house.face.ask(ListStates(savepoint.id))[0], count, read_ms=at + 1)
    return a, b


def test_readings_that_are_there_are_compared_without_spark(house: House) -> None:
    a, b = read_apart(house, (97, 97))
    same = compared(house, a.id, b.id)
    assert (same.a.savepoint, same.b.savepoint, same.apart) == (a.id, b.id, ())
    (table,) = same.tables
    assert (table.keys_a, table.keys_b, table.same, table.changes) == (97, 97, 97, KeyChanges(0, 0, 0))
    assert house.face.ask(QueryStateDifference(same.id)).rows == ()
    assert {path.name for path in house.face.layout.sandbox.iterdir()} == {"o-1", "o-2"}


def test_keys_of_other_windows_are_added_and_removed_and_sql_sees_both_sides(house: House) -> None:
    a, b = read_apart(house, (60, 90))
    difference = compared(house, a.id, b.id)
    (table,) = difference.tables
    assert table.keys_a == 60 and table.keys_b == 90
    assert table.changes.added - table.changes.removed == 30 and table.same + table.changes.added + table.changes.changed == 90
    assert (
        sum(partition.total for partition in table.partitions.values())
        == table.changes.total
        == sum(window.changes.total for window in table.windows)
    )
    sql = "SELECT count(*) FROM b ANTI JOIN a ON a.key = b.key UNION ALL SELECT count(*) FROM difference WHERE change = 'added'"
    assert house.face.ask(QueryStateDifference(difference.id, sql=sql)).rows == ((table.changes.added,),) * 2
    page = house.face.ask(QueryStateDifference(difference.id, filter="removed", limit=5))
    assert page.matches == table.changes.removed and page.columns[0].name == "change"
    with pytest.raises(Invalid) as outside:
        house.face.ask(QueryStateDifference(difference.id, sql="SELECT * FROM read_csv('/etc/passwd')"))
    assert outside.value.code == "state.outside" and "difference" in outside.value.message


def test_what_cannot_be_compared_is_named_with_the_reason(house: House) -> None:
    counts, joined = taken(house, "rocksdb_format2", "counts"), taken(house, "join", "joined")
    row_files(house, counts, house.face.ask(ListStates(counts.id))[0], 12)
    difference = compared(house, counts.id, joined.id)
    assert difference.tables == ()
    assert [(table.title, table.reason) for table in difference.apart] == [
        ("counts / 0 / default", "B has no such state"),
        ("counts / 0 / left", "A has no such state"),
        ("counts / 0 / right", "A has no such state"),
    ]


def test_a_point_that_is_none_is_refused(house: House) -> None:
    savepoint = taken(house, "rocksdb_format2")
    assert refused(house, savepoint.id, "nobody").code == "point.not_found"
    assert refused(house, "a@7x", savepoint.id).code == "point.batch"
    assert refused(house, "a@counts=", savepoint.id).code == "point.batch"
    assert refused(house, "a@other=7", savepoint.id).code == "savepoint.unknown_query"
    assert house.face.plan(CompareState(f"a@counts={NEWEST - 1}", savepoint.id)).a_savepoint is None
    assert refused(house, "nobody@7", savepoint.id).code == "job.not_found"
    assert refused(house, "a@9999", savepoint.id).code == "savepoint.not_retained"
    bare = taken(house, "stateless", "bare")
    with pytest.raises(NotFound) as none:
        do(house.face, CompareState(bare.id, bare.id))
    assert none.value.code == "state.none"


@pytest.mark.parametrize("named", ["sd-gone", "../../x", "sd-", "sd-../../a"])
def test_a_difference_that_is_not_there(house: House, named: str) -> None:
    with pytest.raises(NotFound) as gone:
        house.face.ask(ShowStateDifference(named))
    assert gone.value.code == "state.no_difference"


def test_a_difference_goes_with_its_savepoints(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = read_apart(house, (20, 30))
    first = compared(house, a.id, b.id)
    house.reopen()
    assert house.face.ask(ShowStateDifference(first.id)) == first
    do(house.face, Dispose((a.id,)))
    with pytest.raises(NotFound):
        house.face.ask(ShowStateDifference(first.id))


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_a_jobs_batches_are_compared_key_by_key_as_sparks_source_has_them(house: House) -> None:
    house.ran("a", "rocksdb_format2")
    house.ran("held", "hdfs")
    for job in ("a", "held"):
        difference = compared(house, f"{job}@{NEWEST - 2}", job)
        (table,) = difference.tables
        assert (difference.a.batches, difference.b.batches) == ({"counts": NEWEST - 2}, {"counts": NEWEST})
        rows = {view: house.face.ask(QueryStateDifference(difference.id, sql=f"SELECT key, value FROM {view}")).rows for view in ("a", "b")}
        held = {view: {row[:-1]: row[-1] for row in those} for view, those in rows.items()}
        both = held["a"].keys() & held["b"].keys()
        changed = [key for key in both if held["a"][key] != held["b"][key]]
        assert table.changes == KeyChanges(len(held["b"]) - len(both), len(held["a"]) - len(both), len(changed)) and table.changes.total
        (drift,) = table.columns
        assert (drift.name, drift.changed) == ("value.sum", len(changed))
        assert drift.b.greatest == max(held["b"].values()) and drift.a.least == min(held["a"].values())
        assert compared(house, f"{job}@{NEWEST - 2}", job).id == difference.id
    across = compared(house, "a", "held")
    assert across.tables[0].changes == KeyChanges(0, 0, 0) and across.tables[0].keys_a == 3
    assert not list(house.face.layout.savepoints.iterdir()) and list(house.face.layout.sandbox.iterdir()) == []


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_joins_and_deduplications_are_compared_by_key(house: House) -> None:
    for golden in ("join", "named"):
        house.ran(golden, golden)
        newest = do(house.face, Take(golden))
        batches = range(newest.batch)[-2:]
        difference = compared(house, f"{golden}@{batches[0]}", newest.id)
        assert difference.apart == ()
        for table in difference.tables:
            sql = "SELECT count(*) FROM (SELECT DISTINCT key FROM b) AS b ANTI JOIN a ON a.key = b.key"
            names: dict[str, Any] = {"query": table.query, "operator": table.operator, "store": table.store}
            assert house.face.ask(QueryStateDifference(difference.id, sql=sql, **names)).rows == ((table.changes.added,),)
        assert any(table.changes.total for table in difference.tables)


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_a_damaged_point_is_said_to_be_damaged(house: House) -> None:
    a = taken(house, "rocksdb_format2")
    b = do(house.face, Take("a"))
    for file in sorted((house.face.layout.savepoint(b.id)).rglob("state/0/0/*")):
        if file.is_file():
            size = file.stat().st_size
            file.unlink()
            file.write_bytes(b"x" * size)
    with pytest.raises(Corrupt) as damaged:
        do(house.face, CompareState(a.id, b.id))
    assert damaged.value.code == "state.damaged"
    assert list(house.face.layout.sandbox.iterdir()) == []
