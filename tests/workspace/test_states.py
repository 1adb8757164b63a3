"""State of savepoints read by real Spark, asked with SQL; and what is refused, listed and cleaned without any Spark."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.ids import OperationId, SavepointId
from pipelines.domain.runs import PROGRESS_FILE
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.states import Reading, StateTable, reading_id
from pipelines.sandbox.readings import ROWS_FOLDER
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.face import do
from pipelines.verbs.savepoints import ReadManifest
from pipelines.verbs.state import ListStates, QueryState, ReadState, ShowStateSizes
from pipelines.verbs.system import RebuildCatalog
from pipelines.verbs.take import Take
from pipelines.workspace import readings
from tests.memory import write_rows
from tests.workspace.conftest import NEWEST, House, progress_line


def taken(house: House, golden: str, name: str = "a") -> Savepoint:
    house.ran(name, golden)
    return do(house.face, Take(name))


def row_files(house: House, savepoint: Savepoint, table: StateTable, rows: int, read_ms: int = 1) -> Reading:
    """What a reading leaves, without Spark: published as a sandbox's rows are."""
    reading = Reading(
        id=reading_id(savepoint.id, table),
        savepoint=savepoint.id,
        query=table.query,
        operator=table.operator,
        store=table.store,
        variable=table.variable,
        batch=table.batch,
        rows=rows,
        total=rows,
        bytes=1_000,
        partitions={0: rows, 1: 0},
        spark_version="4.3.0",
        read_ms=read_ms,
        took_ms=1.0,
    )
    made = house.face.layout.sandbox_folder(OperationId(f"o-{read_ms}")) / "kept"
    (made / ROWS_FOLDER).mkdir(parents=True)
    write_rows(made / ROWS_FOLDER / "part-0.parquet", rows)
    readings.publish(house.face.context, reading, made)
    return reading


def test_the_sizes_of_every_partition_are_told_of_savepoints_and_of_kept_batches(house: House) -> None:
    savepoint = taken(house, "rocksdb_format2")
    (table,) = house.face.ask(ListStates(savepoint.id))
    row_files(house, savepoint, table, rows=7)
    (sizes,) = house.face.ask(ShowStateSizes("a"))
    assert (sizes.query, sizes.operator, sizes.name, sizes.partitions) == ("counts", 0, "stateStoreSave", 2)
    (saved,) = sizes.saved
    assert (saved.savepoint, saved.batch, saved.rows) == (savepoint.id, NEWEST, (7, 0))
    assert sum(saved.bytes) == table.bytes and all(saved.bytes)
    assert sizes.written[-1].batch == NEWEST and all(sizes.written[-1].bytes)
    assert house.face.ask(ShowStateSizes("a", savepoints=0))[0].saved == ()


def test_what_a_batch_writes_is_told_when_it_is_committed(house: House) -> None:
    run = house.ran()
    (Path(run.checkpoints) / "counts" / "commits" / str(NEWEST)).unlink()
    (sizes,) = house.face.ask(ShowStateSizes("a"))
    assert sizes.written[-1].batch == NEWEST - 1


def test_the_tables_of_every_kind_of_state_are_listed_without_spark(house: House) -> None:
    counts, joined, totals = (taken(house, golden, golden) for golden in ("rocksdb_format2", "join", "transform"))
    (table,) = house.face.ask(ListStates(counts.id))
    assert (table.query, table.operator, table.name, table.store, table.partitions) == ("counts", 0, "stateStoreSave", "default", 2)
    state = [file for file in house.face.ask(ReadManifest(counts.id)).files if re.search(r"/state/0/\d+/", file.path)]
    assert table.bytes == sum(file.bytes for file in state) > 0
    sides = house.face.ask(ListStates(joined.id))
    assert [(side.store, side.internal) for side in sides][:3] == [("left", False), ("right", False), ("left-keyToNumValues", True)]
    assert sides[0].bytes == sum(side.bytes for side in sides if side.store.startswith("left-"))
    assert [(variable.variable, variable.kind) for variable in house.face.ask(ListStates(totals.id))] == [
        ("total", "value"),
        ("seen", "map"),
    ]
    with pytest.raises(Invalid) as several:
        house.face.begin(ReadState(joined.id))
    assert several.value.code == "state.several" and "counts / 0 / right" in several.value.hint
    with pytest.raises(NotFound) as nothing:
        house.face.begin(ReadState(joined.id, store="middle"))
    assert nothing.value.code == "state.not_found"


