"""Savepoints, forks and resumes that are copied: on a fake each is an operation that goes on until somebody ends it."""

from __future__ import annotations

from typing import Any

from pipelines.domain.operations import OperationState
from pipelines.verbs.fork import Fork
from pipelines.verbs.resume import Resume
from pipelines.verbs.take import Take
from pipelines.verbs.verb import Begun, Change
from tests import samples
from tests.afterwards import TRACES
from tests.faces import FakeFace

FURTHEST = 70
"""Each look finds a hundredth more of it copied, up to this many."""


class Copies:
    """What a fake answers to changes that copy."""

    def __init__(self, face: FakeFace) -> None:
        self._face = face
        self._going: dict[str, Change[Any, Any]] = {}
        for kind in (Take, Fork, Resume):
            face.answers(kind, self.begin)

    def begin(self, change: Change[Any, Any]) -> Begun[Any]:
        """Only begins what is copied; what is not, is done."""
        works = change.works_as(self._face.plan(change))
        if works is None:
            return Begun(change, answer=TRACES[type(change)](self._face, change))
        going = samples.begun(self._face.new_id("op"), works.kind, works.job, works.subject)
        assert going.amount is not None
        hundredth = going.amount.total // 100
        self._face.under_way(going, *(samples.further(going, hundredth * part) for part in range(1, FURTHEST + 1)))
        self._going[going.id] = change
        return Begun(change, going)

    def finish(self) -> None:
        """All of it is copied."""
        for named, change in self._going.items():
            going = self._face.now[named]
            if going.state is OperationState.RUNNING:
                self._face.under_way(samples.done(going), outcome=TRACES[type(change)](self._face, change))
