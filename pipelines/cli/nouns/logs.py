"""A driver's log on the shell: printed, followed while its run lives, searched, with another level; and its event log."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from pipelines.cli import output
from pipelines.cli.additions import Shown, command, shows
from pipelines.cli.descriptions import describes
from pipelines.cli.session import POLL_SECONDS, Here
from pipelines.cli.words import JobNamed
from pipelines.domain.errors import Invalid
from pipelines.domain.log_levels import LogLevels
from pipelines.domain.logs import LogChunk, LogEntry, LogLevel, LogSearch
from pipelines.verbs.history import HistoryPlace, OpenHistory
from pipelines.verbs.jobs import ReadLog, SearchLog, ShowJob
from pipelines.verbs.log_level import SetLogLevel
from pipelines.words import formats, log_levels

LEVELS = {**{level.value: level for level in LogLevel}, "warn": LogLevel.WARNING, "all": LogLevel.OTHER}
MOST = 5_000


def _level(text: str) -> LogLevel:
    """`WARN`, `warning`, `ERROR`, of any case."""
    level = LEVELS.get(text.casefold())
    if level is None:
        raise Invalid("logs.level", f"{text!r} is no level", "Write FATAL, ERROR, WARN, INFO, DEBUG, TRACE or ALL.")
    return level


@command("logs", "jobs")
def logs(
    here: Here,
    job: JobNamed,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on printing until the run ends; with --json a chunk a line.")] = False,
    run: Annotated[str, typer.Option("--run", metavar="RUN", help="Id of a run; the newest one if not given.", show_default=False)] = "",
    whole: Annotated[bool, typer.Option("--all", help="Print it from the beginning, not only the last 20 kB.")] = False,
    level: Annotated[
        str, typer.Option("--level", metavar="LEVEL", help="Only entries of this level or worse: FATAL, ERROR, WARN, INFO, DEBUG or TRACE.")
    ] = "ALL",
    text: Annotated[str, typer.Option("--grep", metavar="TEXT", help="Only entries with these words, of any case.")] = "",
) -> None:
    """Print a job's driver log."""
    log_level = _level(level)
    if text or log_level is not LogLevel.OTHER:
        _entries(here, SearchLog(job, run, text, log_level, limit=MOST), follow=follow)
        return
    offset = 0 if whole else -20_000
    while True:
        live = follow and _is_live(here, job, run)
        chunk = here.face.ask(ReadLog(job, run, offset))
        if offset == 0 and chunk.begin:
            output.tell(f"its first {formats.size(chunk.begin)} are not kept any more")
        _print_chunk(chunk, here.as_json)
        run, offset = chunk.run, chunk.next_offset
        if not live and (offset >= chunk.size or not (whole or follow)):
            return
        if live and not chunk.text:
            here.session.sleep(POLL_SECONDS)
            here.session.tick()


def _entries(here: Here, question: SearchLog, *, follow: bool) -> None:
    """Prints the entries that fit, and goes on while the run lives. The last one waits for the next look: its stack trace may not be
    written yet."""
    held = None
    while True:
        live = follow and _is_live(here, question.job, question.run)
        search = here.face.ask(question)
        last = search.entries[-1].offset if search.entries else None
        waits = live and last is not None and last != held
        for entry in search.entries[:-1] if waits else search.entries:
            _print_entry(entry, here.as_json)
        if not live:
            return
        held = last if waits else None
        question = replace(question, run=search.run, offset=search.size if held is None else held)
        here.session.sleep(POLL_SECONDS)
        here.session.tick()


def _print_entry(entry: LogEntry, as_json: bool) -> None:
    if as_json:
        output.print_json(entry, indent=None)
    else:
        output.print_text(f"{entry.text}\n")


@shows(SearchLog)
def _searched(here: Here, question: SearchLog, search: LogSearch) -> str:
    counts = f"{formats.plural(search.errors, 'error')}, {formats.plural(search.warnings, 'warning')} in {formats.size(search.size)}"
    begin = f"; searched from byte {search.begin:,} on" if search.begin else ""
    output.tell(f"{search.fits:,} fit, {len(search.entries):,} shown; {counts}{begin}")
    return "\n".join(entry.text for entry in search.entries)


@describes(LogLevels)
def levels_text(levels: LogLevels, now_ms: int) -> str:
    """A line a logger whose level was changed, and since when."""
    return "\n".join(log_levels.lines(levels, now_ms))


@shows(SetLogLevel)
def _level_set(here: Here, change: SetLogLevel, levels: LogLevels) -> None:
    output.tell(log_levels.ENDS)


@shows(OpenHistory)
def _opened(here: Here, change: OpenHistory, place: HistoryPlace) -> Shown:
    output.tell(f"It answers on the server's machine alone; from another one: {place.tunnel}")
    return Shown(place, change.prints.format(place))


def _is_live(here: Here, job: str, run: str) -> bool:
    """Whether the run whose log is followed (the newest unless named) may still write."""
    runs = here.face.ask(ShowJob(job)).runs
    return any(followed.state.live for followed in (runs[:1] if not run else runs) if run in ("", followed.id))


def _print_chunk(chunk: LogChunk, as_json: bool) -> None:
    if as_json:
        output.print_json(chunk, indent=None)
    else:
        output.print_text(chunk.text)
