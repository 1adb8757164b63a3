"""A batch that is left out: what the copy has instead of the savepoint's files, and what is refused."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import QueryName
from pipelines.domain.restarts import FailedBatch
from pipelines.domain.savepoints import NOT_BEGUN, QueryImage, TakePlan
from pipelines.savepoint import targets
from pipelines.savepoint.contents import QueryContents
from pipelines.savepoint.passing import Passing, passing, remembered
from pipelines.savepoint.source import QueryLocation
from pipelines.savepoint.take import Look

QUERY, COMMITTED = QueryName("q"), 11
METADATA = {number: json.dumps({"batchWatermarkMs": 1_000 * number, "batchTimestampMs": number, "conf": {}}) for number in range(13)}
KAFKA = {number: json.dumps({"t": {"0": 100 * number}}) for number in range(13)}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Of a file source, whose log is compacted every ten batches, and a Kafka source: batch 12 is planned, batch 11 is committed."""
    files = {"metadata": '{"id":"x"}', f"commits/{COMMITTED}": "v1\n{}"}
    for number in (10, 11, 12):
        files[f"offsets/{number}"] = "\n".join(("v1", METADATA[number], json.dumps({"logOffset": number}), KAFKA[number]))
    log = [json.dumps({"path": f"file:///in/{number}.json", "timestamp": number, "batchId": number}) for number in range(13)]
    files["sources/0/9.compact"] = "\n".join(("v1", *log[:10]))
    files |= {f"sources/0/{number}": f"v1\n{log[number]}" for number in (10, 11, 12)}
    files["sources/1/0"] = "v1\n" + KAFKA[0]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def place(checkpoint: Path, sink: str = "parquet") -> QueryLocation:
    return QueryLocation(QUERY, str(checkpoint), sink, "/out")


def look(batch: int = COMMITTED) -> Look:
    image = QueryImage(QUERY, "x", batch, 0, 0, (), "none", 0, (), {}, "parquet", "/out", 0, 0)
    return Look(TakePlan("a", {}, 0, 0, 0, ""), (QueryContents(image, ()),), 0)  # type: ignore[arg-type]


def left_out(checkpoint: Path, batch: int = COMMITTED + 1) -> Passing:
    return passing(place(checkpoint), look(), FailedBatch(QUERY, batch))


def test_the_committed_entry_has_the_planned_offsets_and_its_own_watermark(checkpoint: Path) -> None:
    entry = left_out(checkpoint).written[f"offsets/{COMMITTED}"].decode().split("\n")
    assert entry == ["v1", METADATA[COMMITTED], json.dumps({"logOffset": 12}), KAFKA[12]]


def test_the_file_source_has_seen_the_planned_files(checkpoint: Path) -> None:
    written = left_out(checkpoint).written
    names = {name for name in written if name.startswith("sources/")}
    assert {"sources/0/9.compact", "sources/0/11", "sources/0/12"} <= names
    assert not names & {"sources/0/9", "sources/0/13", "sources/1/0"}
    assert b"12.json" in written["sources/0/12"]


def test_what_is_written_has_a_size(checkpoint: Path) -> None:
    made = left_out(checkpoint)
    assert made.bytes == sum(len(data) for data in made.written.values()) > 0


def test_it_replaces_that_log_and_that_entry_with_their_checksums_alone(checkpoint: Path) -> None:
    gives_way = partial(targets.gives_way, instead=left_out(checkpoint).written)
    assert all(map(gives_way, (f"offsets/{COMMITTED}", f"offsets/.{COMMITTED}.crc", "sources/0/8", "sources/0/.8.crc")))
    assert not any(map(gives_way, ("offsets/10", "metadata", "sources/1/0", f"commits/{COMMITTED}", "state/0/0/11.delta")))


@pytest.mark.parametrize("batch", [COMMITTED, COMMITTED + 2])
def test_another_batch_than_the_one_that_waits_is_refused(checkpoint: Path, batch: int) -> None:
    with pytest.raises(Conflict, match="is not waiting any more") as refused:
        left_out(checkpoint, batch)
    assert refused.value.code == "resume.no_failed_batch"


def test_the_first_batch_is_refused(checkpoint: Path) -> None:
    with pytest.raises(Conflict, match="no state to go on with"):
        passing(place(checkpoint), look(NOT_BEGUN), FailedBatch(QUERY, 0))


def test_an_entry_of_another_version_is_refused(checkpoint: Path) -> None:
    entry = checkpoint / "offsets" / str(COMMITTED + 1)
    entry.write_text(entry.read_text().replace("v1", "v2", 1))
    with pytest.raises(Conflict, match="planned by different Sparks"):
        left_out(checkpoint)


def test_a_sink_that_knows_batches_by_their_numbers_is_refused() -> None:
    assert remembered(place(Path("/c"), "kafka"), FailedBatch(QUERY, 12)) is None
    refused = remembered(place(Path("/c"), "ForeachBatchSink"), FailedBatch(QUERY, 12))
    assert refused is not None and refused.code == "resume.sink_remembers" and "12" in refused.message
