"""A file sink's log, read and cut."""

from __future__ import annotations

import pytest

from pipelines.checkpoint import sink_log
from pipelines.checkpoint.compact_log import serialized
from pipelines.domain.errors import Corrupt
from tests.checkpoint.golden import NAMES, MemoryStorage, in_memory, sink


def line(path: str, action: str = "add") -> str:
    return f'{{"path":"{path}","size":1,"isDir":false,"modificationTime":2,"blockReplication":1,"blockSize":3,"action":"{action}"}}'


def log(**files: list[str]) -> MemoryStorage:
    return MemoryStorage({name.strip("_").replace("_", "."): serialized(lines) for name, lines in files.items()})


@pytest.mark.parametrize("name", NAMES)
def test_cut_at_its_end_a_log_holds_what_spark_wrote(name: str) -> None:
    storage = in_memory(sink(name))
    newest = max(int(path.partition(".")[0]) for path in storage.files if not path.startswith("."))
    made = sink_log.cut(sink_log.read(storage, newest), newest)
    assert made
    assert all(storage.files[file] == data for file, data in made.items())


@pytest.mark.parametrize("name", ["hdfs", "rocksdb_format2", "stateless"])
@pytest.mark.parametrize("batch", range(13))
def test_a_cut_log_shows_the_same_files(name: str, batch: int) -> None:
    storage = in_memory(sink(name))
    whole = sink_log.read(storage, batch)
    made = MemoryStorage(dict(sink_log.cut(whole, batch)))
    assert sink_log.live_files(sink_log.read(made, batch), batch) == sink_log.live_files(whole, batch)
    assert {path.partition(".")[0] for path in made.files} <= {str(number) for number in range(batch + 1)}
    assert ("9.compact" in made.files) == (batch >= 9)


def test_live_files_grow_by_batch() -> None:
    storage = in_memory(sink("stateless"))
    counts = [len(sink_log.live_files(sink_log.read(storage, batch), batch)) for batch in range(13)]
    assert counts == sorted(counts)
    assert counts[0] >= 1
    place = "file:///tmp/tidemark-golden/stateless/output/"
    assert all(file.path.startswith(place) for file in sink_log.live_files(sink_log.read(storage, 3), 3))


def test_a_purged_log_keeps_two_compact_files() -> None:
    """From the distance of two compact files Spark takes the interval."""
    made = sink_log.cut(sink_log.read(in_memory(sink("hdfs_purged")), 12), 12)
    assert list(made) == ["8.compact", "11.compact", "12"]


def test_deleted_files_are_not_live() -> None:
    storage = log(_0=[line("a"), line("b")], _1=[line("a", "delete"), line("c")])
    assert [file.path for file in sink_log.live_files(sink_log.read(storage, 1), 1)] == ["b", "c"]
    assert [file.path for file in sink_log.live_files(sink_log.read(storage, 0), 0)] == ["a", "b"]


def test_a_sink_without_a_log() -> None:
    empty = sink_log.read(MemoryStorage({}), 5)
    assert sink_log.live_files(empty, 5) == ()
    assert dict(sink_log.cut(empty, 5)) == {}


def test_a_log_that_ends_before_the_batch_is_incomplete() -> None:
    """Spark writes an entry for every batch, an empty one where there was nothing to write."""
    storage = log(_0=[line("a")])
    assert [sink_log.holds(sink_log.names(storage), batch) for batch in (0, 1)] == [True, False]
    with pytest.raises(Corrupt) as caught:
        sink_log.read(storage, 3)
    assert caught.value.code == "checkpoint.missing_file"


def test_what_is_only_within_a_compact_file_is_not_offered() -> None:
    storage = log(_19_compact=[line("a")], _20=[line("b")])
    names = sink_log.names(storage)
    assert [batch for batch in range(22) if sink_log.holds(names, batch)] == [19, 20]
    with pytest.raises(Corrupt, match="only that batch and later ones can be restored"):
        sink_log.read(storage, 18)


def test_a_gap_is_missing() -> None:
    with pytest.raises(Corrupt) as caught:
        sink_log.read(log(_0=[line("a")], _2=[line("b")]), 2)
    assert caught.value.code == "checkpoint.missing_file"


def test_entries_before_a_compact_file_cannot_be_told_apart() -> None:
    later = sink_log.read(log(_9_compact=[line("a")], _10=[]), 10)
    with pytest.raises(Corrupt):
        sink_log.cut(later, 5)


def test_a_log_in_a_folder_of_the_storage() -> None:
    storage = MemoryStorage({f"_spark_metadata/{path}": data for path, data in in_memory(sink("hdfs")).files.items()})
    assert sink_log.live_files(sink_log.read(storage, 7, "_spark_metadata"), 7)
