"""A savepoint whose place in an Iceberg table is gone is refused by the plan, and may be moved. Without Spark."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain import offsets as positions
from pipelines.domain.errors import NotFound, TidemarkError
from pipelines.domain.holdings import Holding, Usable
from pipelines.domain.iceberg_offsets import Position, offset_of
from pipelines.domain.runs import PROGRESS_FILE, QUERIES_FILE, RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.savepoint import iceberg_tags
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.holdings import AskHoldings
from pipelines.verbs.jobs import ListOperators
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.words import formats, offsets
from tests import iceberg_tables
from tests.workspace import process_forks
from tests.workspace.conftest import House, progress_line, query_line

STREAM = "org.apache.iceberg.spark.source.SparkMicroBatchStream@3f2a1b"


@dataclass(frozen=True)
class Events:
    folder: Path
    table: Any
    made: tuple[int, ...]
    """Its snapshots, each with one file."""


@pytest.fixture
def events(tmp_path: Path) -> Events:
    table = iceberg_tables.create(tmp_path / "db" / "events")
    rows = [[{"k": "a", "ts": datetime(2026, 1, 1, tzinfo=UTC), "n": number}] for number in range(4)]
    return Events(tmp_path / "db" / "events", table, tuple(iceberg_tables.append(table, added) for added in rows))


def saved(house: House, events: Events, at: Position) -> Savepoint:
    """Of a job that has read the table up to there."""
    run = house.ran("a")
    checkpoint = Path(run.checkpoints) / "counts"
    for path in (checkpoint / "offsets").iterdir():
        if path.name.isdigit():
            *head, _ = path.read_text().splitlines()
            path.write_text("\n".join([*head, offset_of(at)]))
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    line = json.loads(query_line(str(checkpoint), str(house.face.layout.output(run.job) / "counts")))
    house.append(run, QUERIES_FILE, json.dumps({**line, "sources": ["iceberg"], "tables": [str(events.folder)]}) + "\n")
    return do(house.face, Take("a"))


def test_what_has_expired_is_refused_before_anything_starts(house: House, events: Events) -> None:
    at = Position(events.made[1], 1)
    savepoint = saved(house, events, at)
    plan = house.face.plan(Fork(savepoint.id, name="b"))
    assert plan.refusal is None
    assert any("1 file of it read on: it is 2 snapshots behind after the savepoint, at least until" in line for line in plan.warnings)
    iceberg_tables.expire(events.table, events.made[0])
    assert do(house.face, AskHoldings(savepoint.id)).holdings.usable is Usable.YES  # type: ignore[union-attr]
    iceberg_tables.expire(events.table, events.made[1])
    for change in (Fork(savepoint.id, name="b"), Resume("a", from_savepoint=savepoint.id), Resume("a"), Resume("a", batch=7)):
        refused = house.face.plan(change).refusal
        assert refused is not None and refused.code == "source.gone" and f"snapshot {at.snapshot} has expired" in refused.message
        assert "--offsets SOURCE=earliest" in refused.hint
    assert house.face.plan(Fork(savepoint.id, name="b", force=True)).refusal is None
    assert do(house.face, AskHoldings(savepoint.id)).holdings.usable is Usable.NO  # type: ignore[union-attr]
    plan = house.face.plan(Fork(savepoint.id, name="b", offsets={"0": "earliest"}))
    assert plan.refusal is None and [move.after for move in plan.moved] == [offset_of(Position(events.made[2]))]
    assert "how many files are skipped or read again nobody can count" in offsets.moved(plan.moved[0])


def saved_sink(house: House, events: Events) -> Savepoint:
    """Of a job that writes to the table, whose newest snapshot is the one that its savepoint notes."""
    run = house.ran("a")
    line = json.loads(query_line(str(Path(run.checkpoints) / "counts"), str(events.folder)))
    house.append(run, QUERIES_FILE, json.dumps({**line, "sink": "iceberg", "sink_table": "lake.db.events"}) + "\n")
    return do(house.face, Take("a"))


def held(house: House, savepoint: Savepoint) -> Holding:
    holdings = do(house.face, AskHoldings(savepoint.id)).holdings
    assert holdings is not None
    (of_sink,) = [holding for holding in holdings.sources if holding.source == "sink"]
    return of_sink


def tags(events: Events) -> dict[str, int]:
    """As pyiceberg reads them."""
    refs = iceberg_tables.reopened(events.folder).metadata.refs
    return {name: ref.snapshot_id for name, ref in refs.items() if ref.snapshot_ref_type == "tag"}


def test_the_snapshot_of_a_sink_is_tagged_until_its_savepoint_is_disposed_of(house: House, events: Events) -> None:
    savepoint = saved_sink(house, events)
    tag = f"tidemark-{savepoint.id}-{events.made[-1]}"
    table = iceberg_tables.reopened(events.folder)
    assert tags(events) == {tag: events.made[-1]} and table.metadata.metadata_log[-1].metadata_file == events.table.metadata_location
    assert table.metadata.model_copy(update={"refs": {}, "metadata_log": []}) == events.table.metadata.model_copy(
        update={"refs": {}, "metadata_log": []}
    )
    iceberg_tables.append(table, [{"k": "a", "ts": datetime(2026, 1, 1, tzinfo=UTC), "n": 9}])
    with pytest.raises(ValueError, match="protected"):
        table.maintenance.expire_snapshots().by_id(events.made[-1])
    kept = held(house, savepoint)
    assert (kept.usable, kept.until_ms) == (Usable.YES, None) and kept.why.endswith(f"keeps it for its tag {tag}")

    iceberg_tables.reopened(events.folder).manage_snapshots().remove_tag(tag).commit()
    assert held(house, savepoint).until_ms is None and tags(events) == {tag: events.made[-1]}, "it is tagged again"
    do(house.face, Dispose((savepoint.id,)))
    assert tags(events) == {}
    with pytest.raises(NotFound):
        iceberg_tags.keep(house.face.context.library, savepoint.id, savepoint.queries)
    assert tags(events) == {}


def test_a_tag_whose_savepoint_went_while_its_server_was_killed_goes_at_the_next_start(house: House, events: Events) -> None:
    kept = saved_sink(house, events)
    of_kept = f"tidemark-{kept.id}-{events.made[-1]}"
    with process_forks.of("tests.workspace.killed_disposing") as forked:
        for step in ("files", "tags"):
            savepoint = do(house.face, Take("a"))
            house.face.close()
            assert forked(house.root, savepoint.id, step) == -signal.SIGKILL
            assert len(tags(events)) == 2
            house.open()
            assert set(tags(events)) == {of_kept} and [left.id for left in house.face.ask(ListSavepoints("a"))] == [kept.id]
    savepoint = do(house.face, Take("a"))
    with in_the_way(events):
        do(house.face, Dispose((savepoint.id,)))
        house.reopen()
    assert "savepoint.tagged" in {event.kind for event in house.face.ask(ListEvents("a"))} and len(tags(events)) == 2
    house.reopen()
    assert set(tags(events)) == {of_kept} and not list(house.face.layout.untagging.iterdir())


def test_a_snapshot_that_cannot_be_tagged_goes_by_its_age(house: House, events: Events) -> None:
    with in_the_way(events):
        savepoint = saved_sink(house, events)
        assert held(house, savepoint).until_ms is None, "a branch stands there"
        assert "savepoint.untagged" in {event.kind for event in house.face.ask(ListEvents("a"))}
    iceberg_tables.append(events.table, [{"k": "a", "ts": datetime(2026, 1, 1, tzinfo=UTC), "n": 9}])
    with in_the_way(events):
        aged = held(house, savepoint)
    assert aged.usable is Usable.YES and aged.until_ms is not None
    assert aged.why.endswith(f"cannot be tagged, so its age counts (others commit to {events.folder} all the time)")
    iceberg_tables.expire(events.table, events.made[-1])
    gone = held(house, savepoint)
    assert (gone.usable, gone.gaps) == (Usable.NO, (f"snapshot {events.made[-1]}",)) and tags(events) == {}


@contextmanager
def in_the_way(events: Events) -> Iterator[None]:
    """The name is taken under which the next metadata would be committed."""
    metadata = Path(iceberg_tables.reopened(events.folder).metadata_location)
    taken = metadata.with_name(f"v{int(metadata.name.split('.')[0][1:]) + 1}.metadata.json")
    taken.mkdir()
    yield
    taken.rmdir()


MOVES = [
    ("earliest", 0, 0, 0, 2),
    ("latest", 3, 1, 2, 0),
    ("2000-01-01T00:00", 0, 0, 0, 2),
    ("-0s", 3, 1, 2, 0),
    ('{{"snapshot_id":{made[3]}}}', 3, 0, 1, 0),
    ('{{"version":1,"snapshot_id":{made[1]},"position":0,"scan_all_files":false}}', 1, 0, 0, 1),
]


@pytest.mark.parametrize(("position", "number", "read", "skipped", "again"), MOVES)
def test_a_source_is_moved(house: House, events: Events, position: str, number: int, read: int, skipped: int, again: int) -> None:
    savepoint = saved(house, events, Position(events.made[1], 1))
    fork = Fork(savepoint.id, name="b", offsets={"counts.0": position.format(made=events.made)})
    (moved,) = house.face.plan(fork).moved
    after = offset_of(Position(events.made[number], read))
    assert (moved.after, moved.skipped, moved.again, moved.unit, moved.is_counted) == (after, skipped, again, "files", True)
    entry = (Path(do(house.face, fork).checkpoints) / "counts" / "offsets" / str(savepoint.batch)).read_text().splitlines()
    assert entry[2:] == [after]


@pytest.mark.parametrize(
    ("position", "code"),
    [
        ('{"snapshot_id":7}', "offsets.position"),
        ('{"clicks":{"0":1}}', "offsets.position"),
        ("soon", "time.invalid"),
        ("2100-01-01T00:00", "offsets.future"),
    ],
)
def test_a_place_that_is_not_there_is_refused(house: House, events: Events, position: str, code: str) -> None:
    savepoint = saved(house, events, Position(events.made[1], 1))
    with pytest.raises(TidemarkError) as refused:
        house.face.plan(Fork(savepoint.id, name="b", offsets={"0": position}))
    assert refused.value.code == code


@pytest.mark.parametrize(("expired", "waiting"), [((), 2), ((0,), 2), ((1,), None)])
def test_the_jobs_page_says_how_many_snapshots_wait(house: House, events: Events, expired: tuple[int, ...], waiting: int | None) -> None:
    at = offset_of(Position(events.made[1], 1))
    iceberg_tables.expire(events.table, *(events.made[number] for number in expired))
    run = house.begin("a")
    line = json.loads(progress_line(0, "1970-01-01T00:00:00.000Z"))
    source = {"description": STREAM, "startOffset": None, "endOffset": json.loads(at), "numInputRows": 5}
    house.append(run, PROGRESS_FILE, json.dumps({**line, "sources": [source]}) + "\n")
    begun = {**json.loads(query_line("/nowhere", "/nowhere")), "sources": ["iceberg"], "tables": [str(events.folder)]}
    house.append(run, QUERIES_FILE, json.dumps(begun) + "\n")
    house.see(run, RunState.STOPPED)
    (seen,) = house.face.ask(ListOperators("a"))[0].sources
    assert [(part.amount, part.unit) for part in seen.backlog] == ([(waiting, "snapshots")] if waiting is not None else [])
    assert formats.source_name(seen.description) == "Iceberg db/events"
    assert positions.positions(seen.end) == {positions.OF_ICEBERG: str(events.made[1]), "files of that snapshot read": 1}
    if waiting is not None:
        assert offsets.words(seen.latest) == f"snapshot {events.made[3]}, 1 file of it read"
