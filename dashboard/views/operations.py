"""Operations, wherever they were begun: title, progress, rate, time left, Cancel; then their outcome.

A session follows the operations that it begins, and those that run when it begins (a reload), and shows them until they are closed.
Operations of others are shown while they run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from dashboard import navigation, once, permitted, progress, session
from dashboard.dialogs import redraw
from dashboard.widgets import errors_shown, message_box
from pipelines.domain.access import Role
from pipelines.domain.errors import TidemarkError
from pipelines.domain.operations import Operation, OperationState
from pipelines.verbs.operations import CancelOperation, ListOperations, ShowOperation
from pipelines.verbs.verb import Change
from pipelines.words import pace
from pipelines.words.pace import Sample

Fits = Callable[[Operation], bool]
_NOTICED = ("stop", "cancel")
"""Kinds whose end is said otherwise (`outcomes`); that of a drop, too, unless it failed."""


@dataclass
class Followed:
    """The operations that one browser's session follows."""

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


def begin(change: Change[Any, Any]) -> None:
    """Begins a change, and follows its operation."""
    begun = once.begin(change)
    if begun.operation is not None:
        follow(begun.operation)


def follow(operation: Operation) -> None:
    """Follows a new operation; ended ones on the same subject are closed."""
    known = _followed().newest
    for named, seen in list(known.items()):
        if seen.state is not OperationState.RUNNING and operation.subject and seen.subject == operation.subject:
            del known[named]
    known[operation.id] = operation


def look() -> list[Operation]:
    """All running operations and the ended ones that are followed, newest first; asks the workspace."""
    known = _followed()
    under_way: dict[str, Operation] = {operation.id: operation for operation in running()}
    if not known.adopted:
        known.newest |= under_way
        known.adopted = True
    for named, seen in list(known.newest.items()):
        if seen.state is OperationState.RUNNING:
            known.newest[named] = session.workspace().ask(ShowOperation(named))
    now = session.now_ms()
    every = {**under_way, **known.newest}
    known.samples = {named: pace.sampled(known.samples.get(named, ()), operation.amount, now) for named, operation in every.items()}
    return sorted(every.values(), key=lambda operation: (operation.state is not OperationState.RUNNING, -operation.created_ms))


def running() -> Sequence[Operation]:
    """All running operations; none on a standby, which cannot know them."""
    return () if session.is_standby() else session.shared(ListOperations(running=True))


def put_away(operation: str) -> None:
    """Forgets an operation that has ended."""
    _followed().newest.pop(operation, None)


def cancels() -> bool:
    """Whether this session cancels an operation, or shows one that it cancelled."""
    return any(operation.id in _followed().cancelled for operation in _followed().newest.values())


def ended(fits: Fits) -> list[Operation]:
    """The followed operations that have ended, as last seen."""
    return [operation for operation in _followed().newest.values() if operation.state is not OperationState.RUNNING and fits(operation)]


def draw(fits: Fits, *, key: str) -> list[Operation]:
    """Draws a row for each operation that fits, and returns them; nothing where there is none."""
    shown = [operation for operation in look() if fits(operation) and not _noticed(operation)]
    if shown:
        with st.container(border=True, key=f"card_operations_{key}", gap=None):
            for operation in shown:
                row(operation, key=key)
    return shown


def _noticed(operation: Operation) -> bool:
    ended = operation.state is not OperationState.RUNNING
    return (ended and operation.kind in _NOTICED) or (operation.kind == "drop" and operation.state is OperationState.DONE)


def under_way(fits: Fits, *, key: str) -> None:
    """The rows that fit, which refresh themselves; when one ends, the whole page is drawn again."""
    busy = any(operation.state is OperationState.RUNNING for operation in _followed().newest.values())
    known = _ends_seen(fits)
    st.fragment(lambda: _watch(fits, key, known), run_every=1 if busy else 2)()


def _watch(fits: Fits, key: str, known: set[str]) -> None:
    """`known` are the ended operations that the page was drawn with: the indicator in the top bar may see a new one first."""
    with errors_shown():
        draw(fits, key=key)
        if _ends_seen(fits) - known:
            redraw()


def _ends_seen(fits: Fits) -> set[str]:
    return {operation.id for operation in ended(fits)}


def row(operation: Operation, *, key: str) -> None:
    """One operation, with Cancel while it runs."""
    running = operation.state is OperationState.RUNNING
    with st.container(horizontal=True, vertical_alignment="center", wrap=False, key=f"operation_{key}_{operation.id}"):
        samples = _followed().samples.get(operation.id, ())
        st.html(progress.bar(operation, samples, session.now_ms()) if running else progress.ending(operation), width="stretch")
        if running and operation.can_cancel:
            permitted.button(
                "Cancel",
                Role.OPERATOR,
                icon=":material/cancel:",
                key=f"cancel_{key}_{operation.id}",
                on_click=_cancel,
                args=(operation.id,),
            )
        elif not running:
            _next(operation, key)
            st.button(
                "", icon=":material/close:", type="tertiary", key=f"away_{key}_{operation.id}", help="Dismiss",
                on_click=put_away, args=(operation.id,),
            )  # fmt: skip
    refusal = st.session_state.get("cancel_refused", ("", None))
    if running and refusal[0] == operation.id and refusal[1]:
        message_box(refusal[1].message, refusal[1].hint, tag=refusal[1].code)


def _cancel(operation: str) -> None:
    st.session_state.pop("cancel_refused", None)
    try:
        follow(once.do(CancelOperation(operation)))
        _followed().cancelled.add(operation)
    except TidemarkError as error:
        st.session_state["cancel_refused"] = (operation, error)


def _next(operation: Operation, key: str) -> None:
    """The link to the result of an operation."""
    if (
        operation.state is OperationState.DONE
        and operation.kind == "import"
        and st.button("Open savepoint", key=f"open_{key}_{operation.id}")
    ):
        put_away(operation.id)
        navigation.go("savepoints", savepoint=operation.result)
    checked = progress.kind_of(operation).checks and session.selected("savepoint") != operation.subject
    if checked and st.button("Open savepoint", key=f"open_{key}_{operation.id}"):
        navigation.go("savepoints", savepoint=operation.subject)


def indicator() -> None:
    """The running operations in the top bar of every page; nothing while there is none."""
    with st.container(key="under_way"), errors_shown():
        running = [operation for operation in look() if operation.state is OperationState.RUNNING]
        if running:
            with st.popover(f"{len(running)} under way", icon=":material/progress_activity:", key="under_way_list", type="tertiary"):
                for operation in running:
                    row(operation, key="top")
