"""What the rules of alerts find in jobs: the figures and findings of the overview, and what only is known over some time."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping

from pipelines.catalog import growth as growth_rows
from pipelines.catalog import jobs as job_rows
from pipelines.catalog import savepoints as savepoint_rows
from pipelines.catalog import summaries as summary_rows
from pipelines.catalog.connection import Kept
from pipelines.domain.alert_rules import Growth, Rule, condition
from pipelines.domain.alerts import Alert, advance
from pipelines.domain.errors import TidemarkError
from pipelines.domain.holdings import ends_ms
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import JobSummary
from pipelines.domain.savepoints import Savepoint
from pipelines.words import alerts as words
from pipelines.words.figures import Seen
from pipelines.workspace import events
from pipelines.workspace.context import Context

LATE_MS = 600_000
GROWTH_MS = 30_000
"""How old the figures of before may be that a growth is measured from: they are read of many batches."""


class Readings:
    """Reads the jobs of one workspace, and remembers how many late rows each had."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._has_rules = Kept(context.catalog, lambda reader: any(job.alerts for job in job_rows.listed(reader)))
        self._late: dict[JobName, deque[tuple[int, int]]] = {}
        self._then: dict[int, tuple[int, Mapping[str, Mapping[str, int | None]]]] = {}
        """How long ago -> when it was read, and what the figures were then."""
        self._best_before_ms: dict[JobName, float | None] = {}
        self._complained: set[tuple[JobName, Rule]] = set()

    def has_rules(self) -> bool:
        """Whether any job has a rule of its own."""
        return self._has_rules.now()

    def jobs(self) -> list[JobSummary]:
        """Every job as it is now, with findings of its own, and none of alerts."""
        now_ms = self._context.now_ms()
        with self._context.catalog.reading() as reader:
            jobs = summary_rows.listed(reader, now_ms)
            newest = {savepoint.job: savepoint for savepoint in reversed(savepoint_rows.listed(reader))}
        self._best_before_ms = {job: _end_ms(savepoint) for job, savepoint in newest.items()}
        for job in jobs:
            late = self._late.setdefault(job.job.name, deque())
            late.append((now_ms, job.late_rows))
            while late[0][0] < now_ms - LATE_MS:
                late.popleft()
        return jobs

    def advance(self, rule: Rule, job: JobSummary, alert: Alert | None, now_ms: int) -> Alert | None:
        """What becomes of the rule's alert; it stays as it is where the rule cannot be read, which is an event, once."""
        name = job.job.name
        late_before = min((rows for _, rows in self._late.get(name, ())), default=job.late_rows)
        try:
            grown = self._grown(condition(rule).growth, job, now_ms)
            seen = Seen(job, now_ms, self._best_before_ms.get(name), late_before, grown)
            return advance(rule, name, alert, words.reading(rule, seen), now_ms)
        except TidemarkError as error:
            if (name, rule) not in self._complained:
                self._complained.add((name, rule))
                events.say(self._context, "supervisor.failed", name, rule.name, f"the alert {rule.name} cannot be read: {error.message}")
            return alert

    def _grown(self, growth: Growth | None, job: JobSummary, now_ms: int) -> float | None:
        if growth is None:
            return None
        read_ms, then = self._then.get(growth.in_ms, (0, {}))
        if not 0 <= now_ms - read_ms < GROWTH_MS:
            with self._context.catalog.reading() as reader:
                then = growth_rows.then(reader, now_ms - growth.in_ms)
            self._then[growth.in_ms] = now_ms, then
        before, now = then.get(job.job.name, {}).get(growth.of), getattr(job, growth.of)
        return None if before is None or now is None else now - before


def _end_ms(savepoint: Savepoint) -> float | None:
    """When it is worth nothing any more; infinite where nothing says that it ever ends, None while its sources were not asked."""
    at_ms = ends_ms(savepoint.holdings, savepoint.best_before_ms)
    return math.inf if at_ms is None and savepoint.holdings is not None else at_ms
