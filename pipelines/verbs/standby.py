"""A face of a server that stands by: it answers questions and refuses changes, for pages, REST and Flink's client alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from pipelines.domain.errors import Unavailable
from pipelines.verbs.face import Face
from pipelines.verbs.operations import ListOperations, ReadAnswer, ShowOperation
from pipelines.verbs.verb import Begun, Change, Question

A = TypeVar("A")
P = TypeVar("P")
OF_THE_ACTIVE = (ListOperations, ShowOperation, ReadAnswer)
"""Questions to what is in no file: the operations of the server that carries them out."""


class Standby:
    """`face` for questions alone. `active` answers the URL of the server that has the workspace, empty where none says where it is. Raises
    Unavailable (`server.standby`)."""

    def __init__(self, face: Face, active: Callable[[], str]) -> None:
        self._face, self._active = face, active

    def acting(self, actor: str) -> Standby:
        return Standby(self._face.acting(actor), self._active)

    def ask(self, question: Question[A]) -> A:
        if isinstance(question, OF_THE_ACTIVE):
            self._refuse("operations are known to the active one alone")
        return self._face.ask(question)

    def plan(self, change: Change[Any, P]) -> P:
        self._refuse("it changes nothing")

    def begin(self, change: Change[A, Any]) -> Begun[A]:
        self._refuse("it changes nothing")

    def answer(self, begun: Begun[A]) -> A:
        self._refuse("it changes nothing")

    def _refuse(self, why: str) -> NoReturn:
        raise Unavailable("server.standby", f"This server is {standby_of(self._active())}: {why}", hint_of(self._active()))


def standby_of(active: str) -> str:
    """What a standby is called."""
    return f"a standby of {active}" if active else "a standby"


def hint_of(active: str) -> str:
    """Where to ask instead."""
    return f"Ask {active}." if active else "Try again in a moment: it takes over when nobody else has the workspace."