def test_rows_of_an_operator_are_those_of_the_jobs_own_progress(house: House) -> None:
    run = house.ran("a", "rocksdb_format2")
    progress = json.loads(progress_line(NEWEST, "2026-01-01T00:35:00.000Z"))
    progress |= {"name": "counts", "stateOperators": [{"operatorName": "stateStoreSave", "numRowsTotal": 3, "numStateStoreInstances": 2}]}
    savepoint = do(house.face, Take("a"))
    assert house.face.ask(ListStates(savepoint.id))[0].operator_rows is None
    house.append(run, PROGRESS_FILE, json.dumps({**progress, "batchId": savepoint.batch}) + "\n")
    assert house.face.ask(ListStates(savepoint.id))[0].operator_rows == 3


def test_what_was_not_read_cannot_be_asked(house: House) -> None:
    savepoint = taken(house, "rocksdb_format2")
    with pytest.raises(NotFound) as refused:
        house.face.ask(QueryState(savepoint.id))
    assert refused.value.code == "state.not_read"


def test_a_reading_outlasts_a_restart_and_a_rebuild_and_goes_with_its_savepoint(house: House) -> None:
    savepoint = taken(house, "rocksdb_format2")
    row_files(house, savepoint, house.face.ask(ListStates(savepoint.id))[0], 12)
    house.reopen()
    do(house.face, RebuildCatalog())
    (table,) = house.face.ask(ListStates(savepoint.id))
    assert table.reading is not None and table.reading.rows == 12
    assert house.face.ask(QueryState(savepoint.id, limit=5)).matches == 12
    assert not do(house.face, Dispose((savepoint.id,))).refused
    assert not house.face.layout.readings_of(savepoint.id).exists()


def test_a_reading_that_is_there_is_not_read_again(house: House) -> None:
    savepoint = taken(house, "rocksdb_format2")
    made = row_files(house, savepoint, house.face.ask(ListStates(savepoint.id))[0], 12)
    assert do(house.face, ReadState(savepoint.id, limit=50)).result == made.id


def test_readings_of_savepoints_that_are_gone_are_cleaned_at_the_start(house: House) -> None:
    stray = house.face.layout.readings_of(SavepointId("sp-gone"))
    stray.mkdir(parents=True)
    house.reopen()
    assert not stray.exists()


def test_a_damaged_reading_is_none(house: House) -> None:
    savepoint = taken(house, "rocksdb_format2")
    made = row_files(house, savepoint, house.face.ask(ListStates(savepoint.id))[0], 12)
    (house.face.layout.reading(savepoint.id, made.id) / readings.READING_FILE).write_text("{")
    assert house.face.ask(ListStates(savepoint.id))[0].reading is None


def test_the_oldest_readings_make_room(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    savepoint = taken(house, "join")
    monkeypatch.setenv(readings.MOST_BYTES_VARIABLE, "2000")
    tables = house.face.ask(ListStates(savepoint.id))
    for at, table in enumerate(tables[:3]):
        row_files(house, savepoint, table, 12, read_ms=at + 1)
    assert [state_table.reading is not None for state_table in house.face.ask(ListStates(savepoint.id))[:3]] == [False, True, True]


@pytest.mark.spark
def test_spark_reads_what_a_savepoint_remembers(house: House) -> None:
    savepoint = taken(house, "rocksdb_format2")
    do(house.face, ReadState(savepoint.id))
    page = house.face.ask(QueryState(savepoint.id, sort="key.post"))
    assert [column.name for column in page.columns] == ["key.window.start", "key.window.end", "key.post", "value.sum", "partition_id"]
    assert [row[2:4] for row in page.rows] == [("p0", 456), ("p1", 333), ("p2", 446)]
    reading = house.face.ask(ListStates(savepoint.id))[0].reading
    assert reading is not None and reading.whole and dict(reading.partitions) == {0: 3, 1: 0}
    assert list(house.face.layout.sandbox.iterdir()) == []
