"""Files of the HDFS-backed store, without Spark: what a record is, and what is missing."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from pipelines.sandbox import delta_files
from pipelines.sandbox.delta_files import Missing

FILE = Path("3.delta")


def packed(*records: tuple[bytes, bytes | None]) -> bytes:
    return b"".join(_sized(key) + (_sized(value) if value is not None else struct.pack(">i", -1)) for key, value in records)


def _sized(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


END = struct.pack(">i", -1)
RECORDS = ((b"a", b"one"), (b"bb", None), (b"", b""))


def test_records_are_keys_with_values_or_removals() -> None:
    assert tuple(delta_files.records(packed(*RECORDS) + END, FILE)) == RECORDS


@pytest.mark.parametrize("cut", range(1, len(packed(*RECORDS) + END)))
def test_a_file_that_ends_early_is_told(cut: int) -> None:
    whole = packed(*RECORDS) + END
    with pytest.raises(Missing, match="ends early"):
        list(delta_files.records(whole[:cut], FILE))


def test_a_delta_that_is_not_there_is_told(tmp_path: Path) -> None:
    for name in ("1.delta", "2.snapshot", "2.delta", "4.delta"):
        (tmp_path / name).touch()
    with pytest.raises(Missing, match=r"3\.delta is not there"):
        list(delta_files.chain(tmp_path, 4))
    assert [path.name for path in delta_files.chain(tmp_path, 2)] == ["2.snapshot"]
    assert [path.name for path in delta_files.chain(tmp_path, 1)] == ["1.delta"]
