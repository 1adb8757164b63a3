"""State schemas as real Spark wrote them, and files that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.checkpoint import state_schema
from pipelines.domain.errors import Corrupt

GOLDEN = Path(__file__).parents[1] / "golden"
WINDOW = "window struct<start timestamp, end timestamp>"
CASES = {
    "v2": ("rocksdb", 0, "default", [("", f"{WINDOW}, post string", "sum long")]),
    "v2 of a join": ("join", 0, "left-keyToNumValues", [("", "field0 string", "value long")]),
    "v3": (
        "transform",
        0,
        "default",
        [("seen", "key struct<post string>, userKey struct<n integer>", "times integer"), ("total", "post string", "total long")],
    ),
}


def files(checkpoint: Path) -> list[str]:
    return [path.relative_to(checkpoint).as_posix() for path in checkpoint.rglob("*") if path.is_file()]


@pytest.mark.parametrize(("golden", "operator", "store", "expected"), CASES.values(), ids=CASES)
def test_what_spark_wrote(golden: str, operator: int, store: str, expected: list[tuple[str, str, str]]) -> None:
    checkpoint = GOLDEN / golden / "checkpoint"
    path = state_schema.path(files(checkpoint), operator, store)
    assert path is not None
    schemas = state_schema.parse(path, (checkpoint / path).read_bytes())
    assert [(schema.family, schema.key, schema.value) for schema in schemas] == expected


def test_the_newest_schema_counts_and_none_is_none() -> None:
    folder = "state/1/_stateSchema/default/"
    assert state_schema.path([f"{folder}0_a", f"{folder}12_b", f"{folder}3_c", f"{folder}.12_b.crc"], 1, "default") == f"{folder}12_b"
    assert state_schema.path([f"{folder}0_a", f"{folder}12_b", f"{folder}3_c"], 1, "default", batch=11) == f"{folder}3_c"
    assert state_schema.path(["state/0/0/1.delta"], 0, "default") is None


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00\x02v2\x00\x00", b"\x00\x02v9", b"\x00\x02v1\x00\x01{", b"\x00\x02\xff\xff"],
    ids=["empty", "torn", "newer", "no JSON", "no text"],
)
def test_what_is_no_schema_is_corrupt(data: bytes) -> None:
    with pytest.raises(Corrupt):
        state_schema.parse("state/0/0/_metadata/schema", data)
