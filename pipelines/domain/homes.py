"""Homes: places outside of the workspace where savepoints lie, beside the state that they are of."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.ids import JobName


@dataclass(frozen=True)
class Home:
    """Where a savepoint of the workspace lies that is not in it (`homes/<savepoint>.json`)."""

    url: str
    """The folder at that storage that holds the savepoint's own folder."""
    job: JobName
    """The job that it is of, known here while that storage is away."""
    settled: bool
    """Whether it was published; not while it is being taken or disposed of, which the next opening completes after a crash."""
