"""The protocol by which pages, REST, command line and notebooks use a workspace, in this process or over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from pipelines.domain.operations import Operation, OperationState
from pipelines.verbs.operations import ShowOperation
from pipelines.verbs.verb import Begun, Change, Question

A = TypeVar("A")
P = TypeVar("P")
FIRST_LOOK_S, LAST_LOOK_S = 0.01, 0.25


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


def follow(face: Face, operation: str, sleep: Callable[[float], object]) -> Iterator[Operation]:
    """An operation as it is now, again and again at growing intervals (many end at once); the last one has ended."""
    pause = FIRST_LOOK_S
    while (current := face.ask(ShowOperation(operation))).state is OperationState.RUNNING:
        yield current
        sleep(pause)
        pause = min(LAST_LOOK_S, pause * 2)
    yield current
