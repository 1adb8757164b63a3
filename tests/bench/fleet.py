"""A large workspace that nobody runs: 500 jobs, a day of their batches, 1,500 savepoints with their files, a past of events.

`python -m tests.bench.fleet WORKSPACE --batches 20000` makes it where it is not there, and serves its pages on a port of its own.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pipelines.catalog import events, jobs, progress, runs, savepoints, sizes, versions
from pipelines.catalog.connection import Catalog, Writer
from pipelines.catalog.opening import open_catalog
from pipelines.domain.ids import JobName, RunId, SavepointId, VersionId
from pipelines.domain.jobs import Event, Origin, QuerySeen, Run
from pipelines.domain.runs import Exit, RunState
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.domain.versions import Version, version
from pipelines.storage.layout import Layout
from pipelines.workspace.context import Context
from pipelines.workspace.files import Files
from pipelines.workspace.opening import wall_clock_ms
from pipelines.workspace.workspace import Workspace
from tests.catalog.making import batch, job, run, savepoint

JOBS = 500
DAY_MS = 86_400_000
SAVEPOINTS, FILES_EACH = 1_500, 40
EVENTS = 20_000

_BATCHES = """
INSERT INTO progress BY NAME
SELECT format('job-{:03d}', j) AS job, format('r-{:03d}', j) AS run, 'q' AS query, 'id' AS query_id, 's' AS spark_run_id, b AS batch,
       $begin + b * $step AS at_ms, 400 + (hash(b, j) % 200) AS batch_ms, 100 AS input_rows, (hash(j, b) % 1000) AS input_rate,
       500 AS processed_rate, 300 AS add_batch_ms, 1 AS get_batch_ms, 2 AS latest_offset_ms, 3 AS planning_ms, 4 AS wal_commit_ms,
       5 AS commit_offsets_ms, $begin + b * $step - 9000 AS watermark_ms, $begin + b * $step - 1000 AS event_max_ms, 0 AS late_rows,
       1000 + b AS state_rows, 9000 AS state_bytes,
       '[{"description":"FileStreamSource","startOffset":{"logOffset":1},"endOffset":{"logOffset":2},"numInputRows":100}]' AS sources
