"""How many progress events a second come from run folders into the catalog, beside Python's own reader of JSON on the same lines.

Run by hand: `python3 -m tests -m bench tests/bench/test_ingestion.py -s`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from pipelines.domain.runs import PROGRESS_FILE
from pipelines.workspace import ingestion
from tests.workspace.conftest import House

pytestmark = pytest.mark.bench
RUNS, EVENTS = 50, 1_000
LIMIT = 20_000
EVENT = Path(__file__).parents[1] / "golden" / "workspace" / "2"


def lines(job: str) -> list[str]:
    """Events of one run: those of a window on the HDFS-backed store, 1.4 kB each."""
    event = json.loads(next(EVENT.rglob(PROGRESS_FILE)).read_text().splitlines()[-1])
    began = datetime(2026, 11, 20)
    told = (
        {"id": job, "runId": job, "batchId": batch, "timestamp": f"{(began + timedelta(seconds=batch)).isoformat()}.000Z"}
        for batch in range(EVENTS)
    )
    return [json.dumps(event | fields) + "\n" for fields in told]


def rate(work: Callable[[], object]) -> tuple[float, float]:
    """Events a second of the clock, and of a processor."""
    began, cpu = time.perf_counter(), time.process_time()
    work()
    return RUNS * EVENTS / (time.perf_counter() - began), RUNS * EVENTS / (time.process_time() - cpu)


def test_progress_of_many_runs(tmp_path: Path) -> None:
    house = House(tmp_path / "ws")
    context, written = house.face.context, []
    runs = [house.ran(f"job-{number}", "stateless") for number in range(RUNS)]
    for run in runs:
        written += (told := lines(run.job))
        house.append(run, PROGRESS_FILE, "".join(told))
    files = [file for run in runs for file in ingestion.of_run(context, run.job, run.id)]
    by_clock, by_cpu = rate(lambda: ingestion.follow(context, files))
    _, bare = rate(lambda: [json.loads(line) for line in written])
    with context.catalog.reading() as reader:
        counted = reader.execute("SELECT count(*) FROM progress").fetchall()
    house.face.close()
    print(f"\n{by_clock:,.0f} events a second of the clock ({by_clock / LIMIT:.2f} of the {LIMIT:,} expected), ", end="")
    print(f"{by_cpu:,.0f} of a processor: {bare / by_cpu:.1f} times as long as Python's own reader of JSON takes for the same lines")
    assert counted[0][0] >= RUNS * EVENTS
