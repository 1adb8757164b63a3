"""The plans of two points' code, operator by operator, where somebody asks for them: Spark plans both."""

from __future__ import annotations

import streamlit as st

from dashboard import permitted
from dashboard.views import changes, operations, verdicts
from dashboard.views.commands import commands
from dashboard.widgets import errors_shown
from pipelines.domain.access import Role
from pipelines.domain.plan_differences import PlanDifference
from pipelines.verbs.plan_difference import ComparePlans
from pipelines.words import verdicts as words

HELP = "Spark plans both codes in the sandbox and says, operator by operator, what they compute. Nothing runs, and nothing is written."
MEANS = "What state of A's code would be if the code of B went on with it."


def draw(plans: PlanDifference | None, a: str, b: str) -> None:
    """The plans side by side; the button that asks for them, and its progress, where they are not known."""
    change = ComparePlans(a, b)
    if plans is None:
        _ask(change)
        return
    verdicts.draw(plans, title="Plans", is_open=True)
    if plans.new_queries:
        st.caption(f"{words.NEW_QUERIES}: {', '.join(plans.new_queries)}.")
    with st.container(horizontal=True, vertical_alignment="center", key="plans_means"):
        st.caption(MEANS)
        commands([change], key="plans_command")


def _ask(change: ComparePlans) -> None:
    key, subject = f"plans_{change.a}_{change.b}", f"{change.a} {change.b}"
    operations.under_way(lambda operation: operation.kind == "compare-plans" and operation.subject == subject, key="plans")
    busy = changes.is_asked(key)
    with errors_shown():
        if changes.answered(key) is not None:
            st.rerun()
        pressed = permitted.button(
            "Compare the plans", Role.OPERATOR, icon=":material/account_tree:", key="compare_plans", disabled=busy,
            help=changes.BUSY if busy else HELP,
        )  # fmt: skip
        if pressed and changes.ask(key, change, f"The plans of {change.a} and {change.b} were compared") is not None:
            st.rerun()
