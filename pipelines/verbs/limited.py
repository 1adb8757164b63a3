"""A face as a caller may use it: the one place where roles are enforced and calls are audited, for pages, REST and commands alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from pipelines.domain.access import Caller
from pipelines.domain.audit import FAILS, Call, Record, Result
from pipelines.domain.errors import Forbidden, TidemarkError
from pipelines.verbs.declaration import command_of, subject
from pipelines.verbs.face import Face
from pipelines.verbs.verb import Asked, Begun, Change, Question

A = TypeVar("A")
P = TypeVar("P")


class Limited:
    """`face` for `caller`, who calls from `origin`: raises Forbidden for what his role does not allow, and events name him. `record` writes
    down every change that was begun, refused or failed, and every call that his role did not allow; a dry run changes nothing."""

    def __init__(self, face: Face, caller: Caller, record: Record, origin: str, by: str = "") -> None:
        self._face = face
        self.caller = caller
        self._record, self._origin, self._by = record, origin, by or caller.name

    def acting(self, actor: str) -> Limited:
        by = self.caller.acting(actor)
        return Limited(self._face.acting(by), self.caller, self._record, self._origin, by)

    def ask(self, question: Question[A]) -> A:
        self._permit(question)
        return self._face.ask(question)

    def plan(self, change: Change[A, P]) -> P:
        self._permit(change)
        return self._face.plan(change)

    def begin(self, change: Change[A, P]) -> Begun[A]:
        self._permit(change)
        with self._failing(change):
            begun = self._face.begin(change)
        operation = begun.operation.id if begun.operation else ""
        self._write(change, Result.BEGUN if operation else Result.DONE, operation=operation)
        return begun

    def answer(self, begun: Begun[A]) -> A:
        self._permit(begun.change)
        return self._face.answer(begun)

    def _permit(self, asked: Asked[Any]) -> None:
        try:
            self.caller.permit(asked.needs())
        except Forbidden as error:
            self._write(asked, Result.REFUSED, error.code)
            raise

    @contextmanager
    def _failing(self, change: Asked[Any]) -> Iterator[None]:
        try:
            yield
        except TidemarkError as error:
            self._write(change, Result.FAILED if error.group in FAILS else Result.REFUSED, error.code)
            raise
        except BaseException:
            self._write(change, Result.FAILED, TidemarkError.group)
            raise

    def _write(self, asked: Asked[Any], result: Result, code: str = "", operation: str = "") -> None:
        self._record(Call(command_of(asked), subject(asked), result, code, operation, self._by, self.caller.entered_as, self._origin))
