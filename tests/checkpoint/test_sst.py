"""RocksDB's tables: each block's own checksum tells of a flipped bit, where nothing beside the file does."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.checkpoint import doctor, sst
from pipelines.checkpoint.doctor import Subject
from pipelines.domain.errors import Corrupt, Unsupported
from tests.checkpoint.golden import MemoryStorage, checkpoint, in_memory

GOLDEN = Path(__file__).parents[1] / "golden"
TABLES = sorted(GOLDEN.rglob("*.sst"))
UNCHECKED = range(-46, -11)
"""Bytes of the footer that fill it up, and its format's number: format 4 is laid out as 5 is."""


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x01]) + data[at + 1 :]


def test_what_spark_wrote_is_sound() -> None:
    assert len(TABLES) > 50
    for table in TABLES:
        sst.check(table.name, table.read_bytes())


def test_a_flipped_bit_is_seen_wherever_it_is() -> None:
    data = max((table.read_bytes() for table in TABLES), key=len)
    for at in range(len(data)):
        if at - len(data) not in UNCHECKED:
            with pytest.raises((Corrupt, Unsupported)):
                sst.check("x.sst", flipped(data, at))


@pytest.mark.parametrize("size", [0, 20, 600, -1])
def test_a_table_that_was_cut_off_is_damaged(size: int) -> None:
    with pytest.raises(Corrupt):
        sst.check("x.sst", TABLES[0].read_bytes()[:size])


def test_a_table_of_another_format_is_not_judged() -> None:
    data = TABLES[0].read_bytes()
    with pytest.raises(Unsupported):
        sst.check("x.sst", data[:-12] + (6).to_bytes(4, "little") + data[-8:])


@pytest.mark.parametrize("name", ["rocksdb", "rocksdb_format2"])
def test_the_doctor_sees_it_without_a_checksum_beside_it(name: str) -> None:
    """As where a checkpoint was copied without its hidden files."""
    files = {path: data for path, data in in_memory(checkpoint(name)).files.items() if not path.endswith(".crc")}
    assert doctor.examine(Subject(MemoryStorage(files))).findings == ()
    table = next(path for path in sorted(files, reverse=True) if path.endswith(".sst"))
    files[table] = flipped(files[table], 10)
    (finding,) = doctor.examine(Subject(MemoryStorage(files))).findings
    assert (finding.damage.path, finding.damage.kind) == (table, "unreadable") and finding.batches
