"""What needs attention first: the jobs' findings, damaged savepoints, the disk; each with its next step. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Literal

from dashboard.health import URGENCY_TONES
from dashboard.widgets import Tone
from pipelines.domain.experiments import Health
from pipelines.domain.findings import Finding, Problem
from pipelines.domain.jobs import JobSummary
from pipelines.domain.restarts import MISFIT
from pipelines.domain.savepoints import Savepoint
from pipelines.words import formats

ALIKE = 3
"""So many jobs with the same problem are one line."""
TOGETHER_MS = 60_000
LITTLE_LEFT = 0.1
"""Share of free space below which the disk counts as nearly full."""
_TONES: tuple[Tone, ...] = ("red", "orange", "blue")
Action = Literal["resume", "inspect", "logs", "take", "savepoint", "settings"]
NEXT_STEPS: Mapping[Problem, Action] = {
    Problem.FAILED: "resume",
    Problem.NOT_UP: "logs",
    Problem.NO_PROGRESS: "logs",
    Problem.LAGGING: "inspect",
    Problem.FALLING_BEHIND: "inspect",
    Problem.CATCHING_UP: "inspect",
    Problem.RESTARTING: "logs",
    Problem.WAITING: "logs",
    Problem.POISON: "inspect",
    Problem.GROWING: "inspect",
    Problem.UNSAVED: "take",
    Problem.SCHEDULE: "take",
    Problem.UNPROVED: "inspect",
    Problem.UNUSABLE: "take",
    Problem.UNBEGUN: "resume",
    Problem.ALERT: "inspect",
}


@dataclass(frozen=True)
class Alert:
    """A line of the card: `title` the problem, `words` the reason, `code` an error class, `action` the next step."""

    job: str
    tone: Tone
    title: str
    words: str
    action: Action
    code: str = ""
    since_ms: float | None = None
    subject: str = ""
    """The savepoint that it is about; empty for what is about the job, or (without a job) the workspace."""


@dataclass(frozen=True)
class Group:
    """Alerts of one problem (and error class) of several jobs: one line, because their cause may be one."""

    alerts: tuple[Alert, ...]

    @property
    def title(self) -> str:
        return self.alerts[0].title

    @property
    def code(self) -> str:
        return self.alerts[0].code

    @property
    def tone(self) -> Tone:
        return self.alerts[0].tone

    def words(self, zone: tzinfo) -> str:
        """Since when, and what that suggests: `since 06:30:12, all within a minute: look at what they share (cluster, source)`."""
        moments = sorted(alert.since_ms for alert in self.alerts if alert.since_ms is not None)
        if not moments:
            return self.alerts[0].words
        first, last = (formats.clock(at_ms, zone) for at_ms in (moments[0], moments[-1]))
        together = len(moments) == len(self.alerts) and moments[-1] - moments[0] <= TOGETHER_MS
        if together:
            return f"since {first}, all within a minute: look at what they share (cluster, source)"
        return f"since {first} to {last}"


def grouped(attention: Sequence[Alert]) -> list[Alert | Group]:
    """The alerts in their order, where `ALIKE` or more of jobs say the same one line for all of them, at the place of the first."""
    kinds = Counter(_kind(alert) for alert in attention)
    lines: dict[object, Alert | Group] = {}
    for alert in attention:
        kind = _kind(alert)
        if alert.subject or not alert.job or kinds[kind] < ALIKE:
            lines[alert] = alert
        elif kind not in lines:
            lines[kind] = Group(tuple(other for other in attention if _kind(other) == kind))
    return list(lines.values())


def alerts_of(lines: Sequence[Alert | Group]) -> list[Alert]:
    """The alerts that some lines stand for."""
    return [alert for line in lines for alert in (line.alerts if isinstance(line, Group) else (line,))]


def _kind(alert: Alert) -> tuple[str, str, bool]:
    return alert.title, alert.code, bool(alert.subject)


def alerts(jobs: Sequence[JobSummary], savepoints: Sequence[Savepoint] = (), health: Health | None = None) -> list[Alert]:
    """Worst first, then in the order of the jobs: at most one of each job, one of each damaged savepoint, one of the disk."""
    of_jobs = [_of_job(job, job.findings[0]) for job in jobs if job.findings]
    every = [*(_of_disk(health) if health else ()), *of_jobs, *(_damaged(savepoint) for savepoint in savepoints if savepoint.damaged_files)]
    return sorted(every, key=lambda alert: _TONES.index(alert.tone))


def _of_job(job: JobSummary, finding: Finding) -> Alert:
    """The page of the job is the next step where it is attached, so that there is no log here and no driver to resume, and where its code
    does not fit its state, which a resume as it is does not mend."""
    misfit = finding.problem is Problem.FAILED and re.search(MISFIT, finding.code) is not None
    elsewhere = job.job.attached and NEXT_STEPS[finding.problem] in ("logs", "resume")
    action = "inspect" if misfit or elsewhere else NEXT_STEPS[finding.problem]
    tone = URGENCY_TONES[finding.urgency]
    return Alert(finding.job, tone, finding.title, finding.words, action, finding.code, finding.since_ms)


def _of_disk(health: Health) -> Iterator[Alert]:
    free, total = health.free_bytes, health.total_bytes
    if free is not None and total and free < LITTLE_LEFT * total:
        left = f"{formats.size(free)} of {formats.size(total)} left; checkpoints and savepoints need it"
        yield Alert("", "orange", "disk nearly full", left, "settings")


def _damaged(savepoint: Savepoint) -> Alert:
    words = f"{savepoint.id}: {formats.plural(savepoint.damaged_files, 'damaged file')}"
    return Alert(savepoint.job, "red", "damaged savepoint", words, "savepoint", since_ms=savepoint.verified_ms, subject=savepoint.id)
