"""How a job does, in a word or two and its colour."""

from __future__ import annotations

from dashboard.widgets import STATES, Tone, chip
from pipelines.domain.findings import Problem, Urgency
from pipelines.domain.jobs import JobSummary

URGENCY_TONES: dict[Urgency, Tone] = {Urgency.FAILED: "red", Urgency.WARNING: "orange", Urgency.NOTICE: "blue"}

SAYS_MORE = (Problem.POISON, Problem.CATCHING_UP)
"""Problems that say more than the state, though they are no warnings."""
OF_SAVEPOINTS = (Problem.UNPROVED, Problem.UNUSABLE)
"""Warnings that say nothing of how the job does."""


OF_LAG = (Problem.LAGGING, Problem.FALLING_BEHIND, Problem.CATCHING_UP, Problem.NO_PROGRESS)
"""Problems that say that a job is late."""


def is_late(job: JobSummary) -> bool:
    """Whether what needs attention is that it is behind; a job may be on time and need attention for something else."""
    return any(finding.problem in OF_LAG for finding in job.findings)


def health(job: JobSummary) -> tuple[str, Tone]:
    """How a job does, in a word or two: its state, unless a finding or an idle driver says more than that."""
    telling = (finding for finding in job.findings if finding.problem not in OF_SAVEPOINTS)
    warning = next((finding for finding in telling if finding.urgency is Urgency.WARNING or finding.problem in SAYS_MORE), None)
    if warning:
        return warning.title.capitalize(), URGENCY_TONES[warning.urgency]
    return ("Idle", "blue") if job.idle_since_ms is not None else STATES[job.state]


def health_chip(job: JobSummary) -> str:
    """How a job does, in its colour, as HTML; what it means on hover."""
    text, tone = health(job)
    hint = job.findings[0].words if job.findings else "All its data is worked off; it waits for more" if job.idle_since_ms else ""
    return chip(text, tone, dot=True, live=job.state is not None and job.state.live, hint=hint)
