"""Seconds and memory of a comparison of state: ten times the keys take more time, and hardly more memory."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil
import pytest

from pipelines.catalog import state_difference_worker
from pipelines.workers.pool import Pool

pytestmark = [pytest.mark.bench, pytest.mark.timeout(3600)]

MILLIONS = float(os.environ.get("TIDEMARK_BENCH_MILLIONS", "1"))
FLAT = 1.6
"""The peak of ten times the keys is at most so many times the peak of the fewer."""
ROWS = """
    SELECT {{'window': {{'start': epoch_ms(1800000000000 + i // 1000 * 600000)::TIMESTAMPTZ}}, 'post': 'p' || i}} AS key,
           {{'views': (i * 31) % 997 + (CASE WHEN i % {every} = 0 THEN 1 ELSE 0 END), 'share': i / 997.0}} AS value,
           (i * 2654435761) % 8 AS partition_id
    FROM range({first}, {last}) AS numbers(i)
"""


class PeakOf:
    """A watch of a worker's pool that remembers the greatest memory of this process's children."""

    def __init__(self) -> None:
        self.bytes = 0

    def step(self, step: str, total: int = 0) -> None:
        self.advance(0)

    def advance(self, done: int) -> None:
        used = (child.memory_info().rss for child in psutil.Process().children())
        self.bytes = max(self.bytes, *used, 0)


def write(path: Path, keys: int, first: int, every: int) -> list[str]:
    import duckdb

    db = duckdb.connect()
    db.execute(f"SET TimeZone = 'UTC'; COPY ({ROWS.format(first=first, last=first + keys, every=every)}) TO '{path}' (FORMAT parquet)")
    db.close()
    return [str(path)]


def compared(folder: Path, keys: int, several: bool) -> tuple[float, int]:
    """Seconds and peak bytes; a hundredth of the keys is new, a hundredth gone, a seventh changed."""
    folder.mkdir()
    apart = keys // 100
    a, b = write(folder / "a.parquet", keys, 0, 10**9), write(folder / "b.parquet", keys, apart, 7)
    pool, peak = Pool(state_difference_worker.TASK), PeakOf()
    began = time.perf_counter()
    try:
        answer, _ = state_difference_worker.compare(pool, a, b, several, str(folder / "rows.parquet"), peak)
    finally:
        pool.close()
    assert (answer["changes"].added, answer["changes"].removed) == (apart, apart) and answer["changes"].changed > keys // 8
    return time.perf_counter() - began, peak.bytes


@pytest.mark.parametrize("several", [False, True], ids=["a row a key", "rows of a key as lists"])
def test_memory_is_flat_in_the_number_of_keys(tmp_path: Path, several: bool) -> None:
    keys = round(MILLIONS * 1_000_000)
    few_s, few = compared(tmp_path / "few", keys // 10, several)
    many_s, many = compared(tmp_path / "many", keys, several)
    print(f"{keys // 10:,} keys: {few_s:.1f} s, {few / 1e6:.0f} MB; {keys:,}: {many_s:.1f} s, {many / 1e6:.0f} MB")
    assert many <= max(FLAT * few, 700_000_000)
