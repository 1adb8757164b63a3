"""A workspace that answers what it was given to answer: each question and change by its value or by its kind."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from pipelines.domain.operations import Operation, sound
from pipelines.verbs.declaration import answer_type
from pipelines.verbs.face import follow
from pipelines.verbs.operations import ReadAnswer
from pipelines.verbs.verb import Asked, Begun, Change, Question

Which = type[Asked[Any]] | Asked[Any] | Callable[[Any], bool]
"""Every question or change of a kind, one, or those that a function says yes to."""


def fits(which: Which, asked: Asked[Any]) -> bool:
    """Whether `asked` is one of them."""
    if isinstance(which, type | Asked):
        return which is type(asked) or which == asked
    return which(asked)


class CannedFace:
    """`Face` with canned answers, the newest given first. An answer that is an error is raised; a function is called with the request, and
    may give new answers.

    A change is answered at once, or with the operation that it was given; what comes of that is the answer to `ShowOperation` or
    `ReadAnswer`. What nothing was given for fails the test.
    """

    def __init__(self) -> None:
        self.asked: list[Question[Any]] = []
        """Questions that were asked."""
        self.begun: list[Change[Any, Any]] = []
        """Changes that were begun."""
        self.actor = ""
        """Who acted last."""
        self._answers: list[tuple[Which, Any]] = []
        self._plans: list[tuple[Which, Any]] = []

    def answers(self, which: Which, answer: Any) -> None:
        """From now on this is the answer to `which`, and what beginning it comes to."""
        self._answers.insert(0, (which, answer))

    def plans_as(self, which: Which, plan: Any) -> None:
        """From now on this is the plan of `which`."""
        self._plans.insert(0, (which, plan))

    def refuses(self, which: Which, error: Exception) -> None:
        """From now on `which` is refused, asked, planned or begun."""
        self.answers(which, error)
        self.plans_as(which, error)

    def acting(self, actor: str) -> Any:
        self.actor = actor
        return self

    def ask(self, question: Question[Any]) -> Any:
        self.asked.append(question)
        return self._given(self._answers, question, self.otherwise_asked)

    def plan(self, change: Change[Any, Any]) -> Any:
        return self._given(self._plans, change, self.otherwise_planned)

    def begin(self, change: Change[Any, Any]) -> Begun[Any]:
        self.begun.append(change)
        answer = self._given(self._answers, change, self.otherwise_begun)
        if isinstance(answer, Begun):
            return answer
        return Begun(change, answer) if isinstance(answer, Operation) and change.kinds else Begun(change, answer=answer)

    def answer(self, begun: Begun[Any]) -> Any:
        if begun.operation is None:
            return begun.answer
        ended = sound(deque(follow(self, begun.operation.id, lambda seconds: None), maxlen=1).pop())
        return ended if answer_type(type(begun.change)) is Operation else self.ask(ReadAnswer(ended.id))

    def otherwise_asked(self, question: Question[Any]) -> Any:
        """The answer to a question that none was given for."""
        raise AssertionError(f"no answer was given to {question}")

    def otherwise_planned(self, change: Change[Any, Any]) -> Any:
        """The plan of a change that none was given for."""
        raise AssertionError(f"no plan was given to {change}")

    def otherwise_begun(self, change: Change[Any, Any]) -> Any:
        """What comes of a change that no answer was given for: its answer, its operation, or both."""
        return self.otherwise_asked(change)  # type: ignore[arg-type]

    @staticmethod
    def _given(canned: list[tuple[Which, Any]], request: Any, otherwise: Callable[[Any], Any]) -> Any:
        answer = next((answer for which, answer in canned if fits(which, request)), otherwise)
        if isinstance(answer, Exception):
            raise answer
        return answer(request) if callable(answer) else answer
