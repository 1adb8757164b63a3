"""The workspace as its users see it (`pipelines.verbs.face.Face`), in this process: questions are answered, changes planned and done."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar, cast

from pipelines.domain.audit import Call
from pipelines.storage.errors import disk_errors
from pipelines.storage.layout import Layout
from pipelines.verbs.listing import Listed, page
from pipelines.verbs.verb import Begun, Change, Question
from pipelines.workspace import audit, checksums, doers, home_completion, operations, runtimes
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket

A = TypeVar("A")
P = TypeVar("P")


class Workspace:
    """An opened workspace; `opening.open_workspace` makes one. Safe to use from several threads."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._sealer = checksums.Sealer(context)
        self._completion = home_completion.Completion(context)
        self._completion.start()

    @property
    def layout(self) -> Layout:
        """Where its files are."""
        return self.context.layout

    @property
    def changed(self) -> threading.Event:
        """Set when the supervisor should look at the jobs now."""
        return self.context.changed

    @property
    def background(self) -> bool:
        """Whether new savepoints are sealed (their checksums computed) by a thread beside the call, Spark processes are kept warm, and
        Spark's history server may be begun; a server sets it."""
        return self._sealer.running

    @background.setter
    def background(self, seals: bool) -> None:
        if seals:
            self._sealer.start()
            self.context.sparks.open(self.layout.warm)
            self.context.history.open(self.layout.sandbox)
        else:
            self._sealer.stop()
            self.context.sparks.close()
            self.context.history.close()

    def close(self) -> None:
        """Gives the catalog back; drivers run on."""
        self._completion.end()
        self._sealer.stop()
        operations.end_all(self.context)
        self.context.state_workers.close()
        self.context.state_difference_workers.close()
        self.context.savepoint_workers.close()
        self.context.sparks.close()
        self.context.history.close()
        self.context.message_workers.close()
        self.context.broker_workers.close()
        self.context.close()

    def acting(self, actor: str) -> Workspace:
        same = copy(self)
        same.context = replace(self.context, actor=actor)
        return same

    def record(self, call: Call) -> None:
        """Writes a call into the audit."""
        audit.record(self.context, call)

    def ask(self, question: Question[A]) -> A:
        with self._disk_errors():
            answer: A = doers.answerer(type(question))(self.context, question)
        return cast(A, page(question, cast(Sequence[Any], answer))) if isinstance(question, Listed) else answer

    def plan(self, change: Change[A, P]) -> P:
        with self._disk_errors():
            planned = doers.planner(type(change))(self.context, change)
        if isinstance(planned, doers.Planned) and planned.begins is not None:
            runtimes.expect(self.context, planned.begins)
        plan: P = planned.plan
        return plan

    def begin(self, change: Change[A, P]) -> Begun[A]:
        """Plans the change, then does it; long work becomes an operation, which is then the answer. Raises Unavailable
        (`workspace.lease_unrenewed`) while the workspace may be another process's."""
        self.context.files.check()
        with self._disk_errors():
            planned = doers.planner(type(change))(self.context, change)
            return replace(self._begun(change, planned), warnings=tuple(change.warns(planned.plan)))

    def _disk_errors(self) -> AbstractContextManager[None]:
        return disk_errors(str(self.context.layout.root))

    def _begun(self, change: Change[A, P], planned: doers.Planned[A, P] | doers.Recorded[P]) -> Begun[A]:
        if isinstance(planned, doers.Recorded):
            return Begun(change, planned.do())
        works = change.works_as(planned.plan)
        if works is None:
            return Begun(change, answer=planned.do(Ticket()))
        return operations.begin(self.context, change, works, planned.do)

    def answer(self, begun: Begun[A]) -> A:
        return operations.answer(self.context, begun)
