"""Growing files into the catalog: torn, malformed and repeated lines."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.domain.errors import Corrupt
from pipelines.domain.ids import QueryName
from pipelines.domain.runs import EVENTS_FILE, PROGRESS_FILE, RunState
from pipelines.storage import fronts, lines
from pipelines.supervisor import outside
from pipelines.verbs.experiments import ShowTree
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ListBatches, ListJobs, ShowJob
from pipelines.verbs.system import ListEvents, RebuildCatalog, ShowHealth
from pipelines.workspace import freed, ingestion, listings
from pipelines.workspace.json_lines import progress
from tests.workspace.conftest import House, progress_line

OFFSETS = {
    "no Unicode": ('"\\ud800"', "\ud800"),
    "beyond ASCII": ('"\u00fc"', "\u00fc"),
    "called like what is no number": ('"NaN"', "NaN"),
    "beyond 64 bits": (str(2**70), 2**70),
}


def follow(house: House, run) -> None:
    ingestion.follow(house.face.context, ingestion.of_run(house.face.context, run.job, run.id))


def batches(house: House) -> list[int]:
    return [row.batch for row in house.face.ask(ListBatches("a"))]


def shown(house: House) -> list[object]:
    run = house.face.ask(ShowJob("a")).runs[0]
    return [run.id, *(house.face.ask(question) for question in (ListBatches("a"), ListEvents(), ShowTree()))]


def test_new_lines_come_once(house: House) -> None:
    run = house.ran("a")
    house.progress(run, 1)
    follow(house, run)
    follow(house, run)
    house.progress(run, 2)
    follow(house, run)
    assert batches(house) == [2, 1]
    assert house.face.ask(ListBatches("a"))[0].sources == progress(progress_line(2, "2026-11-20T09:00:00.000Z").encode())[1]


def test_a_torn_last_line_waits_for_its_rest(house: House) -> None:
    run = house.ran("a")
    line = progress_line(1, "2026-11-20T09:00:00.000Z")
    house.append(run, PROGRESS_FILE, line[:50])
    follow(house, run)
    assert batches(house) == []
    house.append(run, PROGRESS_FILE, line[50:])
    follow(house, run)
    assert batches(house) == [1]


def test_a_malformed_line_is_one_event_and_reading_goes_on(house: House) -> None:
    run = house.ran("a")
    house.append(run, PROGRESS_FILE, "not json\n[1]\n{}\n\n")
    house.progress(run, 1)
    follow(house, run)
    follow(house, run)
    assert batches(house) == [1]
    wrong = [event for event in house.face.ask(ListEvents("a")) if event.kind == "file.malformed"]
    assert len(wrong) == 4 and all(event.message.startswith("progress.jsonl, byte ") for event in wrong)


def line_with(offset: str) -> bytes:
    """A batch whose only source ends at `offset`, which is JSON."""
    line = json.loads(progress_line(1, "2026-11-20T09:00:00.000Z"))
    line["sources"] = [{"description": "source", "endOffset": "HERE", "numInputRows": 1}]
    return json.dumps(line).replace('"HERE"', offset).encode()


@pytest.mark.parametrize("name", OFFSETS)
def test_offsets_are_kept_as_they_are(name: str) -> None:
    text, offset = OFFSETS[name]
    assert json.loads(progress(line_with(text))[1])[0]["endOffset"] == offset


def test_an_offset_that_is_no_number_is_refused() -> None:
    with pytest.raises(Corrupt):
        progress(line_with("NaN"))


def test_a_line_longer_than_a_chunk(house: House, monkeypatch) -> None:
    monkeypatch.setattr(ingestion, "CHUNK_BYTES", 16)
    run = house.ran("a")
    for batch in range(5):
        house.progress(run, batch)
    follow(house, run)
    assert batches(house) == [4, 3, 2, 1, 0]


def test_what_the_driver_says_is_an_event_of_the_job(house: House) -> None:
    run = house.ran("a")
    house.append(run, EVENTS_FILE, json.dumps({"kind": "sink.mended", "message": "mended", "query": "counts", "at_ms": 5}) + "\n")
    follow(house, run)
    events = [event for event in house.face.ask(ListEvents("a")) if event.kind == "sink.mended"]
    assert [(event.subject, event.message) for event in events] == [(run.id, "counts: mended")]


def test_what_was_written_while_nobody_looked_is_there_after_opening(house: House) -> None:
    run = house.ran("a")
    house.progress(run, 1)
    house.reopen()
    house.progress(run, 2)
    house.reopen()
    assert batches(house) == [2, 1]


def test_a_rebuilt_catalog_is_the_same(house: House) -> None:
    run = house.ran("a")
    for batch in range(4):
        house.progress(run, batch)
    follow(house, run)
    before = shown(house)
    counts = do(house.face, RebuildCatalog())
    assert shown(house) == before
    assert counts["progress"] == 4 and counts["jobs"] == 1
    house.progress(run, 4)
    follow(house, run)
    assert batches(house) == [4, 3, 2, 1, 0]


def test_the_health_of_all_jobs_is_of_the_newest_list_for_half_a_second(house: House) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    assert house.face.ask(ListJobs())[0].lag_ms is None
    read = {"watermark": "2026-11-20T09:00:00.000Z", "max": "2026-11-20T09:10:00.000Z"}
    house.append(run, PROGRESS_FILE, json.dumps(json.loads(progress_line(1, "")) | {"eventTime": read}) + "\n")
    follow(house, run)
    assert house.face.ask(ShowHealth()).worst_lag_ms is None
    house.clock.pass_ms(listings.KEPT_MS)
    assert house.face.ask(ShowHealth()).worst_lag_job == "a" and house.face.ask(ListJobs())[0].lag_ms is not None
    house.ran("b", state=RunState.FAILED)
    health = house.face.ask(ShowHealth())
    assert (health.jobs, health.running, health.failed) == (2, 1, 1), "what is more than figures is seen at once"


def long_lines(first: int, last: int) -> str:
    """Batches from `first` to `last`, a second each, in lines of 1,000 bytes."""
    batch = json.loads(progress_line(0, "2026-11-20T09:00:00.000Z"))
    made = []
    for number in range(first, last + 1):
        at = f"2026-11-20T{number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}.000Z"
        line = json.dumps({**batch, "batchId": number, "timestamp": at, "filling": ""})
        made.append(line.replace('"filling": ""', f'"filling": "{"x" * (999 - len(line))}"') + "\n")
    return "".join(made)


def bytes_read(act: Callable[[], object]) -> int:
    """By this process, of files, by all its reads."""

    def counted() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    before = counted()
    act()
    return counted() - before


def test_of_a_file_whose_front_was_freed_the_rest_is_kept_and_read_on(house: House) -> None:
    run = house.ran("a")
    path, begins = house.folder(run) / PROGRESS_FILE, freed.Begins()
    house.append(run, PROGRESS_FILE, long_lines(0, 299))
    follow(house, run)
    freed.forget(house.face.context, run, begins)
    assert len(batches_of(house)) == 300
    (link := path.with_name("link")).symlink_to(path)
    assert fronts.free(link, 1) and path.stat().st_blocks * 512 >= 300_000, "whoever writes to it may have put it there"
    assert fronts.free(path, 100_000) and path.stat().st_size == 300_000
    with path.open("rb") as file:
        first = fronts.first_line(file, 10_000) // 1_000
    assert 100 < first <= 200
    freed.forget(house.face.context, run, begins)
    kept = list(range(299, first - 1, -1))
    assert batches_of(house) == kept
    house.append(run, PROGRESS_FILE, long_lines(300, 300))
    follow(house, run)
    assert batches_of(house) == [300, *kept]
    before = shown(house)
    do(house.face, RebuildCatalog())
    follow(house, run)
    assert shown(house) == before, "one that is made anew has what is kept, once"
    house.append(run, PROGRESS_FILE, long_lines(301, 301))
    follow(house, run)
    assert batches_of(house) == [301, 300, *kept]
    house.append(run, PROGRESS_FILE, long_lines(302, 302))
    house.reopen()
    assert batches_of(house) == [302, 301, 300, *kept]
    assert not [event for event in house.face.ask(ListEvents()) if event.kind == "file.malformed"]


def batches_of(house: House) -> list[int]:
    return [row.batch for row in house.face.ask(ListBatches("a", limit=1_000))]


def test_what_was_freed_is_never_read(house: House) -> None:
    """The front of 100 GB is passed over by whoever reads from the beginning, and from the end to the last line."""
    run = house.ran("a", state=RunState.RUNNING)
    path = house.folder(run) / PROGRESS_FILE
    house.append(run, PROGRESS_FILE, long_lines(0, 1))
    follow(house, run)
    path.unlink()
    path.touch()
    os.truncate(path, 100 * 10**9)
    house.append(run, PROGRESS_FILE, f"torn}}\n{long_lines(2, 99)}")
    assert bytes_read(lambda: follow(house, run)) < 2_000_000
    assert batches_of(house) == list(range(99, -1, -1))
    assert bytes_read(lambda: do(house.face, RebuildCatalog())) < 20_000_000
    assert batches_of(house) == list(range(99, 1, -1))
    assert bytes_read(lambda: outside.last_batches(path.parent, [QueryName("counts"), QueryName("other")])) < 2_000_000
    assert bytes_read(lambda: [*lines.backwards(path), *lines.forwards(path)]) < 2_000_000
    assert len([*lines.backwards(path)]) == len([*lines.forwards(path)]) + 1 == 99, "the last ends with an end of line"


def test_a_front_that_is_freed_while_it_is_read(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion, "CHUNK_BYTES", 50_000)
    run = house.ran("a", state=RunState.RUNNING)
    path, over = house.folder(run) / PROGRESS_FILE, threading.Event()

    def write_and_free() -> None:
        for first in range(0, 20_000, 100):
            house.append(run, PROGRESS_FILE, long_lines(first, first + 99))
            fronts.free(path, 200_000)
        over.set()

    (source,) = (source for source in ingestion.of_run(house.face.context, run.job, run.id) if source.path == path)
    thread = threading.Thread(target=write_and_free)
    thread.start()
    while True:
        last, places, read = over.is_set(), dict[str, int](), list[int]()
        while (piece := ingestion.read(house.face.context, [source], places)).reached:
            assert not piece.events
            places |= piece.reached
            read += [batch.batch for _, _, batch, _ in piece.progress]
        assert read == sorted(set(read))
        if last:
            break
    thread.join()
    assert read == list(range(read[0], 20_000)) and read[0] > 19_000
