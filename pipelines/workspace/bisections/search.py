"""The search of a bisection: which batch is judged next, and what is known after it."""

from __future__ import annotations

import time

from pipelines.catalog.judging import Rows
from pipelines.domain import bisections
from pipelines.domain.bisections import Answer, Step
from pipelines.domain.errors import Conflict
from pipelines.words import bisections as words
from pipelines.workspace.bisections.judges import Judge, Judged
from pipelines.workspace.bisections.points import Points
from pipelines.workspace.bisections.stretches import Stretch
from pipelines.workspace.tickets import Ticket

NOT_GOOD = {Answer.WRONG: "is wrong already", Answer.SKIPPED: "cannot be judged by the script"}
NOT_BAD = {Answer.RIGHT: "is right, not wrong", Answer.SKIPPED: "cannot be judged by the script"}


class Search:
    """The batches in between become fewer until none is left."""

    def __init__(self, stretch: Stretch, points: Points, judge: Judge, ticket: Ticket) -> None:
        self._stretch, self._points, self._judge, self._ticket = stretch, points, judge, ticket
        self.right, self.wrong = stretch.batch(stretch.good), stretch.batch(stretch.bad)
        self.steps: list[Step] = []
        self.skipped: list[int] = []
        self.verdict = Judged(Answer.WRONG)
        self.rows: dict[int, Rows] = {}
        """Batch -> what was judged."""

    def ends(self) -> None:
        """Raises Conflict where good is not right (`bisect.not_good`) or bad is not wrong (`bisect.not_bad`)."""
        first = self._look(self.right)
        if first.answer is not Answer.RIGHT:
            message = f"Savepoint {self._stretch.good.id} (batch {self.right}) {NOT_GOOD[first.answer]}.{words.last(first.words)}"
            raise Conflict("bisect.not_good", message, "Choose an earlier one, or look at what judges.")
        self.verdict = self._look(self.wrong)
        if self.verdict.answer is not Answer.WRONG:
            message = (
                f"Savepoint {self._stretch.bad.id} (batch {self.wrong}) {NOT_BAD[self.verdict.answer]}.{words.last(self.verdict.words)}"
            )
            raise Conflict("bisect.not_bad", message, "Choose a later one, or look at what judges.")

    def narrow(self) -> None:
        while (batch := self._next()) is not None:
            judged = self._look(batch)
            if judged.answer is Answer.SKIPPED:
                self.skipped.append(batch)
            elif judged.answer is Answer.WRONG:
                self.wrong, self.verdict = batch, judged
            else:
                self.right = batch

    def _next(self) -> int | None:
        """Of those that are ready the one nearest to the middle, of two the earlier; the middle itself where none is."""
        middle = bisections.middle(self.right, self.wrong, self.skipped)
        if middle is None:
            return None
        ready = [batch for batch in self._points.ready() if self.right < batch < self.wrong and batch not in self.skipped]
        return min(ready, key=lambda batch: (abs(batch - middle), batch), default=middle)

    def _look(self, batch: int) -> Judged:
        began = time.monotonic()
        self._say(f"judging batch {batch:,} of {self._stretch.query}")
        rows, way = self._points.at(batch, self.wrong, self._ticket)
        self._say(f"judging batch {batch:,} of {self._stretch.query}")
        judged = self._judge(rows, batch)
        self.rows[batch] = rows
        self.steps.append(Step(batch, judged.answer, way, len(judged.rows), (time.monotonic() - began) * 1000))
        return judged

    def _say(self, step: str) -> None:
        judged, more = len(self.steps), bisections.at_most(self.right, self.wrong)
        self._ticket.step(step, max(judged + more, 1), "batches")
        self._ticket.advance(judged)
