"""Ingestion: whole new lines of growing files into the catalog, each once, with the position reached in the same transaction.

A torn last line waits for its rest. What was freed at the front of a file is passed over. A line that nobody of ours wrote becomes one
event, and reading goes on behind it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from pipelines.catalog import events as event_rows
from pipelines.catalog import file_positions as position_rows
from pipelines.catalog import idle as idle_rows
from pipelines.catalog import progress as progress_rows
from pipelines.catalog import runs as run_rows
from pipelines.catalog import sizes as size_rows
from pipelines.catalog.connection import Writer
from pipelines.catalog.idle import IdleMoment
from pipelines.catalog.sizes import CheckpointSize
from pipelines.domain.errors import Corrupt
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.jobs import Event, QuerySeen
from pipelines.domain.progress import Progress
from pipelines.domain.runs import EVENTS_FILE, IDLE_FILE, PROGRESS_FILE, QUERIES_FILE, QueryStarted
from pipelines.savepoint.gc_pause import gc_paused
from pipelines.storage import fronts, handover
from pipelines.storage.layout import Layout
from pipelines.storage.lines import LONGEST_BYTES
from pipelines.workspace import json_lines
from pipelines.workspace.context import Context

SIZES_FILE = "sizes.jsonl"
"""Sizes of the run's checkpoints, a sample a line; the supervisor appends them."""
MALFORMED = "file.malformed"
"""The event of a line that nobody of ours wrote; in the catalog alone."""
CHUNK_BYTES = 4 * 1024 * 1024
ROUND_BYTES = 32 * 1024 * 1024
"""About so much of all files is read at once: 500 runs that a server finds after a night would not fit into its memory."""


@dataclass(frozen=True)
class GrowingFile:
    """A growing file; of a run, or (without one) the workspace's own events."""

    path: Path
    name: str
    """Relative to the workspace: what its position is kept under."""
    job: JobName | None = None
    run: RunId | None = None


