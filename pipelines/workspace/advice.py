"""What a diagnosis advises: the next step in plain words, with the command that takes it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.ids import JobName, SavepointId
from pipelines.verbs.shell import COMMAND as RUN

NAMED = 3
"""How many savepoints an advice names at most."""


@dataclass(frozen=True)
class Good:
    """Another savepoint of the job that is whole."""

    id: SavepointId
    points: str
    """Its batches in words: `batch 9`, of several queries each by its name."""


@dataclass(frozen=True)
class Outlook:
    """What a diagnosis of one query found, as far as advice depends on it."""

    findings: int
    needed: bool
    """Whether a retained batch needs one of the damaged files."""
    newest_committed: int | None
    restorable: tuple[int, ...]


def of_job(job: JobName, queries: int, outlook: Outlook, good: Sequence[Good], *, attached: bool = False) -> str:
    """For a live checkpoint of a job with this many queries; an attached one cannot be resumed from here, only forked."""
    start = f"{RUN} fork {{}} --name NAME" if attached else f"{RUN} resume {job} --from {{}}"
    if outlook.newest_committed is None and not outlook.findings:
        return "No batch has committed yet: there is no state to lose."
    if not outlook.findings:
        return f"Nothing is damaged: batches {_span(outlook.restorable)} can be restored."
    if not outlook.needed:
        return f"No retained batch needs what is damaged: batches {_span(outlook.restorable)} can be restored."
    if not outlook.restorable:
        return f"No retained batch can be restored. {_others(good, start)}"
    newest = outlook.restorable[-1]
    if newest == outlook.newest_committed:
        return f"The newest batch, {newest}, can be restored: save it now with `{RUN} savepoint {job}`, before more is lost."
    if queries > 1:
        return f"Batch {newest} is this query's newest that can be restored. {_others(good, start)}"
    keep = f"`{RUN} savepoint {job} --batch {newest}` and fork that"
    if attached:
        return f"Batch {newest} is the newest that can be restored: keep it with {keep}."
    return (
        f"Batch {newest} is the newest that can be restored: go back to it with `{RUN} resume {job} --batch {newest}`, "
        f"or keep it with {keep}."
    )


def of_sound(savepoint: SavepointId, job: JobName) -> str:
    """For a savepoint that is whole."""
    return f"Nothing is damaged: start from it with `{RUN} fork {savepoint} --name NAME` or `{RUN} resume {job} --from {savepoint}`."


def of_damaged(good: Sequence[Good], live: Sequence[int], job: JobName) -> str:
    """For a damaged savepoint; `live` are the batches that the job's own checkpoint can still restore."""
    also = f" The job's own checkpoint can still restore batch {live[-1]}: `{RUN} savepoint {job} --batch {live[-1]}`." if live else ""
    return f"Do not start from it; put the damaged files back from a copy. {_others(good, f'{RUN} fork {{}} --name NAME')}{also}"


def of_damaged_elsewhere() -> str:
    """For a query of a damaged savepoint that is whole itself."""
    return "Nothing of this query is damaged, but other files of the savepoint are: do not start from it."


def of_checkpoint(place: str, outlook: Outlook) -> str:
    """For a checkpoint that no job of this workspace has."""
    if not outlook.findings:
        return f"Nothing is damaged: batches {_span(outlook.restorable)} can be restored. Watch it with `{RUN} attach`."
    if not outlook.restorable:
        return "No retained batch can be restored: put the damaged files back from a copy."
    if not outlook.needed:
        return f"No retained batch needs what is damaged: batches {_span(outlook.restorable)} can be restored."
    return (
        f"Batch {outlook.restorable[-1]} is the newest that can be restored: `{RUN} attach NAME {place}`, "
        f"then `{RUN} savepoint NAME --batch {outlook.restorable[-1]}` and fork that."
    )


def _others(good: Sequence[Good], command: str) -> str:
    if not good:
        return "The job has no other savepoint that is whole: put the damaged files back from a copy."
    names = ", ".join(f"{savepoint.id} ({savepoint.points})" for savepoint in good[:NAMED])
    return f"Whole savepoints of the job: {names}; the newest: `{command.format(good[0].id)}`."


def _span(batches: tuple[int, ...]) -> str:
    """`3`, `3 to 9`, or `3 to 9 (5 of them)` where some between are not."""
    if not batches:
        return "none"
    first, last = batches[0], batches[-1]
    if first == last:
        return str(first)
    return f"{first} to {last}" if last - first + 1 == len(batches) else f"{first} to {last} ({len(batches)} of them)"
