"""What happens to a query's Iceberg table after a restore: a fork has a branch of its own, a resume goes back, a promotion adopts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from pipelines.domain.iceberg_turns import TURN_FILE, Turn
from pipelines.domain.restores import SinkPlan
from pipelines.domain.savepoints import QueryImage
from pipelines.savepoint import iceberg_tables, sinks
from pipelines.savepoint.sink_places import Arguments, moves
from pipelines.savepoint.sinks import Choice, Decision

ELSEWHERE = "Give the fork another table in its arguments."
ENDS = "Queries that read it as a stream end there, as at any snapshot that removes rows."


@dataclass(frozen=True)
class Turned:
    """What is decided of the table, and what its driver is told of the branch (file name -> content)."""

    decision: Decision
    written: Mapping[str, bytes] = field(default_factory=dict)


def forked(image: QueryImage, arguments: Arguments, choice: Choice) -> Turned:
    """A branch of its own that begins with the savepoint's snapshot, or without rows; unless its arguments name another table."""
    if moves(image, arguments):
        return Turned(sinks.for_fork(image, arguments, choice))
    name, fresh = image.sink_table, choice is Choice.FRESH
    turn = iceberg_tables.fork(image, arguments.job, fresh=fresh)
    if isinstance(turn, str):
        message = f"The fork cannot have a branch of its own of the Iceberg table {name}: {turn}."
        return Turned(sinks.refused(image, "restore.history_gone", message, _hint(image, turn, arguments.job)))
    branch = f"The fork writes to branch {arguments.job} of {name}, whatever branch its code names."
    begins = (
        "It begins empty, without its parent's rows."
        if fresh
        else f"It begins with snapshot {turn.snapshot}, which has the rows up to batch {image.batch}."
    )
    return _turned(sinks.plan(image, "fresh" if fresh else "continue", f"{branch} {begins}"), turn)


def resumed(image: QueryImage) -> Turned:
    """The branch goes back to the savepoint's snapshot, where nobody else has changed its rows since."""
    turn = iceberg_tables.back(image)
    if isinstance(turn, str):
        return Turned(sinks.for_resume(image, turn))
    message = (
        f"Branch {turn.branch} of {image.sink_table} goes back to snapshot {turn.snapshot}, which has batches up to {image.batch} of the "
        f"query: what was written later is cut, and done again. {ENDS}"
    )
    return _turned(sinks.plan(image, "cut", message), turn)


def adopted(image: QueryImage, turn: Turn | str, home: str) -> Turned:
    """The parent's branch becomes what the variant's is."""
    if isinstance(turn, str):
        message = f"The Iceberg table {image.sink_table} cannot become its variant's: {turn}."
        return Turned(sinks.refused(image, "promote.table", message, sinks.OTHERWISE))
    message = (
        f"Branch {turn.branch} of the table in {home} is put to snapshot {turn.snapshot}, which its variant has after batch {image.batch}: "
        f"rows that only the parent wrote are cut, and the query goes on with the next batch. {ENDS}"
    )
    return _turned(replace(sinks.plan(image, "swap", message), path=home), turn)


def _turned(plan: SinkPlan, turn: Turn) -> Turned:
    return Turned(Decision(plan), {TURN_FILE: json.dumps(asdict(turn)).encode()})


def _hint(image: QueryImage, why: str, job: str) -> str:
    if "already" in why:
        return f"Name the fork otherwise, or drop branch {job}."
    return ELSEWHERE if isinstance(iceberg_tables.fork(image, job, fresh=True), str) else sinks.FRESH
