"""What this job may take of its machine: the dialog of its limits on memory and processors."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.dialogs import dialog
from dashboard.views.endings import ending
from dashboard.widgets import error_box, errors_shown
from pipelines.domain.errors import TidemarkError
from pipelines.domain.resources import Resources, changed, cpus_of, size_bytes, spelt_bytes
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
            memory, cpus = inputs(own, "resources")
            holds = session.workspace().ask(ShowAbout()).server.holds
            st.caption(f"{SAYS} Held {CAN[holds]}.")
            ending(_change(job, own, memory, cpus), "Set limits", "resources_set")

    ask()


def inputs(own: Resources, key: str) -> tuple[str, str]:
    """The two fields side by side, as typed."""
    left, right = st.columns(2)
    memory = spelt_bytes(own.memory_bytes) if own.memory_bytes else ""
    cpus = f"{own.cpus:g}" if own.cpus else ""
    return (
        left.text_input("Memory at most", memory, key=f"{key}_memory", placeholder="all there is", help=MEMORY_HELP) or "",
        right.text_input("Processors at most", cpus, key=f"{key}_cpus", placeholder="all there are", help=CPUS_HELP) or "",
    )


def read(memory: str, cpus: str) -> tuple[int, float]:
    """What was typed; 0 for an empty field. Raises Invalid (`resources.size`, `resources.cpus`)."""
    return size_bytes(memory) if memory.strip() else 0, cpus_of(cpus) if cpus.strip() else 0.0


def _change(job: str, own: Resources, memory: str, cpus: str) -> SetResources | None:
    """What differs; None where nothing does, or something cannot be, which is said."""
    try:
        memory_bytes, processors = read(memory, cpus)
        after = changed(own, memory_bytes, processors)
    except TidemarkError as error:
        error_box(error)
        return None
    if after == own:
        return None
    differs = after.memory_bytes != own.memory_bytes, after.cpus != own.cpus
    return SetResources(job, memory_bytes=memory_bytes if differs[0] else None, cpus=processors if differs[1] else None)
