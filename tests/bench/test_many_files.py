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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipelines.savepoint import restore
from pipelines.storage import copies, folders
from pipelines.storage.addresses import open_storage
from tests.bench.test_savepoints import copy_seconds
from tests.savepoint.golden import NOW_MS, Bench, bench

PARTITIONS = 1_780
ROUNDS = 5
OTHERS = 200_000
pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]


def test_a_savepoint_of_fifty_thousand_files(tmp_path: Path) -> None:
    job = widened(bench(tmp_path / "job", "hdfs"))
    took, copied, restored, processors, bare = [], [], [], [], []
    for number in range(ROUNDS):
        os.sync()
        began = time.process_time()
        savepoint = job.take(f"sp-{number}")
        processors.append(time.process_time() - began)
        took.append(savepoint.took_ms / 1_000)
        os.sync()
        began = time.process_time()
        link_bare(job.checkpoint, tmp_path / f"bare-{number}")
        bare.append(time.process_time() - began)
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
    spent, floor = statistics.median(processors), statistics.median(bare)
    print(f"of processors {spent:.2f} s = {spent / floor:.2f} x the floor, {floor:.2f} s: by a bare loop")
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


def link_bare(source: Path, target: Path) -> None:
    """What no savepoint of these files can leave out: each file's size is asked for, its name linked in open folders; each folder's names
    are looked at once more, and flushed to disk."""
    for folder, _, _ in os.walk(source):
        to = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(to)
        inside, new = os.open(folder, os.O_RDONLY), os.open(to, os.O_RDONLY)
        with os.scandir(inside) as scan:
            for item in scan:
                if not item.is_dir():
                    item.stat()
                    os.link(item.name, item.name, src_dir_fd=inside, dst_dir_fd=new, follow_symlinks=False)
        with os.scandir(new) as scan:
            for item in scan:
                item.inode()
        os.close(inside)
        os.close(new)
    flush(str(target))


def flush(top: str) -> None:
    """Many at once, as each only waits for the disk."""
    with ThreadPoolExecutor(folders.FLUSHERS) as pool:
        list(pool.map(copies.sync_folder, [folder for folder, _, _ in os.walk(top)]))


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