@dataclass
class NewLines:
    """The content of new lines, not yet in the catalog."""

    progress: list[tuple[JobName, RunId, Progress, str]] = field(default_factory=list)
    queries: list[tuple[JobName, RunId, QueryStarted]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    sizes: list[CheckpointSize] = field(default_factory=list)
    idle: list[IdleMoment] = field(default_factory=list)
    reached: dict[str, int] = field(default_factory=dict)
    has_more: bool = False
    """Whether the files held more than was read at once."""


def workspace_events(context: Context) -> None:
    follow(context, [of_workspace(context)])


def of_workspace(context: Context) -> GrowingFile:
    """Its own events."""
    return GrowingFile(context.layout.events_file, _name(context.layout, context.layout.events_file))


def of_run(context: Context, job: JobName, run: RunId) -> Sequence[GrowingFile]:
    """A run's files, queries first: the catalog then knows them when their progress comes."""
    return _of_run(context.layout, job, run)


@lru_cache(maxsize=4_096)
def _of_run(layout: Layout, job: JobName, run: RunId) -> Sequence[GrowingFile]:
    """Cached: each pass asks for those of all live runs, and paths are slow to make."""
    folder = layout.run(job, run)
    names = (QUERIES_FILE, EVENTS_FILE, PROGRESS_FILE, IDLE_FILE, SIZES_FILE)
    return tuple(GrowingFile(folder / name, _name(layout, folder / name), job, run) for name in names)


def _name(layout: Layout, path: Path) -> str:
    return path.relative_to(layout.root).as_posix()


def everything(context: Context) -> list[GrowingFile]:
    """All growing files of the workspace."""
    ran = [(job, run) for job in context.files.job_names() for run in context.files.run_ids(job)]
    return [of_workspace(context), *(source for job, run in ran for source in of_run(context, job, run))]


def go_on(context: Context) -> None:
    """Takes the positions of the catalog. A file that is shorter than its position is another one by now, and begins anew."""
    with context.catalog.reading() as reader:
        for name, at in position_rows.positions(reader).items():
            path = context.layout.root / name
            if not path.is_file() or path.stat().st_size >= at:
                context.file_positions[name] = at


def follow(context: Context, sources: Sequence[GrowingFile]) -> None:
    """Brings what is new in `sources` into the catalog. What comes while they are read waits for the next call: files that others
    write to all the time have no end."""
    with context.ingesting:
        while _has_more(context, sources):
            pass


def _has_more(context: Context, sources: Sequence[GrowingFile]) -> bool:
    """Brings a round of new lines. Among so many values a search for garbage would take a fifth of the time."""
    with gc_paused():
        lines = read(context, sources, context.file_positions)
        if lines.reached:
            with context.catalog.writing(only_figures=not lines.queries and not lines.events) as writer:
                record(writer, lines)
            context.file_positions.update(lines.reached)
    return lines.has_more


def leave(context: Context, folder: str) -> None:
    """Forgets the positions in files below `folder` (relative, ending with '/'), which are gone."""
    with context.ingesting:
        for name in [name for name in context.file_positions if name.startswith(folder)]:
            del context.file_positions[name]


def read(context: Context, sources: Iterable[GrowingFile], places: Mapping[str, int]) -> NewLines:
    """New whole lines of `sources` past `places`, at most a chunk of each, and about a round of all."""
    lines, left = NewLines(), ROUND_BYTES
    for source in sources:
        at, chunk, goes_on = _whole_lines(source.path, places.get(source.name, 0))
        if chunk:
            lines.reached[source.name] = at + len(chunk)
            lines.has_more |= goes_on
            _interpret(context, source, chunk, at, lines)
            left -= len(chunk)
        if left <= 0:
            lines.has_more = True
            break
    return lines


def record(writer: Writer, lines: NewLines) -> None:
    for job, run, started in lines.queries:
        _note_query(writer, job, run, started)
    progress_rows.append(writer, lines.progress)
    event_rows.append(writer, lines.events)
    size_rows.append(writer, lines.sizes)
    idle_rows.append(writer, lines.idle)
    position_rows.advance(writer, lines.reached)


def _note_query(writer: Writer, job: JobName, run: RunId, started: QueryStarted) -> None:
    told = (
        started.query,
        started.query_id,
        started.sink,
        started.sink_path,
        started.checkpoint,
        started.ui_url,
        started.trigger,
        started.sink_table,
        started.sink_options,
    )
    query = QuerySeen(*told)
    run_rows.save_queries(writer, [(job, run, query)])
    known_run = run_rows.find(writer, run)
    if known_run is not None:
        run_rows.save(writer, [replace(known_run, spark_version=started.spark_version, ui_url=started.ui_url)])


def _whole_lines(path: Path, at: int) -> tuple[int, bytes, bool]:
    """Where the first line from `at` on begins that is there still; the bytes from there up to the last end of a line in the next chunk
    (more than a chunk where one line is longer); whether the file goes on behind that chunk."""
    try:
        if os.stat(path).st_size <= at:
            return at, b"", False
        with open(path, "rb", opener=handover.plain_opener) as file:
            begin = fronts.from_line(file, at, LONGEST_BYTES)
            data = file.read(CHUNK_BYTES)
            while b"\n" not in data and (more := file.read(CHUNK_BYTES)):
                data = data.lstrip(b"\0") + more  # of a front that is freed just now, or that a copy has filled with zeros, nothing is held
            if fronts.begin(file.fileno()) > begin:
                return _whole_lines(path, at)
            begin = file.tell() - len(data)
    except (FileNotFoundError, IsADirectoryError):
        return at, b"", False
    return begin, data[: data.rfind(b"\n") + 1], len(data) >= CHUNK_BYTES


def _interpret(context: Context, source: GrowingFile, chunk: bytes, at: int, lines: NewLines) -> None:
    add = _reader(source, lines)
    for line in chunk.splitlines(keepends=True):
        try:
            add(line)
        except Corrupt as error:
            message = f"{source.path.name}, byte {at}: not a line that Tidemark writes ({error.message}); skipped"
            lines.events.append(Event(context.now_ms(), MALFORMED, source.job, source.run or "", message))
        at += len(line)


def _reader(source: GrowingFile, lines: NewLines) -> Callable[[bytes], None]:
    """What reads a line of `source` and adds it to `lines`."""
    job, run, name = source.job, source.run, source.path.name
    if job is None or run is None:
        return lambda line: lines.events.append(json_lines.event(line))
    if name == PROGRESS_FILE:
        return lambda line: lines.progress.append((job, run, *json_lines.progress(line)))
    if name == QUERIES_FILE:
        return lambda line: lines.queries.append((job, run, json_lines.query(line)))
    if name == IDLE_FILE:
        return lambda line: lines.idle.append(json_lines.idle(line, job, run))
    if name == EVENTS_FILE:
        return lambda line: lines.events.append(json_lines.driver_event(line, job, run))
    return lambda line: lines.sizes.append(json_lines.size(line, job, run))
