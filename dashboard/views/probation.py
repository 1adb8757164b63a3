"""The probation of an upgrade, as a form: for how long its code is watched, and what it must not miss."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from pipelines.domain.moments import duration_ms
from pipelines.domain.probations import MOST_BATCHES
from pipelines.verbs.resume import Resume

HELP = (
    "Where the new code fails while it is watched, the job goes back by itself to the code it ran before: to the savepoint before the "
    "upgrade where its output can be cut back to that. The plan says which way there is. It is watched for so many batches of each query, "
    "or for so long, whichever is over first."
)
LIMIT = (
    "A figure that alerts know, with its threshold: `event_time_lag_seconds > 5m`, `backlog_rows > 1e6`, or a number that the job "
    "observes, `observed NAME.COLUMN > 5`. It is looked at from the new code's first batch on."
)


@dataclass(frozen=True)
class Typed:
    """What was typed; nothing of it is no probation."""

    batches: int | None = None
    time: str = ""
    longest: str = ""
    limit: str = ""

    def on(self, change: Resume) -> Resume:
        """The change with the probation; Invalid where a text is no duration."""
        limits = (self.limit,) if self.limit else ()
        watched = replace(change, probation_batches=self.batches, probation_ms=_ms(self.time), longest_batch_ms=_ms(self.longest))
        return replace(watched, probation_limits=limits)


def fields(key: str) -> Typed:
    """The form, folded while nothing is typed."""
    with st.expander("Go back by itself", key=f"probation_{key}"):
        st.caption(HELP)
        batches = st.number_input(
            "If it fails in its first batches", 1, MOST_BATCHES, value=None, step=1, key=f"probation_batches_{key}", placeholder="10"
        )
        time = st.text_input("Or in its first", key=f"probation_time_{key}", placeholder="10m", help="Such as 90s, 10m or 1h30m")
        longest = st.text_input("Or if a batch takes longer than", key=f"probation_longest_{key}", placeholder="no limit")
        limit = st.text_input(
            "Or if a figure is beyond", key=f"probation_limit_{key}", placeholder="event_time_lag_seconds > 5m", help=LIMIT
        )
    return Typed(batches, time or "", longest or "", (limit or "").strip())


def _ms(text: str) -> int | None:
    return duration_ms(text) if text.strip() else None
