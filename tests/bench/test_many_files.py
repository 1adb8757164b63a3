"""What a savepoint of 50,000 small state files costs, beside `cp -r` of the same checkpoint in the same minutes.

The checkpoint is a golden one whose operator has been given 1,780 partitions without snapshots: each needs all of its 14 deltas.
What one measurement leaves to be written is on disk before the next one begins, and nothing is deleted meanwhile (ext4 steps over
each inode that was deleted in the last minutes when it makes a folder), so that none pays for another.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
import uuid
from pathlib import Path

import pytest

from pipelines.savepoint import restore
from pipelines.storage.addresses import open_storage
from tests.bench.test_savepoints import copy_seconds
from tests.savepoint.golden import NOW_MS, Bench, bench

PARTITIONS = 1_780
ROUNDS = 5
OTHERS = 200_000
pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]


def test_a_savepoint_of_fifty_thousand_files(tmp_path: Path) -> None:
    job = widened(bench(tmp_path / "job", "hdfs"))
    took, copied, restored = [], [], []
    for number in range(ROUNDS):
        os.sync()
        savepoint = job.take(f"sp-{number}")
        took.append(savepoint.took_ms / 1_000)
        os.sync()
        copied.append(copy_seconds(job.checkpoint, tmp_path / f"copy-{number}", keep=True))
        os.sync()
        began = time.perf_counter()
        restore.restore(job.library, savepoint.id, job.fork(f"fork-{number}"), NOW_MS)
        restored.append(time.perf_counter() - began)
        assert savepoint.files >= 50_000
    seconds, whole = statistics.median(took), statistics.median(copied)
    print(f"\n{savepoint.files:,} files, {savepoint.bytes:,} bytes, {savepoint.new_bytes / savepoint.bytes:.2%} of them new")
    print(f"savepoint median {seconds:.2f} s, worst {max(took):.2f} s, {seconds / savepoint.files * 1e6:.0f} µs a file")
    print(f"cp -r     median {whole:.2f} s = {whole / seconds:.1f} x")
    print(f"restore   median {statistics.median(restored):.2f} s")


def test_a_savepoint_of_a_few_files_among_two_hundred_thousand(tmp_path: Path) -> None:
    """What Spark has not purged is listed, and no more is done about it: in processor seconds, beside the listing alone."""
    job = bench(tmp_path / "job", "rocksdb_format2")
    partitions = [job.checkpoint / "state" / "0" / name for name in ("0", "1")]
    for number in range(OTHERS // 4):
        for partition in partitions:
            name = f"{number % 13 + 1}_{uuid.uuid4()}.changelog"
            (partition / name).touch()
            (partition / f".{name}.crc").touch()
    listed, took = [], []
    for number in range(ROUNDS):
        began = time.process_time()
        count = sum(1 for _ in open_storage(str(job.checkpoint)).list())
        listed.append(time.process_time() - began)
        began = time.process_time()
        savepoint = job.take(f"sp-{number}")
        took.append(time.process_time() - began)
    seconds, alone = statistics.median(took), statistics.median(listed)
    print(f"\n{count:,} files, {savepoint.files} of them in a savepoint")
    print(f"savepoint median {seconds:.2f} s of a processor = {seconds / alone:.2f} x listing them")
    assert count >= OTHERS and savepoint.files < 100 and seconds < 2 * alone


def widened(job: Bench) -> Bench:
    """The job with `PARTITIONS` partitions, each a copy of the first one, and no snapshot."""
    operator = job.checkpoint / "state" / "0"
    first = operator / "0"
    for snapshot in first.glob("*.snapshot"):
        snapshot.unlink()
        snapshot.with_name(f".{snapshot.name}.crc").unlink()
    shutil.rmtree(operator / "1")
    for partition in range(1, PARTITIONS):
        shutil.copytree(first, operator / str(partition))
    for path in (operator / "_metadata" / "metadata", *(job.checkpoint / "offsets").glob("[0-9]*")):
        text = path.read_text()
        path.write_text(
            text.replace('"numPartitions":2', f'"numPartitions":{PARTITIONS}').replace(
                '"spark.sql.shuffle.partitions":"2"', f'"spark.sql.shuffle.partitions":"{PARTITIONS}"'
            )
        )
    return job
