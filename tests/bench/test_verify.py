"""What verifying *intact* costs, beside reading the same files with nothing done to them (`cat > /dev/null`), in the same minutes.

Run by hand: `python3 -m tests -m bench tests/bench/test_verify.py -s`. Prints speeds and ratios; asserts only what was found.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.domain.ids import SavepointId
from pipelines.domain.trust import Trust
from pipelines.savepoint import checksums
from tests.savepoint import golden
from tests.savepoint.golden import NOW_MS, Bench
from tests.verified import verified

SP = SavepointId("sp-1")
MEGABYTE = 1_000_000
ROUNDS = 5


@pytest.mark.bench
@pytest.mark.parametrize(("files", "file_bytes"), [(40, 10 * MEGABYTE), (4_000, 100_000)], ids=["40 files", "4,000 files"])
def test_intact_at_disk_speed(files: int, file_bytes: int, tmp_path: Path) -> None:
    bench = large(tmp_path, files, file_bytes)
    paths = [path for path in (tmp_path / "savepoints" / SP).rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in paths)
    print(f"\n{size / MEGABYTE:,.0f} MB in {len(paths):,} files, {os.cpu_count()} processors")
    for name, prepare in (("cold", lambda: forget(paths)), ("warm", lambda: None)):
        read, checked = alternate(prepare, lambda: read_all(paths), lambda: check(bench))
        rates = [size / seconds / MEGABYTE for seconds in (read, checked)]
        print(f"{name}: cat {rates[0]:,.0f} MB/s, verify intact {rates[1]:,.0f} MB/s, ratio {rates[1] / rates[0]:.2f}")


def large(folder: Path, files: int, file_bytes: int) -> Bench:
    """A sealed savepoint of a golden job that has `files` more state files."""
    bench = golden.bench(folder, "hdfs")
    delta = next(bench.checkpoint.glob("state/0/*/1.delta"))
    bench.take()
    manifest_path = folder / "savepoints" / SP / "manifest.json"
    manifest = manifest_path.read_text()
    more = [f"queries/counts/checkpoint/state/0/9/{number}.delta" for number in range(files)]
    for path in more:
        full = folder / "savepoints" / SP / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(os.urandom(file_bytes))
    listed = ",".join(f'{{"path": "{path}", "bytes": {file_bytes}}}' for path in more)
    manifest_path.write_text(manifest.replace('"files": [', f'"files": [{listed},', 1) if '"files": [' in manifest else manifest)
    os.sync()
    checksums.seal(bench.library, SP, NOW_MS)
    assert delta.exists()
    return bench


def alternate(prepare: Callable[[], None], *calls: Callable[[], None]) -> list[float]:
    """The median seconds of each of `calls`, taken in turn, so that the machine's drift meets all alike."""
    took: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, seconds in zip(calls, took, strict=True):
            prepare()
            began = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - began)
    return [statistics.median(seconds) for seconds in took]


def forget(paths: list[Path]) -> None:
    """Out of the page cache, without being root."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def read_all(paths: list[Path]) -> None:
    with open(os.devnull, "wb") as nowhere:
        subprocess.run(["xargs", "-0", "cat"], input=b"\0".join(os.fsencode(path) for path in paths), stdout=nowhere, check=True)


def check(bench: Bench) -> None:
    verification = verified(bench.library, SP, Trust.INTACT, NOW_MS)
    assert verification.reached is Trust.INTACT and verification.bytes > 300 * MEGABYTE
