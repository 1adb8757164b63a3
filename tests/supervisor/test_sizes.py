"""What a checkpoint's bytes are counted as."""

import os
from pathlib import Path

from pipelines.supervisor.sizes import measure

GOLDEN = Path(__file__).parents[1] / "golden"


def total(folder: Path) -> int:
    return sum(os.path.getsize(path) for path in folder.rglob("*") if path.is_file())


def test_every_byte_is_counted_once_and_by_its_part() -> None:
    sizes = measure(str(GOLDEN / "rocksdb_format2"))
    checkpoint = GOLDEN / "rocksdb_format2" / "checkpoint"
    assert sizes["checkpoint_bytes"] == total(GOLDEN / "rocksdb_format2")
    assert sizes["state_bytes"] == total(checkpoint / "state") > 0
    assert sizes["log_bytes"] == total(checkpoint / "offsets") + total(checkpoint / "commits")
    assert sizes["source_bytes"] == total(checkpoint / "sources")


def test_what_is_carried_beside_the_checkpoints_is_not_theirs(tmp_path: Path) -> None:
    (tmp_path / ".sinks" / "q").mkdir(parents=True)
    (tmp_path / ".sinks" / "q" / "0").write_text("v1")
    assert measure(str(tmp_path))["checkpoint_bytes"] == 0
    assert measure(str(tmp_path / "nowhere"))["checkpoint_bytes"] == 0
