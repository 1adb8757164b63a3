"""The protocol by which pages, REST, command line and notebooks use a workspace, in this process or over HTTP."""

from __future__ import annotations

from typing import Protocol, TypeVar

from pipelines.verbs.verb import Begun, Change, Question

A = TypeVar("A")
P = TypeVar("P")


class Face(Protocol):
    """A workspace as its users see it. Every method raises `TidemarkError`; which groups is said by the declaration (`refuses`)."""

    def acting(self, actor: str) -> Face:
        """The same workspace; events of what is done through this one name `actor`."""
        ...

    def ask(self, question: Question[A]) -> A:
        """The answer to a question."""
        ...

    def plan(self, change: Change[A, P]) -> P:
        """The plan that `begin` would execute, with the same refusals; nothing is changed."""
        ...

    def begin(self, change: Change[A, P]) -> Begun[A]:
        """Plans a change and executes the plan; answers when it is done or, where it takes long, with its operation."""
        ...

    def answer(self, begun: Begun[A]) -> A:
        """The answer of a change, once it has ended; raises what it failed with."""
        ...


def do(face: Face, change: Change[A, P]) -> A:
    """Begins a change and waits for its answer."""
    return face.answer(face.begin(change))
