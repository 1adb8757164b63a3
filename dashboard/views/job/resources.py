"""What this job may take of its machine: the dialog of its limits on memory and processors."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.dialogs import dialog
from dashboard.typed import Limits
from dashboard.views.endings import ending
from dashboard.widgets import error_box, errors_shown
from pipelines.domain.errors import TidemarkError
from pipelines.domain.resources import Resources, changed
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.resources import SetResources
from pipelines.verbs.system import ShowAbout
from pipelines.words.resources import CAN

MEMORY_HELP = "Of its driver with all that it starts on this machine, such as 2g; at least 1g. Spark's heap is made to fit."
SAYS = "An empty field is no limit. What is set counts from the job's next start on, and its forks begin with it."
CPUS_HELP = "Processors that it may keep busy, such as 1.5."


def ask_resources(job: str) -> None:
    """Asks for the limits of the job."""

    @dialog(f"Memory and processors of {job}")
    def ask() -> None:
        with errors_shown():
            own = session.workspace().ask(ShowJob(job)).summary.job.resources
            limits = inputs(Limits.of(own), "resources")
            holds = session.workspace().ask(ShowAbout()).server.holds
            st.caption(f"{SAYS} Held {CAN[holds]}.")
            ending(_change(job, own, limits), "Set limits", "resources_set")

    ask()


def inputs(limits: Limits, key: str) -> Limits:
    """The two fields side by side, as typed."""
    left, right = st.columns(2)
    return Limits(
        left.text_input("Memory at most", limits.memory, key=f"{key}_memory", placeholder="all there is", help=MEMORY_HELP) or "",
        right.text_input("Processors at most", limits.cpus, key=f"{key}_cpus", placeholder="all there are", help=CPUS_HELP) or "",
    )


def _change(job: str, own: Resources, limits: Limits) -> SetResources | None:
    """What differs; None where nothing does, or something cannot be, which is said."""
    try:
        memory_bytes, cpus = limits.differing(own)
        after = changed(own, memory_bytes, cpus)
    except TidemarkError as error:
        error_box(error)
        return None
    return SetResources(job, memory_bytes=memory_bytes, cpus=cpus) if after != own else None
