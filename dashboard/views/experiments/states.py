"""The state of A and B: how much each operator remembers, what differs, and the way to the keys, of two in lock-step after one batch."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import navigation, permitted, session
from dashboard.components.frames import save_buttons
from dashboard.components.panel import panel
from dashboard.drawing.comparisons import state_by_operator
from dashboard.drawing.units import BYTES, ROWS
from dashboard.views import operations
from dashboard.views.experiments.shares import Pair
from dashboard.views.versions import difference as versions_difference
from dashboard.widgets import errors_shown
from pipelines.domain.access import Role
from pipelines.domain.differences import Entry, Value
from pipelines.domain.experiments import Comparison
from pipelines.domain.operations import Operation, OperationState
from pipelines.verbs.experiments import Diff
from pipelines.verbs.jobs import ListRetained
from pipelines.verbs.state_difference import CompareState
from pipelines.words import lockstep, operators

OPERATOR = " · operator "
"""Between a query and its operator, in what a difference says of its entries."""
AS_NOW = "of both, as it is now"
SIZES = (("rows", "State rows", ROWS), ("bytes", "State in the checkpoint", BYTES))
"""What is drawn of each operator: its name in a difference, the picture's title, the unit."""
Places = dict[str, CompareState]
"""In words: after which batch -> the difference of state there."""


def draw(pair: Pair, comparison: Comparison | None) -> None:
    """How much each operator of A and B remembers, as a picture; what compares it key by key; and, folded, all that a checkpoint says."""
    with st.container(border=True, key="card_state"), errors_shown():
        differences = session.workspace().ask(Diff(pair.a, pair.b))
        state_section = differences.section("state")
        batch = differences.a.batch
        as_of = f"of both, after batch {batch:,}" if differences.a.note == lockstep.IN_STEP and batch is not None else AS_NOW
        link = navigation.href("versions", savepoint=pair.a, **{"with": pair.b})
        note = f'<a href="{link}" target="_self">all that differs</a>'
        st.html(f'<div class="tm-section"><h2>State</h2><span class="tm-caption">{as_of} · {note}</span></div>')
        if not state_section.compared:
            st.caption("One of them has no checkpoint yet.")
            return
        _pictures(state_section.entries)
        places = _places(pair, comparison, state_section.entries)
        if places:
            _by_key(places)
        with st.expander("Partitions, schemas and sizes"):
            st.html(versions_difference.entries_table([("", state_section.entries)], session.zone()))
            sections = [("State", state_section.entries)]
            save_buttons(versions_difference.entries_frame(sections, session.zone()), name="state_of_both", key="state_of_both")


def _pictures(entries: Sequence[Entry]) -> None:
    """Rows and bytes of each operator, A beside B; nothing without state."""
    names = {entry.of: _named(entry) for entry in entries if entry.name == "operator"}
    for cell, (name, title, unit) in zip(st.columns(2, gap="small") if names else (), SIZES, strict=False):
        sides = {names[entry.of]: (_number(entry.a), _number(entry.b)) for entry in entries if entry.name == name and entry.of in names}
        with cell:
            panel(state_by_operator(title, sides, unit), key=f"state_of_both_{name}")


def _named(entry: Entry) -> str:
    """`counts · aggregation 0` of the entry that says which operator it is."""
    query, _, number = entry.of.partition(OPERATOR)
    return f"{query} · {operators.kind(str(entry.b or entry.a or ''))} {number}"


def _number(value: Value) -> float | None:
    return float(value) if isinstance(value, int) else None


def _places(pair: Pair, comparison: Comparison | None, entries: Sequence[Entry]) -> Places:
    """Where the state of both can be compared: of two in lock-step after the first batch that differs, and after the newest of both, as
    far as Spark still keeps them; else as they are now. Nothing without state."""
    stateful = {entry.of.partition(OPERATOR)[0] for entry in entries if OPERATOR in entry.of}
    in_step = comparison is not None and comparison.query in stateful and _in_step(pair, comparison)
    return in_step or ({"As they are now": CompareState(pair.a, pair.b)} if stateful else {})


def _in_step(pair: Pair, comparison: Comparison) -> Places:
    stepped, query = comparison.lock_step, comparison.query
    if stepped is None:
        return {}
    kept = [{batch.batch for batch in session.workspace().ask(ListRetained(job)) if batch.query == query} for job in (pair.a, pair.b)]
    told = {stepped.until: "the newest of both"} | ({} if stepped.first is None else {stepped.first: "the first that differs"})
    return {
        f"After batch {batch:,}, {which}": CompareState(*(lockstep.point(job, query, batch) for job in (pair.a, pair.b)), query=query)
        for batch, which in sorted(told.items())
        if all(batch in of_job for of_job in kept)
    }


def _by_key(places: Places) -> None:
    """What compares the state key by key, and opens the difference when it is there."""
    subjects = {f"{change.a} {change.b}" for change in places.values()}

    def compares(operation: Operation) -> bool:
        return operation.kind == "compare-state" and operation.subject in subjects

    for operation in operations.ended(compares):
        if operation.state is OperationState.DONE:
            operations.put_away(operation.id)
            navigation.go("state", difference=operation.result or "")
    with st.container(horizontal=True, vertical_alignment="bottom", key="state_by_key"):
        picked = st.selectbox("State of both", list(places), key="state_of_both_at", width=430)
        if permitted.button(
            "Compare key by key", Role.OPERATOR, icon=":material/difference:", key="state_of_both_compare",
            help="Which keys were added, removed or changed",
        ) and picked:  # fmt: skip
            _begin(places[picked])
    operations.under_way(compares, key="state_of_both")


def _begin(change: CompareState) -> None:
    with errors_shown():
        operations.begin(change)
        st.rerun()
