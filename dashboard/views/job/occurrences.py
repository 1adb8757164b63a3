"""What happened to a job."""

from __future__ import annotations

from dashboard import navigation, session
from dashboard.components.table import table
from dashboard.views import events
from dashboard.widgets import empty_state

LIMIT = 500


def draw(name: str, now: float) -> None:
    """Its events, newest first."""
    happened = session.workspace().events(name, limit=LIMIT)
    if not happened:
        with empty_state(
            "Nothing has happened yet", "Starts, stops, savepoints and failures of this job are listed here.", key="occurrences"
        ):
            pass
        return
    rows = [events.row(event, place, now, with_job=False) for place, event in enumerate(happened)]
    opened = table(events.columns(with_job=False), rows, key="occurrences", label="Events of this job", max_height=680)
    if opened:
        events.open_subject(happened[int(opened)])
    if len(happened) == LIMIT:
        navigation.link("events", f"The newest {LIMIT:,}. All events of this job", icon=":material/history:", job=name)
