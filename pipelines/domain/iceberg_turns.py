"""What becomes of a branch of an Iceberg table before its query starts: it is made, emptied, or taken to another snapshot. Pure."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pipelines.domain import iceberg
from pipelines.domain.iceberg import DELETE, MAIN, Snapshot, Table

TURN_FORMAT = 1
TURN_FILE = "branch.json"
"""In a query's folder of `RunSpec.sink_logs`: a `Turn`."""


class Kind(enum.StrEnum):
    """Why a branch turns."""

    FORK = "fork"
    """A fork's branch begins at the savepoint's snapshot."""
    FRESH = "fresh"
    """A fork's branch begins without rows."""
    BACK = "back"
    """The branch goes back to the savepoint's snapshot."""
    ADOPT = "adopt"
    """The branch becomes what its variant's is."""


@dataclass(frozen=True)
class Turn:
    """The branch of the table `table` (its uuid) goes to `snapshot`; None for a fresh one that begins wherever the table stands.

    `batch` of the query is the last that it has then. Where it goes back or adopts, nobody but the query may have changed its rows since
    the snapshot `since`.
    """

    format: int
    kind: Kind
    table: str
    branch: str
    snapshot: int | None
    query_id: str = ""
    batch: int = -1
    since: int | None = None


class Step(enum.StrEnum):
    """What is left to do."""

    NOTHING = "nothing"
    CREATE = "create"
    SET = "set"


def step(table: Table, turn: Turn) -> Step:
    """What the turn needs as the table is now; the same is asked after a crash."""
    head = table.branches.get(turn.branch)
    if turn.kind in (Kind.FORK, Kind.FRESH):
        return Step.CREATE if head is None else Step.NOTHING
    return Step.NOTHING if is_there(table, turn) else Step.SET


def is_there(table: Table, turn: Turn) -> bool:
    """Whether the branch is so already; one that goes back also where the query has written nothing since, whatever others did."""
    if turn.kind is Kind.ADOPT:
        return table.branches.get(turn.branch) == turn.snapshot
    line = {snapshot.id for snapshot in table.of_branch(turn.branch)}
    return turn.snapshot in line and iceberg.newest_batch(table, turn.branch, turn.query_id) <= turn.batch


def hindrance(table: Table, turn: Turn) -> str:
    """Why the turn cannot be made; empty where it can, or is."""
    if table.uuid != turn.table:
        return "another table is there"
    if turn.snapshot is not None and turn.snapshot not in table.snapshots:
        return f"its snapshot {turn.snapshot} has expired"
    if turn.kind in (Kind.FORK, Kind.FRESH):
        return _taken(table, turn)
    if is_there(table, turn):
        return ""
    if turn.snapshot is None or turn.since is None:
        return "it had no snapshot yet"
    if turn.branch != MAIN and iceberg.newest_batch(table, MAIN, turn.query_id) > turn.batch:
        return f"{MAIN} has later batches of the query since a promotion, and Iceberg would skip those, which it looks for there"
    return iceberg.changed_by_others(table, table.branches.get(turn.branch), turn.since, turn.query_id)


def _taken(table: Table, turn: Turn) -> str:
    """A branch that is there is the fork's own only where it is as the turn leaves it, or left it halfway."""
    head = table.branches.get(turn.branch)
    if head is None or head == turn.snapshot or (turn.kind is Kind.FRESH and _is_emptied(table.snapshots.get(head), turn)):
        return ""
    return f"it has a branch {turn.branch} already"


def _is_emptied(newest: Snapshot | None, turn: Turn) -> bool:
    return newest is not None and newest.parent == turn.snapshot and (newest.operation == DELETE or newest.parent is None)
