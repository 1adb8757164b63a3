"""Who judges the rows as of a batch: the user's SQL in DuckDB, or the user's script in a process of its own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

from pipelines.catalog import judging, state_worker
from pipelines.catalog.judging import Rows
from pipelines.domain.bisections import Answer, answer_of
from pipelines.domain.errors import Conflict, Corrupt, Unavailable
from pipelines.domain.states import StateColumn
from pipelines.sandbox import processes
from pipelines.sandbox.states import timeout_s
from pipelines.storage import file_rights, handover, users
from pipelines.words import bisections as words
from pipelines.words import states as state_words
from pipelines.workspace.bisections import named_rows
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket

SCRIPT, LOG = "judge.py", "judge.log"


@dataclass(frozen=True)
class Judged:
    """What a judge said of one batch, and the rows that are wrong: those of the SQL, or those that the script names."""

    answer: Answer
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
    more: bool = False
    words: str = ""
    """The last words of a script, where its answer is not that all is right."""


Judge = Callable[[Rows, int], Judged]
"""Of the rows as of a batch, and its number."""


def by_sql(context: Context, sql: str, examples: int, ticket: Ticket) -> Judge:
    """Wrong where the SQL gives a row."""

    def judge(rows: Rows, batch: int) -> Judged:
        folder = context.layout.sandbox_folder(ticket.operation)
        folder.mkdir(parents=True)
        try:
            output = state_worker.judge(context.state_workers, _light(rows, folder), sql, max(examples, 1))
        finally:
            shutil.rmtree(folder)
        answer = Answer.WRONG if output.rows else Answer.RIGHT
        kept = tuple(tuple(map(_written, row, output.columns)) for row in output.rows[:examples])
        return Judged(answer, tuple(column.name for column in output.columns), kept, output.more or len(kept) < len(output.rows))

    return judge


def _written(value: Any, column: StateColumn) -> Any:
    """A value as it is kept: a moment with its date, in UTC, for the epoch ms say nothing without the column's kind."""
    return state_words.moment(value, column, UTC) if column.kind == "time" and value is not None else value


def _light(rows: Rows, folder: Path) -> Rows:
    """The rows for a process that may take little memory, and has the rights of this one: rows that a job's code names, as another user,
    are copied with that user's."""
    if rows.format == "parquet" and users.other() is None:
        return rows
    handover.prepare(folder)
    light = judging.as_parquet(rows, str(folder / "rows.parquet"))
    handover.take_back(folder)
    if Path(*light.files).is_symlink():
        raise Corrupt("storage.not_a_file", f"{light.files[0]} is a link that a job has made", "Bisect again.")
    return light


def by_script(context: Context, script: str, query: str, examples: int, hidden: Sequence[bytes], ticket: Ticket) -> Judge:
    """As the script's exit code says (`bisections.answer_of`), with the rows that it names; what it says is told without what is
    `hidden`."""

    def judge(rows: Rows, batch: int) -> Judged:
        folder = context.layout.sandbox_folder(ticket.operation)
        folder.mkdir(parents=True)
        try:
            answer = _ran(folder, rows, script, {"TIDEMARK_BATCH": str(batch), "TIDEMARK_QUERY": query}, hidden, ticket)
            if answer is Answer.RIGHT:
                return Judged(answer)
            words = processes.tail(folder / LOG, hidden)
            named = named_rows.read(folder, examples, hidden) if answer is Answer.WRONG else ((), (), False)
            return Judged(answer, *named, words)
        finally:
            shutil.rmtree(folder)

    return judge


def _ran(folder: Path, rows: Rows, script: str, environ: dict[str, str], hidden: Sequence[bytes], ticket: Ticket) -> Answer:
    (folder / SCRIPT).write_text(script)
    file_rights.let_read_rows(rows.files)  # to a script that cannot read them all would be wrong
    _lay(folder / rows.view, rows.files)
    command = [sys.executable, str(folder / SCRIPT)]
    code = processes.run(command, folder, {**os.environ, **environ}, LOG, ticket.check, timeout_s(), hidden=hidden)
    answer = answer_of(code)
    if answer is None:
        ended = f"ended with {code}" if code >= 0 else f"was ended by signal {-code}"
        message = f"The script {ended}, which is no answer.{words.last(processes.tail(folder / LOG, hidden))}"
        raise Conflict("bisect.script", message, "0 means right, 125 cannot say, any other code below 128 wrong.")
    return answer


def _lay(folder: Path, files: tuple[str, ...]) -> None:
    """A link to each file, below its own partitions (`kind=organic/`): files of two folders may have one name."""
    folder.mkdir()
    for number, file in enumerate(files):
        path = Path(file)
        inner = [part for part in path.parts[:-1] if "=" in part]
        place = folder.joinpath(*inner, f"{number:06d}-{path.name}")
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            place.symlink_to(path)
        except OSError as error:
            raise Unavailable("bisect.folder", f"{place} cannot be made: {error.strerror}", "Make room on the workspace's disk.") from error
