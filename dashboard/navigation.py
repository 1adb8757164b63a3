"""The pages, and the ways from one to another: by name, with the selection of the other page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import NoReturn
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dashboard import address


@dataclass(frozen=True)
class Listed:
    """A page as the top bar lists it; `path` is its address."""

    title: str
    icon: str
    path: str
    hidden: bool = False
    letter: str = ""
    """After `g` this key opens it."""


PAGES: Mapping[str, Listed] = {
    "overview": Listed("Overview", ":material/monitoring:", "overview", letter="o"),
    "job": Listed("Job", ":material/stream:", "job", hidden=True),
    "savepoints": Listed("Savepoints", ":material/bookmarks:", "savepoints", letter="s"),
    "versions": Listed("Versions", ":material/account_tree:", "versions", letter="v"),
    "experiments": Listed("Experiments", ":material/compare:", "experiments", letter="x"),
    "alerts": Listed("Alerts", ":material/notifications:", "alerts", letter="a"),
    "events": Listed("Events", ":material/history:", "events", letter="e"),
    "settings": Listed("Settings", ":material/settings:", "settings", letter="t"),
    "new_job": Listed("New job", ":material/add:", "new", hidden=True),
    "fork": Listed("Fork", ":material/call_split:", "fork", hidden=True),
    "state": Listed("State", ":material/database:", "state", hidden=True),
    "upgrade": Listed("Upgrade", ":material/upgrade:", "upgrade", hidden=True),
}
"""Module in `views` -> page, in the order of the top bar. The first one is what opens."""
FIRST = next(iter(PAGES))


def page(name: str) -> st.Page:
    """The page of the module `name`, for `st.page_link` and `st.navigation`; the module is read when the page is drawn."""
    listed = PAGES[name]
    return st.Page(
        _drawing(name),
        title=listed.title,
        icon=listed.icon,
        url_path=listed.path,
        default=name == FIRST,
        visibility="hidden" if listed.hidden else "visible",
    )


def go(name: str, **query: str) -> NoReturn:
    """Opens the page `name` with this selection in its address; empty values are left out."""
    st.switch_page(page(name), query_params=_given(query))


def link(name: str, label: str, *, icon: str = "", **query: str) -> None:
    """A link to the page `name` with this selection."""
    st.page_link(page(name), label=label, icon=icon or None, query_params=_given(query))


def path_of(name: str) -> str:
    """The address of the page `name` without a selection."""
    return "/" if name == FIRST else f"/{PAGES[name].path}"


def href(name: str, **query: str) -> str:
    """The address of the page `name` with this selection, for a link in HTML."""
    return _address(path_of(name), tuple((_given(query) | _going_along()).items()))


@lru_cache(maxsize=8_192)
def _address(path: str, query: tuple[tuple[str, str], ...]) -> str:
    """Kept, because tables ask for the same ones every two seconds."""
    return f"{path}?{urlencode(query)}" if query else path


def _going_along() -> dict[str, str]:
    """A link in HTML begins a session of its own, so what goes along must stand in it: the pause, and the time zone."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return {}
    paused = {} if st.session_state.get("live", True) else {"live": "false"}
    return paused | ({"zone": "UTC"} if st.session_state.get("zone") == "UTC" else {})


def _given(query: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in query.items() if value}


def _drawing(name: str) -> Callable[[], None]:
    def draw() -> None:
        module = import_module(f"dashboard.views.{name}")
        address.check(getattr(module, "ADDRESS", {}))
        module.page()

    draw.__name__ = name
    return draw
