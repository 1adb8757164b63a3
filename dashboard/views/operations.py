"""Work under way, wherever it was begun: what, how much of how much, how fast, how long still, Cancel; then what came of it.

What a session has begun, and what ran already when it began (a reload), is followed until its end and shown until it is put away;
what others begin meanwhile is shown as long as it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import streamlit as st

from dashboard import navigation, progress, session
from dashboard.dialogs import redraw
from dashboard.progress import Sample
from dashboard.widgets import errors_shown, message_box
from pipelines.domain.errors import TidemarkError
from pipelines.domain.operations import Operation, OperationState

Fits = Callable[[Operation], bool]
_NOTICED = ("stop", "cancel")
"""Kinds whose end is said otherwise (`undoing`); that of a drop, too, unless it failed."""


@dataclass
class Followed:
    """What one browser's session knows of operations."""

    newest: dict[str, Operation] = field(default_factory=dict)
    """Those that it follows, as last seen; put away, they are forgotten."""
    samples: dict[str, tuple[Sample, ...]] = field(default_factory=dict)
    cancelled: set[str] = field(default_factory=set)
    """Those whose end was asked for here."""
    adopted: bool = False


def _followed() -> Followed:
    if "operations" not in st.session_state:
        st.session_state["operations"] = Followed()
    known: Followed = st.session_state["operations"]
    return known


def begin(operation: Operation) -> None:
    """Follows what was just begun; what came of earlier work on the same subject is put away."""
    known = _followed().newest
    for named, seen in list(known.items()):
        if seen.state is not OperationState.RUNNING and operation.subject and seen.subject == operation.subject:
            del known[named]
    known[operation.id] = operation


def look() -> list[Operation]:
    """What is under way and what has ended of that which is followed, newest first; asks the workspace."""
    known = _followed()
    running: dict[str, Operation] = {one.id: one for one in _running()}
    if not known.adopted:
        known.newest |= running
        known.adopted = True
    for named, seen in list(known.newest.items()):
        if seen.state is OperationState.RUNNING:
            known.newest[named] = session.workspace().operation(named)
    now = session.now_ms()
    every = {**running, **known.newest}
    known.samples = {named: progress.sampled(known.samples.get(named, ()), one.amount, now) for named, one in every.items()}
    return sorted(every.values(), key=lambda one: (one.state is not OperationState.RUNNING, -one.created_ms))


def _running() -> Sequence[Operation]:
    return session.shared("operations", lambda: session.workspace().operations(running=True))


def put_away(operation: str) -> None:
    """Forgets an operation that has ended."""
    _followed().newest.pop(operation, None)


def cancels() -> bool:
    """Whether this session cancels something, or shows that it was."""
    return any(one.id in _followed().cancelled for one in _followed().newest.values())


def ended(fits: Fits) -> list[Operation]:
    """What has ended of that which is followed, as last seen."""
    return [one for one in _followed().newest.values() if one.state is not OperationState.RUNNING and fits(one)]


def draw(fits: Fits, *, key: str) -> list[Operation]:
    """Rows of those that fit, as of now; nothing where there is none. Returns what was drawn."""
    shown = [one for one in look() if fits(one) and not _noticed(one)]
    if shown:
        with st.container(border=True, key=f"card_operations_{key}", gap=None):
            for one in shown:
                row(one, key=key)
    return shown


def _noticed(one: Operation) -> bool:
    ended = one.state is not OperationState.RUNNING
    return (ended and one.kind in _NOTICED) or (one.kind == "drop" and one.state is OperationState.DONE)


def under_way(fits: Fits, *, key: str) -> None:
    """The rows that fit, kept up to date by themselves; where one ends, the page around them is drawn anew."""
    busy = any(one.state is OperationState.RUNNING for one in _followed().newest.values())
    known = _ends_seen(fits)
    st.fragment(lambda: _watch(fits, key, known), run_every=1 if busy else 2)()


def _watch(fits: Fits, key: str, known: set[str]) -> None:
    """`known` are the ends that the page around was drawn with: the indicator above may have seen a new one first."""
    with errors_shown():
        draw(fits, key=key)
        if _ends_seen(fits) - known:
            redraw()


def _ends_seen(fits: Fits) -> set[str]:
    return {one.id for one in ended(fits)}


def row(operation: Operation, *, key: str) -> None:
    """One operation, with Cancel while it runs."""
    running = operation.state is OperationState.RUNNING
    with st.container(horizontal=True, vertical_alignment="center", wrap=False, key=f"operation_{key}_{operation.id}"):
        samples = _followed().samples.get(operation.id, ())
        st.html(progress.bar(operation, samples, session.now_ms()) if running else progress.ending(operation), width="stretch")
        if running and operation.can_cancel:
            st.button("Cancel", icon=":material/cancel:", key=f"cancel_{key}_{operation.id}", on_click=_cancel, args=(operation.id,))
        elif not running:
            _next(operation, key)
            st.button(
                "", icon=":material/close:", type="tertiary", key=f"away_{key}_{operation.id}", help="Put away",
                on_click=put_away, args=(operation.id,),
            )  # fmt: skip
    refusal = st.session_state.get("cancel_refused", ("", None))
    if running and refusal[0] == operation.id and refusal[1]:
        message_box(refusal[1].message, refusal[1].hint, tag=refusal[1].code)


def _cancel(operation: str) -> None:
    st.session_state.pop("cancel_refused", None)
    try:
        begin(session.workspace().cancel(operation))
        _followed().cancelled.add(operation)
    except TidemarkError as error:
        st.session_state["cancel_refused"] = (operation, error)


def _next(operation: Operation, key: str) -> None:
    """The way to what came of it."""
    if operation.state is OperationState.DONE and operation.kind == "import" and st.button("Open it", key=f"open_{key}_{operation.id}"):
        put_away(operation.id)
        navigation.go("savepoints", savepoint=operation.result)
    checked = operation.kind in progress.CHECKS and session.selected("savepoint") != operation.subject
    if checked and st.button("Look at it", key=f"open_{key}_{operation.id}"):
        navigation.go("savepoints", savepoint=operation.subject)


def indicator() -> None:
    """What is under way, in the top bar of every page; nothing while nothing is."""
    with st.container(key="under_way"), errors_shown():
        running = [one for one in look() if one.state is OperationState.RUNNING]
        if running:
            with st.popover(f"{len(running)} under way", icon=":material/progress_activity:", key="under_way_list", type="tertiary"):
                for one in running:
                    row(one, key="top")