FROM range($batches) AS bs(b), range($jobs) AS js(j) ORDER BY b
"""


def name_of(number: int) -> JobName:
    return JobName(f"job-{number:03d}")


def open_fleet(root: Path, batches: int) -> Workspace:
    """The workspace in `root`, made with `batches` batches of each job up to now if it is not there."""
    layout = Layout(root.resolve())
    made = layout.catalog_file.exists()
    root.mkdir(parents=True, exist_ok=True)
    catalog = open_catalog(layout.catalog_file)
    if not made:
        _make(catalog, layout, batches, wall_clock_ms())
    return Workspace(Context(layout, Files(layout), catalog, wall_clock_ms, os.urandom))


def _make(catalog: Catalog, layout: Layout, batches: int, now_ms: int) -> None:
    made = [version(f"job_{n}.py", f"print({n})\n") for n in range(JOBS)]
    with catalog.writing() as writer:
        versions.save(writer, made)
        _jobs(writer, layout, made, now_ms)
        _measurements(writer, batches, now_ms)
        events.append(writer, [_event(number, now_ms) for number in range(EVENTS)])
    taken = [_savepoint(number, made, layout, now_ms) for number in range(SAVEPOINTS)]
    with catalog.writing() as writer:
        savepoints.save(writer, taken)
        writer.execute("COMMIT; CHECKPOINT; BEGIN")


def _jobs(writer: Writer, layout: Layout, made: Sequence[Version], now_ms: int) -> None:
    begun = now_ms - DAY_MS
    jobs.save(writer, [job(name_of(n), begun, _origin(n)) for n in range(JOBS)])
    runs.save(writer, [_run(n, made[n].id, begun, now_ms) for n in range(JOBS)])
    seen = QuerySeen("q", "id", "parquet", "/out", "/checkpoint", "")
    runs.save_queries(writer, [(name_of(n), RunId(f"r-{n:03d}"), seen) for n in range(JOBS)])
    for n in range(JOBS):
        path = layout.wanted_file(name_of(n))
        path.parent.mkdir(parents=True)
        path.write_text("{}")


def _origin(number: int) -> Origin | None:
    """Of ten jobs three are forks of the first of them."""
    first = number - number % 10
    return Origin(SavepointId(f"sp-{first:012d}"), name_of(first)) if 0 < number % 10 < 4 else None


def _run(number: int, of: VersionId, begun: int, now_ms: int) -> Run:
    """Every fiftieth has failed, every fortieth has stopped."""
    new_run = replace(run(f"r-{number:03d}", name_of(number), created_ms=begun), version=of)
    if number % 50 == 7:
        return replace(new_run, state=RunState.FAILED, ended_ms=now_ms, exit=Exit("failed", 1, "OUT_OF_MEMORY", "Java heap space", now_ms))
    return replace(new_run, state=RunState.STOPPED, ended_ms=now_ms) if number % 40 == 3 else new_run


def _measurements(writer: Writer, batches: int, now_ms: int) -> None:
    step = DAY_MS // batches
    begin = now_ms - step * batches
    writer.execute(_BATCHES, {"begin": begin, "step": step, "batches": batches, "jobs": JOBS})
    newest = batch(batches, now_ms, event_max_ms=now_ms - 1_000, state_rows=1_000, state_bytes=9_000)[2]
    progress.append(writer, [(name_of(n), RunId(f"r-{n:03d}"), newest, "[]") for n in range(JOBS)])
    sizes.append(
        writer,
        [
            sizes.CheckpointSize(name_of(n), RunId(f"r-{n:03d}"), now_ms - DAY_MS + moment * 600_000, 2_000_000 + n, 1_000, 1_000, 1_000)
            for n in range(JOBS)
            for moment in range(145)
        ],
    )


def _event(number: int, now_ms: int) -> Event:
    kind = ("savepoint.taken", "run.started", "run.failed", "sink.mended")[number % 4]
    return Event(now_ms - (EVENTS - number) * 4_000, kind, name_of(number % JOBS), f"sp-{number:012d}", f"event {number}")


def _savepoint(number: int, made: Sequence[Version], layout: Layout, now_ms: int) -> Savepoint:
    """With its files: some of its own, and the rest hard links of the one before, as savepoints of one job share them."""
    new_savepoint = savepoint(
        f"sp-{number:012d}", name_of(number % JOBS), now_ms - (SAVEPOINTS - number) * 50_000, bytes=4_000_000 + number
    )
    folder = layout.savepoint(SavepointId(new_savepoint.id))
    folder.mkdir(parents=True)
    for file in range(FILES_EACH):
        path = folder / f"{file}.sst"
        before = layout.savepoint(SavepointId(f"sp-{number - 1:012d}")) / path.name
        if file < 2 or not number % 100:
            path.write_bytes(bytes(100))
        else:
            os.link(before, path)
    return replace(new_savepoint, version=made[number % JOBS].id, path=str(folder), reason=Reason.MANUAL if number % 3 else Reason.STOP)


def main() -> None:
    """Serves until it is told to end."""
    import uvicorn

    from dashboard import server, session
    from pipelines.api.app import create_api
    from pipelines.domain.access import Access
    from tests.entering import TOKEN

    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("workspace", type=Path)
    asked.add_argument("--batches", type=int, default=20_000, help="of each of the 500 jobs")
    asked.add_argument("--port", type=int, default=0)
    given = asked.parse_args()
    workspace = open_fleet(given.workspace, given.batches)
    session.open_with(workspace)
    server.api.app, server.api.access = create_api(workspace), Access(TOKEN)
    with server.listening("127.0.0.1", given.port) as bound:
        print(f"serves {server.api.reach.local_url(bound.getsockname()[1])}", flush=True)
        uvicorn.Server(uvicorn.Config(server.app, ws="websockets-sansio", log_level="warning")).run(sockets=[bound])


if __name__ == "__main__":
    main()
