"""Driver logs: a piece at a time, and searched. The values of confs that are secrets are not shown, whoever printed them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

from pipelines.domain import logs, secrets
from pipelines.domain.errors import NotFound
from pipelines.domain.ids import RunId
from pipelines.domain.logs import LogChunk, LogSearch, Wanted
from pipelines.domain.runs import LOG_FILE
from pipelines.sandbox import secret_values
from pipelines.storage import fronts
from pipelines.verbs.jobs import ReadLog, SearchLog
from pipelines.workspace import runs
from pipelines.workspace.context import Context
from pipelines.workspace.doers import answers

MOST_SEARCHED_BYTES = 64_000_000
"""Of a longer log only its end is searched."""
MOST_LINE_BYTES = 1_000_000


@answers(ReadLog)
def chunk(context: Context, question: ReadLog) -> LogChunk:
    """Bytes `offset`… of the log of `question.run` (the job's newest unless named); a negative offset counts from the end.

    A piece that begins within a line from the end's side starts at the next line; a character cut in two is left for the next piece. What
    is not kept any more is passed over.
    """
    run, path, secret = _log(context, question.job, question.run)
    offset = question.offset
    if not path.is_file():
        return LogChunk(run, "", 0, 0, 0)
    with path.open("rb") as log:
        size, begin = os.fstat(log.fileno()).st_size, fronts.first_line(log, MOST_LINE_BYTES)
        start = max(begin, min(size, size + offset if offset < 0 else offset))
        data = _read(log, start, min(size, start + question.limit), secret)
        if fronts.begin(log.fileno()) > start:  # freed while it was read
            return chunk(context, question)
    return _cut(run, data, start, size, begin, from_end=offset < 0 and start > begin)


@answers(SearchLog)
def search(context: Context, question: SearchLog) -> LogSearch:
    """Entries of the log that fit; their times are those of this machine, where its driver runs."""
    run, path, secret = _log(context, question.job, question.run)
    query = Wanted(question.text, question.level, question.from_ms, question.to_ms)
    if not path.is_file():
        return logs.search((), query, question.limit, run)
    size = path.stat().st_size
    with path.open("rb") as log:
        log.seek(min(size, max(question.offset, size - MOST_SEARCHED_BYTES, fronts.begin(log.fileno()))))
        begin = log.tell() + (len(log.readline(MOST_LINE_BYTES)) if log.tell() > question.offset else 0)
        lines = (secrets.starred(line, secret) for line in iter(partial(log.readline, MOST_LINE_BYTES), b""))
        return logs.search(lines, query, question.limit, run, begin=begin, size=size)


def _read(log: BinaryIO, start: int, end: int, secret: Sequence[bytes]) -> bytes:
    """The bytes from `start` to `end` without secrets, also where one of those begins before or ends behind them."""
    around = max(map(len, secret), default=0)
    first = max(0, start - around)
    log.seek(first)
    data = secrets.starred(log.read(end + around - first), secret)
    return data[start - first : end - first]


def _log(context: Context, job: str, run: str) -> tuple[RunId, Path, Sequence[bytes]]:
    """The run of the job (the newest unless named), where its log is, and what must not be shown of it."""
    name = runs.known(context, job)
    chosen = runs.named_run(context, name, run) if run else runs.newest(context, name)
    if chosen is None:
        raise NotFound("run.not_found", f"Job {name} never ran", "Resume it to start a run.")
    version = context.files.version(chosen.version)
    return chosen.id, context.layout.run(name, chosen.id) / LOG_FILE, secret_values.hidden(version.conf, version.args) if version else ()


def _cut(run: RunId, data: bytes, start: int, size: int, begin: int, *, from_end: bool) -> LogChunk:
    if from_end and b"\n" in data:
        skipped = data.index(b"\n") + 1
        start, data = start + skipped, data[skipped:]
    whole = _whole_characters(data)
    return LogChunk(run, whole.decode("utf-8", "replace"), start, start + len(whole), size, begin)


def _whole_characters(data: bytes) -> bytes:
    """`data` without an incomplete UTF-8 character at its end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0b1100_0000 == 0b1100_0000:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if length > back else data
        if byte < 0x80:
            return data
    return data
