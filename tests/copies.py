"""A workspace in memory whose savepoints, forks and resumes are copied: each is an operation that goes on until somebody ends it."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from pipelines.domain.errors import TidemarkError
from pipelines.domain.operations import Operation, OperationState, sound
from pipelines.verbs.fork import Fork
from pipelines.verbs.resume import Resume
from pipelines.verbs.take import Take
from pipelines.verbs.verb import Begun, Change
from tests import samples
from tests.faces import FakeFace

PIECE_S = 0.1
PART = 100
"""A hundredth is copied with each piece, up to seven tenths."""


class Copies:
    """Takes the place of the face's `begin` and `answer`."""

    def __init__(self, face: FakeFace) -> None:
        self._face = face
        self._ended = threading.Event()
        self._answers: dict[str, Any] = {}
        self._begin, self._answer = face.begin, face.answer
        vars(face).update(begin=self.begin, answer=self.answer)

    def begin(self, change: Change[Any, Any]) -> Begun[Any]:
        """As the face does, but what is copied only begins."""
        if not _copies(change):
            return self._begin(change)
        works = change.works_as(self._face.plan(change))
        assert works is not None
        going = self._face._keep(samples.begun(self._face._id("op"), works.kind, works.job, works.subject))
        threading.Thread(target=self._copied, args=(change, going), daemon=True).start()
        return Begun(change, going)

    def answer(self, begun: Begun[Any]) -> Any:
        """What came of it, once it has ended."""
        if begun.operation is None or begun.operation.id not in self._answers:
            return self._answer(begun)
        return self._answers[sound(self._face.operations_by_id[begun.operation.id]).id]

    def finish(self) -> None:
        """All of it is copied."""
        self._ended.set()

    def _copied(self, change: Change[Any, Any], going: Operation) -> None:
        while not self._ended.wait(PIECE_S):
            going = self._further(self._face.operations_by_id[going.id])
            if going.state is OperationState.CANCELLED:
                return
        try:
            self._answers[going.id] = self._begin(change).answer
            self._face._keep(replace(going, state=OperationState.DONE, ended_ms=samples.NOW_MS, can_cancel=False))
        except TidemarkError as error:
            self._face._keep(samples.failed(going, error))

    def _further(self, going: Operation) -> Operation:
        amount = going.amount
        if going.state is not OperationState.RUNNING or amount is None or amount.done >= amount.total * 7 // 10:
            return going
        return self._face._keep(replace(going, amount=replace(amount, done=amount.done + amount.total // PART)))


def _copies(change: Change[Any, Any]) -> bool:
    return isinstance(change, Take | Fork) or (isinstance(change, Resume) and bool(change.from_savepoint))
