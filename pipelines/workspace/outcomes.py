"""Outcomes: the answer of a piece of work, or its error, kept beside its operation."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Generic, TypeVar

from pipelines import verbs
from pipelines.domain.ids import OperationId
from pipelines.domain.operations import Operation
from pipelines.verbs.declaration import answer_type
from pipelines.workspace.tickets import Ticket

T = TypeVar("T")
KEPT = 1_000
"""Newest operations whose answers can be read."""


class Answer(Generic[T]):
    """Work whose answer, or error, is kept."""

    def __init__(self, work: Callable[[Ticket], T], result: Callable[[T], str]) -> None:
        self._work: list[Callable[[Ticket], T]] = [work]
        self._result = result
        self._ended: list[T | BaseException] = []

    def work(self, ticket: Ticket) -> str:
        """Does the work once and drops the plan, which may be large; answers with the result for the operation."""
        try:
            answer = self._work.pop()(ticket)
        except BaseException as error:
            self._ended.append(error)
            raise
        self._ended.append(answer)
        return self._result(answer)

    def read(self) -> T:
        """The answer; raises what the work raised."""
        ended = self._ended[0]
        if isinstance(ended, BaseException):
            raise ended
        return ended


@cache
def kinds_that_answer() -> frozenset[str]:
    """Kinds of operation that are themselves the answer of what began them."""
    own = [change for change in verbs.changes() if answer_type(change) is Operation]
    return frozenset(kind for change in own for kind in change.kinds)


def keep(answers: dict[OperationId, Answer[Any]], operation: OperationId, answer: Answer[Any]) -> None:
    """Keeps an answer; the oldest is dropped."""
    answers[operation] = answer
    for old in list(answers)[:-KEPT]:
        answers.pop(old, None)
