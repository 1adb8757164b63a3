"""Other partitions for a job's state: the dialog asks how many, shows the plan, and begins it."""

from __future__ import annotations

import streamlit as st

from dashboard.dialogs import dialog
from dashboard.views import operations, restore_plans
from dashboard.views.decisions import steps
from dashboard.views.endings import ending, planned
from pipelines.domain.rewrites import MOST_PARTITIONS
from pipelines.verbs.rescale import Rescale


def ask_rescale(job: str) -> None:
    """Opens the question with the plan."""

    @dialog(f"Rescale {job}", width="medium")
    def ask() -> None:
        partitions = st.number_input(
            "Partitions of its state", 1, MOST_PARTITIONS, value=None, step=1, key="rescale_partitions", placeholder="How many"
        )
        change = Rescale(job, int(partitions)) if partitions else None
        plan = planned(change) if change else None
        if plan is not None:
            st.html(steps(plan.steps))
            restore_plans.draw(plan.restore)
        ending(change, "Rescale", "rescale", operations.begin, ready=plan is not None and plan.restore.refusal is None)

    ask()
