"""Driver logs, a piece at a time."""

from __future__ import annotations

from pipelines.domain.errors import NotFound
from pipelines.domain.ids import RunId
from pipelines.domain.jobs import LogChunk
from pipelines.domain.runs import LOG_FILE
from pipelines.verbs.jobs import ReadLog
from pipelines.workspace import runs
from pipelines.workspace.context import Context
from pipelines.workspace.doers import answers


@answers(ReadLog)
def chunk(context: Context, question: ReadLog) -> LogChunk:
    """Bytes `offset`… of the log of `question.run` (the job's newest unless named); a negative offset counts from the end.

    A piece that begins within a line from the end's side starts at the next line; a character cut in two is left for the next piece.
    """
    name, offset = runs.known(context, question.job), question.offset
    newest = runs.named_run(context, name, question.run) if question.run else runs.newest(context, name)
    if newest is None:
        raise NotFound("run.not_found", f"Job {name} never ran", "Resume it to start a run.")
    path = context.layout.run(name, newest.id) / LOG_FILE
    if not path.is_file():
        return LogChunk(newest.id, "", 0, 0, 0)
    size = path.stat().st_size
    start = max(0, size + offset) if offset < 0 else min(offset, size)
    with path.open("rb") as log:
        log.seek(start)
        data = log.read(question.limit)
    return _cut(newest.id, data, start, size, from_end=offset < 0 and start > 0)


def _cut(run: RunId, data: bytes, start: int, size: int, *, from_end: bool) -> LogChunk:
    if from_end and b"\n" in data:
        skipped = data.index(b"\n") + 1
        start, data = start + skipped, data[skipped:]
    whole = _whole_characters(data)
    return LogChunk(run, whole.decode("utf-8", "replace"), start, start + len(whole), size)


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
