"""From when on this job needs attention: its limits, beside those that are usual for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from dashboard import session
from dashboard.dialogs import dialog
from dashboard.views.endings import ending
from dashboard.widgets import error_box, errors_shown
from pipelines.domain.errors import TidemarkError
from pipelines.domain.job_limits import JobLimits
from pipelines.domain.jobs import JobSummary
from pipelines.domain.moments import duration_ms, spelt_duration
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.set_limits import SetLimits
from pipelines.words import formats, limits

MB = 1_000_000
SAYS = "Beyond a limit the job needs attention. An empty field is the usual limit. Forks of this job begin with its limits."


@dataclass(frozen=True)
class Time:
    """A limit that is a stretch of time."""

    field: str
    label: str
    usual: Callable[[JobSummary], float]


TIMES = (
    Time("quiet_ms", "No progress: without a batch for", limits.quiet_ms),
    Time("lag_ms", "Lagging: event-time lag of", limits.lag_ms),
    Time("starting_ms", "Still starting: without a driver for", limits.starting_ms),
    Time("unsaved_ms", "No savepoint: none taken for", limits.unsaved_ms),
)


def ask_limits(job: str) -> None:
    """Asks for the limits of the job."""

    @dialog(f"Set limits of {job}")
    def ask() -> None:
        with errors_shown():
            summary = session.workspace().ask(ShowJob(job)).summary
            own, usual = summary.job.limits, limits.usual(summary)
            typed = {time.field: _time(time, own, usual) for time in TIMES}
            restarts = st.number_input(
                "Restarting often: restarts in an hour", 1, value=own.restarts, step=1, key="limit_restarts",
                placeholder=f"{limits.restarts(usual)}, as usual",
            )  # fmt: skip
            growth = st.number_input(
                "Checkpoint growing: MB in a day", 1, value=own.growth_bytes and max(1, own.growth_bytes // MB), step=1,
                key="limit_growth", placeholder=f"{limits.growth_bytes(usual) / MB:,.0f}, as usual",
            )  # fmt: skip
            st.caption(SAYS)
            change = _change(job, own, typed, {"restarts": restarts or 0, "growth_bytes": _bytes(growth, own)})
            ending(change, "Set limits", "limits")

    ask()


def _time(time: Time, own: JobLimits, usual: JobSummary) -> str:
    before: int | None = getattr(own, time.field)
    shown = f"{formats.duration(time.usual(usual))}, as usual"
    value = spelt_duration(before) if before else ""
    return st.text_input(time.label, value, placeholder=shown, key=f"limit_{time.field}", help="Such as 90s, 10m, 1h30m or 7d") or ""


def _bytes(growth: int | None, own: JobLimits) -> int:
    """What was typed in MB; a limit that was set in bytes stays as it is."""
    before = own.growth_bytes or 0
    return before if growth == (before and max(1, before // MB)) else (growth or 0) * MB


def _change(job: str, own: JobLimits, typed: dict[str, str], counts: dict[str, int]) -> SetLimits | None:
    """What differs from the limits as they are; None where nothing does, or a text is no duration, which is said."""
    try:
        given = {field: duration_ms(text) if text.strip() else 0 for field, text in typed.items()} | counts
    except TidemarkError as error:
        error_box(error)
        return None
    differing = {field: value for field, value in given.items() if value != (getattr(own, field) or 0)}
    return SetLimits(job, **differing) if differing else None
