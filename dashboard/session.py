"""The page scripts' hold on the server: the open workspace, the moment, the time zone, what the address selects.

A page script runs anew on every rerun, in a thread of its own; the workspace is one for the whole process. The server puts it
into this module when it starts. The page scripts themselves live elsewhere, so that a reload of one never empties it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, tzinfo
from functools import partial
from typing import TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dashboard.answers import Answers
from dashboard.entrance import shown_by
from pipelines.domain.access import OWNER, Access, Caller, Role
from pipelines.domain.audit import Record, unrecorded
from pipelines.domain.errors import TidemarkError, Unauthenticated, Unavailable
from pipelines.domain.events import PAGE
from pipelines.domain.ids import SavepointId
from pipelines.domain.space import SavepointSpace, Space
from pipelines.verbs.face import Face
from pipelines.verbs.limited import Limited
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.standby import hint_of, standby_of
from pipelines.verbs.system import ShowSpace
from pipelines.verbs.verb import Question

SPACE_AGE_MS = 15_000
SPACE_WAIT_S = 0.4
"""Longer than almost all workspaces need, shorter than what looks like a stop."""
SHARED_AGE_MS = 1_000
LOOPBACK = "127.0.0.1"
ZONE, IN_UTC = "zone", "UTC"
"""What the address says where somebody chose UTC."""
Active = Callable[[], str]
"""Answers the address of the active server."""
A = TypeVar("A")
_BEGAN = "page_began_ms"
_workspace: Face | None = None
_access: Access | None = None
_record: Record = unrecorded
_active: Active | None = None
_answers = Answers()


def open_with(workspace: Face | None, access: Access | None = None, record: Record = unrecorded, active: Active | None = None) -> None:
    """Gives the pages `workspace`, as `access` lets each browser use it; without one everybody is the owner. `record` writes what they do
    into the audit. On a standby `active` says which server has the workspace. None takes it away."""
    global _workspace, _access, _record, _active, _answers
    _workspace, _access, _record, _active, _answers = workspace, access, record, active, Answers()


def is_standby() -> bool:
    """Whether this server only reads, for another one has the workspace."""
    return _active is not None


def active() -> str:
    """The address of the server that a standby stands by for; empty where nobody says it."""
    return _active() if _active is not None else ""


def is_open() -> bool:
    """Whether a workspace is there."""
    return _workspace is not None


def workspace() -> Face:
    """The open workspace; Unavailable while the server starts or stops."""
    if _workspace is None:
        raise Unavailable("server.starting", "The workspace is not open yet.", "Wait a moment and reload the page.")
    return Limited(_workspace, caller(), _record, _origin()).acting(PAGE)


def _origin() -> str:
    """The browser's address; Streamlit says none for this machine's own."""
    return st.context.ip_address or LOOPBACK


def caller() -> Caller:
    """Who looks at this page, by what his browser showed; Unauthenticated once that lets him in no longer."""
    if _access is None:
        return OWNER
    shown = shown_by(_access, {name.lower(): value for name, value in st.context.headers.items()})
    if shown is None:
        raise Unauthenticated(
            "access.token", "You are let in no longer: your token or your sign-in has ended.", "Reload the page to come in again."
        )
    return shown


def refusal(needed: Role) -> str:
    """Why who looks at this page may not do what takes this role, as the hint of a button that is disabled; empty where he may.
    On a standby nobody may do anything."""
    if is_standby():
        return f"This server is {standby_of(active())}: it only reads. {hint_of(active())}"
    role = caller().role
    return "" if role.allows(needed) else f"Takes the role {needed}; yours is {role}"


def space() -> Space | None:
    """Disk space of all savepoints, at most `SPACE_AGE_MS` old and measured anew when a savepoint is added or removed. None while the first
    measurement runs: it reads the metadata of every file, so all browsers share it and no page waits longer than `SPACE_WAIT_S`."""
    known = frozenset(savepoint.id for savepoint in shared(ListSavepoints()))
    return _answers.soon((ShowSpace(), known), partial(workspace().ask, ShowSpace()), now_ms(), SPACE_AGE_MS, SPACE_WAIT_S)


def soon(question: Question[A], age_ms: float) -> tuple[A | None, TidemarkError | None] | None:
    """The answer to a question for which a storage elsewhere is asked, at most `age_ms` old and shared by all browsers of a role, or
    why there is none. None while it is asked for the first time: no page waits longer than `SPACE_WAIT_S`."""
    asked = workspace()

    def ask() -> tuple[A | None, TidemarkError | None]:
        try:
            return asked.ask(question), None
        except TidemarkError as error:
            return None, error

    return _answers.soon((question, caller().role, "soon"), ask, now_ms(), age_ms, SPACE_WAIT_S)


def spaces() -> Mapping[SavepointId, SavepointSpace]:
    """Disk space of each savepoint; empty while that is measured."""
    usage = space()
    return {entry.savepoint: entry for entry in usage.savepoints} if usage else {}


def shared(question: Question[A], *, by: Hashable = None, age_ms: float = 0) -> A:
    """The answer to `question`, shared by all browsers that ask the same in the same role. A fragment that refreshes itself takes one of
    the last second; a whole run of a page takes none from before it began. `age_ms` allows older answers in both cases. `by` is the key
    to share by where the question contains the time."""
    now = now_ms()
    fresh = SHARED_AGE_MS if refreshing() else now - st.session_state.get(_BEGAN, now)
    return _answers.given((by or question, caller().role), partial(workspace().ask, question), now, max(fresh, age_ms))


def page_begins() -> None:
    """A whole run of the page begins: what it asks for is answered as of now."""
    st.session_state[_BEGAN] = now_ms()


def refreshing() -> bool:
    """Whether this run is of a fragment that refreshes itself, not of the whole page."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)


def now_ms() -> float:
    """The moment in epoch ms; pages pass it on, so that everything on a page is as of one moment."""
    return time.time() * 1_000


def zone() -> tzinfo:
    """The time zone that everything on the page is told in: the browser's, unless somebody chose UTC."""
    if get_script_run_ctx(suppress_warning=True) is None or st.session_state.get(ZONE) == IN_UTC:
        return UTC
    return browser_zone()


def browser_zone() -> tzinfo:
    """The browser's time zone, UTC where it is not known."""
    name = st.context.timezone
    if not name:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def selected(name: str, default: str = "") -> str:
    """The value of `name` in the address (`?job=…`), so that a pasted link shows the same."""
    return str(st.query_params.get(name, default))


def select(**values: str) -> None:
    """Puts a selection into the address; an empty value leaves it."""
    for name, value in values.items():
        if value:
            st.query_params[name] = value
        elif name in st.query_params:
            del st.query_params[name]


def url() -> str:
    """Where this server answers, as the browser sees it."""
    from urllib.parse import urlsplit

    parts = urlsplit(st.context.url or "http://127.0.0.1:8501")
    return f"{parts.scheme}://{parts.netloc}"
