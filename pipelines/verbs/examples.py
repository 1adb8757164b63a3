"""`examples`: the jobs to begin with, what they need, and what their second versions do to the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.ids import JobName
from pipelines.domain.verdicts import Outcome
from pipelines.verbs.verb import Http, Question


@dataclass(frozen=True)
class ShownExample:
    """A job of the collection."""

    name: JobName
    does: str
    """One sentence, of its script's docstring."""
    inputs: tuple[str, ...]
    """Streams that it reads."""
    generator: JobName
    """The job that makes them."""
    second: str
    """Its second version, a script; and what that does, and what becomes of the state under it."""
    second_does: str
    outcome: Outcome


@dataclass(frozen=True)
class ListExamples(Question[Sequence[ShownExample]]):
    """List the jobs to begin with. Each has a second version, with the verdict on it; `example NAME` starts one with its input."""

    call, topic = "examples", "system"
    role = Role.VIEWER
    http = Http("GET", "/examples")
    command = "examples"
