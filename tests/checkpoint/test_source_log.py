"""A file source's log, read up to an offset and cut back to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.checkpoint import compact_log, source_log
from pipelines.domain.errors import Corrupt
from pipelines.storage import paths
from tests.checkpoint.golden import MemoryStorage, checkpoint, in_memory

FOLDER = "sources/0"


def names_in(storage: MemoryStorage) -> compact_log.LogNames:
    return compact_log.names(paths.name(entry.path) for entry in storage.list(FOLDER))


def read(storage: MemoryStorage, offset: int) -> source_log.SourceLog:
    return source_log.read(storage, FOLDER, names_in(storage), offset)


def without_checksums(storage: MemoryStorage) -> dict[str, bytes]:
    return {paths.name(path): data for path, data in storage.files.items() if path.startswith(FOLDER) and not path.endswith(".crc")}


def test_cut_at_its_end_a_log_is_what_spark_wrote() -> None:
    """Byte for byte, less nothing: with one compact file, all single files are kept."""
    golden = in_memory(checkpoint("hdfs"))
    assert dict(source_log.cut(read(golden, 12), 12)) == without_checksums(golden)


def test_cut_before_the_compact_file_its_batch_is_single_again() -> None:
    golden = in_memory(checkpoint("hdfs"))
    made = source_log.cut(read(golden, 5), 5)
    assert list(made) == ["0", "1", "2", "3", "4", "5"]
    assert all(made[name] == golden.files[f"{FOLDER}/{name}"] for name in made)


def test_what_was_deleted_is_rebuilt_from_a_later_compact_file() -> None:
    golden = in_memory(checkpoint("hdfs"))
    whole = source_log.cut(read(golden, 7), 7)
    golden.delete([f"{FOLDER}/{batch}" for batch in range(9)])
    assert source_log.cut(read(golden, 7), 7) == whole


@pytest.mark.parametrize("offset", [8, 9, 10, 11, 12])
def test_a_purged_log_is_cut_with_its_last_two_compact_files(offset: int) -> None:
    golden = in_memory(checkpoint("hdfs_purged"))
    log = read(golden, offset)
    assert log.interval == 4
    assert [entry.batch for entry in log.entries] == list(range(offset + 1))
    made = source_log.cut(log, offset)
    last = (offset + 1) // 4 * 4 - 1
    assert [name for name in made if name.endswith(".compact")] == [f"{last - 4}.compact", f"{last}.compact"]
    again = MemoryStorage({f"{FOLDER}/{name}": data for name, data in made.items()})
    assert read(again, offset) == log


@given(interval=st.integers(2, 12), length=st.integers(1, 60), offset=st.integers(0, 59), purge=st.integers(0, 60))
def test_a_cut_log_holds_every_entry_and_reads_again(interval: int, length: int, offset: int, purge: int) -> None:
    """Whatever the interval, the length and what Spark has deleted: a cut keeps all entries, and compaction goes on in step."""
    offset = min(offset, length - 1)
    storage = spark_log(interval, length, purge)
    log = read(storage, offset)
    assert [entry.path for entry in log.entries] == [f"f{batch}" for batch in range(offset + 1)]
    made = source_log.cut(log, offset)
    again = MemoryStorage({f"{FOLDER}/{name}": data for name, data in made.items()})
    assert read(again, offset).entries == log.entries
    log_names = names_in(again)
    assert log_names.newest == offset
    assert all(batch % interval == interval - 1 for batch in log_names.compacts)
    if offset >= interval - 1:
        assert (offset + 1) // interval * interval - 1 in log_names.compacts
    assert compact_log.interval(log_names.compacts, offset) == (interval if log_names.compacts else None)


def spark_log(interval: int, length: int, purged: int) -> MemoryStorage:
    """The log that Spark would have after `length` batches, having deleted what lies before a compact file at or after `purged`."""
    line = '{{"path":"f{0}","timestamp":1,"batchId":{0}}}'
    files: dict[str, bytes] = {}
    for batch in range(length):
        compact = batch % interval == interval - 1
        lines = [line.format(number) for number in (range(batch + 1) if compact else [batch])]
        files[f"{FOLDER}/{compact_log.name(batch, compact)}"] = compact_log.serialized(lines)
    kept = max((batch for batch in range(length) if batch % interval == interval - 1 and batch <= purged), default=-1)
    last_two = kept - interval
    return MemoryStorage({path: data for path, data in files.items() if int(paths.name(path).partition(".")[0]) >= last_two})


def test_a_gap_is_missing() -> None:
    golden = in_memory(checkpoint("hdfs"))
    golden.delete([f"{FOLDER}/11"])
    with pytest.raises(Corrupt) as caught:
        read(golden, 12)
    assert caught.value.code == "checkpoint.missing_file"
    assert f"{FOLDER}/11" in caught.value.message


@pytest.mark.parametrize(
    ("offset", "expected"),
    [('{"logOffset":7}', 7), ('{"logOffset":-1}', -1), ("7", None), ('{"topic":{"0":3}}', None), ('{"logOffset":7,"x":1}', None)],
)
def test_whose_offset_it_is(offset: str, expected: int | None) -> None:
    assert source_log.offset_of(offset) == expected


def test_no_offset_at_all() -> None:
    assert source_log.offset_of(None) is None
    assert dict(source_log.cut(source_log.SourceLog((), None), -1)) == {}
