"""How fast the catalog takes rows and answers, with a million batches of a hundred jobs, and how fast it compares outputs.

Run by hand: `python -m pytest tests/bench/test_catalog.py -m bench -s`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.catalog import batches, health, jobs, operators, progress, query_figures, runs, series, summaries
from pipelines.catalog.connection import Catalog
from pipelines.catalog.opening import open_catalog
from pipelines.catalog.outputs import compare
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.operators import OperatorProgress
from tests.catalog.making import batch, job, run

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]

JOBS, BATCHES, STEP_MS = 100, 10_000, 2_000
END_MS = BATCHES * STEP_MS
KEPT = (OperatorProgress("stateStoreSave", 500, 10, 5, 0, 4500, 5, 6, 7, 4, 4, {"rocksdbSstFileSize": 3788, "rocksdbBytesCopied": 12}),) * 2

_OPERATOR = """{'name': 'stateStoreSave', 'rows': 500 + b % 100, 'updated': 10, 'removed': 5, 'late_rows': 0,
 'memory_bytes': 4500 + hash(b, j) % 1000, 'update_ms': 5, 'removal_ms': 6, 'commit_ms': 7, 'partitions': 4, 'stores': 4,
 'custom': MAP {'rocksdbSstFileSize': 3788, 'rocksdbBytesCopied': b}}"""
_MILLION = """
INSERT INTO progress BY NAME
SELECT 'job-' || j AS job, 'r-' || j AS run, 'q' AS query, 'id' AS query_id, 's' AS spark_run_id, b AS batch, b * $step AS at_ms,
       400 + (hash(b, j) % 200) AS batch_ms, 100 AS input_rows, (hash(j, b) % 1000) AS input_rate, 500 AS processed_rate,
       300 AS add_batch_ms, 1 AS get_batch_ms, 2 AS latest_offset_ms, 3 AS planning_ms, 4 AS wal_commit_ms, 5 AS commit_offsets_ms,
       b * $step - 9000 AS watermark_ms, b * $step - 1000 AS event_max_ms, 0 AS late_rows, 1000 AS state_rows, 9000 AS state_bytes,
       '[{"description":"FileStreamSource","startOffset":{"logOffset":1},"endOffset":{"logOffset":2},"numInputRows":100}]' AS sources,
       [{{operator}}, {{operator}}] AS operators,
       [{'source': 0, 'name': 'KafkaV2[Subscribe[clicks]]', 'amount': b % 1000, 'unit': 'rows'}] AS backlog
FROM range($batches) AS bs(b), range($jobs) AS js(j) ORDER BY b
""".replace("{{operator}}", _OPERATOR)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    catalog = open_catalog(tmp_path_factory.mktemp("catalog") / "catalog.duckdb")
    with catalog.writing() as writer:
        jobs.save(writer, [job(f"job-{n}") for n in range(JOBS)])
        runs.save(writer, [run(f"r-{n}", f"job-{n}") for n in range(JOBS)])
        writer.execute(_MILLION, {"step": STEP_MS, "batches": BATCHES, "jobs": JOBS})
        newest = [batch(BATCHES, END_MS, event_max_ms=END_MS)[2] for _ in range(JOBS)]
        progress.append(writer, [(JobName(f"job-{n}"), RunId(f"r-{n}"), line, "[]") for n, line in enumerate(newest)])
    yield catalog
    catalog.close()


def measured(what: str, work: Callable[[], object], times: int = 20) -> float:
    """Median wall and mean CPU time of `work` in ms, printed."""
    work()
    walls, cpu = [], time.process_time()
    for _ in range(times):
        begun = time.perf_counter()
        work()
        walls.append((time.perf_counter() - begun) * 1000)
    median = sorted(walls)[times // 2]
    print(f"\n{what}: {median:.1f} ms wall (median), {(time.process_time() - cpu) * 1000 / times:.1f} ms CPU", end="")
    return median


def test_queries_at_a_million_rows(full: Catalog) -> None:
    with full.reading() as reader:
        overview = summaries.listed(reader, END_MS)
        questions: dict[str, Callable[[], object]] = {
            "overview of 100 jobs": lambda: summaries.listed(reader, END_MS),
            "queries of 100 jobs": lambda: query_figures.newest(reader, END_MS, overview),
            "one job": lambda: summaries.detail(reader, END_MS, "job-5"),
            "health": lambda: health.health(reader, END_MS),
            "operators of one job": lambda: operators.newest(reader, JobName("job-5")),
            "series of 15 minutes": lambda: series.series(reader, "job-5", from_ms=END_MS - 900_000, to_ms=END_MS),
            "series of all 10,000 batches": lambda: series.series(reader, "job-5", from_ms=0, to_ms=END_MS),
            "event series": lambda: series.event_series(reader, "job-5"),
            "100 newest batches": lambda: batches.newest(reader, "job-5"),
        }
        slowest = max(measured(what, ask) for what, ask in questions.items())
    assert slowest < 1000


@pytest.mark.parametrize("rows", [1, 100, 1000, 10_000])
def test_appending_to_a_million_rows(full: Catalog, rows: int) -> None:
    made = iter(range(10**9))

    def append() -> None:
        first = END_MS + rows * 1000 * next(made)
        name = JobName(f"appended-{rows}")
        with full.writing() as writer:
            progress.append(writer, [(name, RunId(f"r-{rows}"), batch(first + n, first + n, operators=KEPT)[2], "[]") for n in range(rows)])

    taken = measured(f"append {rows} rows", append, times=5)
    print(f" = {rows / taken * 1000:,.0f} rows/s")


@pytest.mark.parametrize("rows", [1_000_000, 3_000_000])
def test_comparing_outputs(tmp_path: Path, rows: int) -> None:
    def side(name: str, views_of_last: int) -> list[str]:
        ids, minutes = pa.array(range(rows)), pa.array([n // 1000 * 60_000 for n in range(rows)], pa.timestamp("ms"))
        views = pa.array([*range(rows - 1), views_of_last])
        pq.write_table(pa.table({"window_end": minutes, "post_id": ids, "views": views, "clicks": views}), tmp_path / name)
        return [str(tmp_path / name)]

    a, b = side("a", 1), side("b", 2)
    measured(f"compare {rows:,} rows with {rows:,}", lambda: compare(a, b), times=1)
    assert compare(a, b).changed == 1
