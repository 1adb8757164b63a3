"""The log of a file source moved to a time: which files count as read, and where they are looked for."""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path

import pytest

from pipelines.domain.errors import Unsupported
from pipelines.savepoint.moved_files import MovedLog, moved
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage


def lay(events: Path, checkpoint: Path) -> None:
    """Files 0 and 1 of the first day are read; 2 of the same day, 3 of the next, and two that are hidden are not."""
    for number, name in enumerate(("day=1/0.json", "day=1/1.json", "day=1/2.json", "day=2/3.json", "day=2/_4.json", "day=2/.5.json")):
        path = events / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        os.utime(path, (1_000 + number,) * 2)
    log = checkpoint / "sources" / "0"
    log.mkdir(parents=True)
    for number in (0, 1):
        entry = {"path": (events / f"day=1/{number}.json").as_uri(), "timestamp": 1_000_000 + 1_000 * number, "batchId": number}
        (log / str(number)).write_text("v1\n" + json.dumps(entry))


def log_at(tmp_path: Path, at_ms: float) -> MovedLog:
    lay(tmp_path / "in", tmp_path / "checkpoint")
    return moved(open_storage(str(tmp_path / "checkpoint")), "0", 1, at_ms, ())


def test_what_waits_in_every_partition_is_skipped(tmp_path: Path) -> None:
    log = log_at(tmp_path, math.inf)
    assert [Path(path).name for path in log.skipped] == ["2.json", "3.json"] and log.again == () and log.offset == 2
    assert b"day=2/3.json" in log.written["sources/0/2"] and log.written["sources/0/1"].count(b"path") == 1


def test_what_was_changed_since_is_read_again_and_the_offset_stays(tmp_path: Path) -> None:
    log = log_at(tmp_path, 1_000_500)
    assert [path.rpartition("/")[2] for path in log.again] == ["1.json"] and log.skipped == () and log.offset == 1
    assert log.written["sources/0/1"] == b"v1"


def test_a_file_that_is_gone_is_not_read_again(tmp_path: Path) -> None:
    lay(tmp_path / "in", tmp_path / "checkpoint")
    (tmp_path / "in/day=1/1.json").unlink()
    log = moved(open_storage(str(tmp_path / "checkpoint")), "0", 1, -math.inf, ())
    assert [path.rpartition("/")[2] for path in log.again] == ["0.json"] and log.written["sources/0/1"] == b"v1"


def test_of_a_folder_that_is_gone_nothing_is_skipped_or_read_again(tmp_path: Path) -> None:
    lay(tmp_path / "in", tmp_path / "checkpoint")
    shutil.rmtree(tmp_path / "in")
    log = moved(open_storage(str(tmp_path / "checkpoint")), "0", 1, -math.inf, ())
    assert (log.skipped, log.again, log.offset) == ((), (), 1)


def test_files_in_s3_are_listed_there(s3_url: str, tmp_path: Path) -> None:
    place = open_storage(f"{s3_url}/moved")
    for name in ("day=1 (ä) #1/0.json", "day=1 (ä) #1/1.json", "day=2/2.json", "day=2/_3.json", "day=2/.4.json", "_logs/5.json"):
        place.write(f"in/{name}", b"{}")
    first = f"{s3_url.replace('s3://', 's3a://')}/moved/in/day=1%20(ä)%20%231"
    read = [(f"{first}/0.json", next(place.list("in")).modified_ms)]
    log = moved(logged(tmp_path / "a", *read), "0", 0, math.inf, ())
    assert [path.removeprefix(s3_url.replace("s3://", "s3a://")) for path in log.skipped] == [
        "/moved/in/day=1 (ä) #1/1.json",
        "/moved/in/day=2/2.json",
    ]
    assert f'"path":"{first}/1.json","timestamp":'.encode() in log.written["sources/0/1"] and (log.again, log.offset) == ((), 1)
    back = moved(logged(tmp_path / "b", *read, (f"{first}/gone.json", 1)), "0", 0, -math.inf, ())
    assert (back.skipped, back.again, back.offset) == ((), (f"{first}/0.json",), 0)


def logged(checkpoint: Path, *files: tuple[str, int]) -> Storage:
    """A checkpoint whose source has read these files, by address and time, in its first batch."""
    log = checkpoint / "sources" / "0"
    log.mkdir(parents=True)
    lines = [json.dumps({"path": path, "timestamp": changed_ms, "batchId": 0}) for path, changed_ms in files]
    (log / "0").write_text("\n".join(("v1", *lines)))
    return open_storage(str(checkpoint))


@pytest.mark.parametrize("files", [("abfss://lake@a/0.json",), ("s3a://lake/0.json", "file:///in/1.json"), ("s3a://other/0.json",), ()])
def test_files_elsewhere_or_of_several_storages_are_refused(tmp_path: Path, files: tuple[str, ...]) -> None:
    checkpoint = logged(tmp_path, *((path, 1) for path in files))
    with pytest.raises(Unsupported, match="another machine"):
        moved(checkpoint, "0", 0, math.inf, (), lambda path: "other" in path)
