"""Pieces that every page is made of: header, facts, empty state, error box, command, question."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from html import escape
from types import TracebackType
from typing import Any, Literal

import streamlit as st

from dashboard import field_names, permitted, session
from dashboard.dialogs import answer, dialog
from pipelines.domain.access import Role
from pipelines.domain.errors import TidemarkError
from pipelines.domain.runs import RunState
from pipelines.words import formats

Tone = Literal["gray", "blue", "green", "orange", "red"]

STATES: dict[RunState | None, tuple[str, Tone]] = {
    None: ("Never ran", "gray"),
    RunState.WANTED: ("Waiting", "blue"),
    RunState.STARTING: ("Starting", "blue"),
    RunState.RUNNING: ("Running", "green"),
    RunState.STOPPING: ("Stopping", "orange"),
    RunState.STOPPED: ("Stopped", "gray"),
    RunState.WATCHED: ("Watched", "blue"),
    RunState.FINISHED: ("Finished", "gray"),
    RunState.FAILED: ("Failed", "red"),
    RunState.RESTARTING: ("Restarting", "orange"),
}


def chip(text: str, tone: Tone = "gray", *, dot: bool = False, live: bool = False, mono: bool = False, hint: str = "") -> str:
    """A small tinted label, as HTML."""
    mark = f'<span class="tm-dot{" live" if live else ""}"></span>' if dot else ""
    shape = " square mono" if mono else ""
    title = f' title="{escape(hint)}"' if hint else ""
    return f'<span class="tm-chip {tone}{shape}"{title}>{mark}{escape(text)}</span>'


def state_chip(state: RunState | None) -> str:
    """The state of a run in its colour and in words, as HTML."""
    text, tone = STATES[state]
    return chip(text, tone, dot=True, live=state in (RunState.RUNNING, RunState.STARTING, RunState.STOPPING))


def when(at_ms: float | None, now_ms: float) -> str:
    """A relative time with the exact one on hover, as HTML."""
    if at_ms is None:
        return formats.MISSING
    exact = formats.exact(at_ms, session.zone())
    return f'<time datetime="{exact}" title="{exact}">{formats.ago(at_ms, now_ms)}</time>'


@contextmanager
def page_header(title: str, *, chips: Sequence[str] = (), caption: str = "", key: str = "head") -> Iterator[None]:
    """The page's title with chips (HTML of `chip`) and a caption (HTML); what is drawn inside stands at the right, the actions.

    >>> with page_header("post_engagement", chips=[state_chip(run.state)]):
    ...     st.button("Savepoint", icon=":material/bookmark_add:")
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=key):
        note = f'<span class="tm-caption">{caption}</span>' if caption else ""
        st.html(f'<div class="tm-head"><h1>{escape(title)}</h1>{"".join(chips)}{note}</div>', width="stretch")
        yield


def section(title: str, caption: str = "") -> None:
    """A heading inside a page."""
    note = f'<span class="tm-caption">{caption}</span>' if caption else ""
    st.html(f'<div class="tm-section"><h2>{escape(title)}</h2>{note}</div>')


def facts(pairs: Sequence[tuple[str, str]]) -> None:
    """Names with their values; a value is HTML (use `plain_facts` for what is none)."""
    rows = "".join(f"<div><dt>{escape(name[:1].upper() + name[1:])}</dt><dd>{value}</dd></div>" for name, value in pairs)
    st.html(f'<dl class="tm-facts">{rows}</dl>')


def plain_facts(pairs: Sequence[tuple[str, str]]) -> None:
    """Names with their values, which are text."""
    facts([(name, escape(value)) for name, value in pairs])


@contextmanager
def empty_state(title: str, sentence: str, *, key: str) -> Iterator[None]:
    """The box of a page without data: a sentence on what this is; inside, the one next step (a button, a command)."""
    with st.container(border=True, key=f"empty_{key}", horizontal_alignment="center"):
        st.html(f'<div class="tm-empty"><div class="tm-icon"></div><h3>{escape(title)}</h3><p>{escape(sentence)}</p></div>')
        yield


def message_box(title: str, text: str = "", *, tone: Tone = "red", tag: str = "") -> None:
    """A bordered note with a coloured edge."""
    label = chip(tag, tone, mono=True) if tag else ""
    body = "".join(f"<p>{paragraph}</p>" for paragraph in (with_code(text), escape(field_names.said(text))) if paragraph)
    role = "alert" if tone == "red" else "status"
    st.html(f'<div class="tm-box {tone}" role="{role}"><div class="tm-box-head"><strong>{escape(title)}</strong>{label}</div>{body}</div>')


def with_code(text: str) -> str:
    """`text` as HTML, with what stands in backticks as code."""
    return re.sub(r"`([^`]+)`", r'<code class="tm-mono">\1</code>', escape(text))


def error_box(error: TidemarkError) -> None:
    """The message of an error, its stable code, and its hint."""
    message_box(error.message, error.hint, tag=error.code)


class errors_shown(AbstractContextManager[None, bool]):
    """Shows a TidemarkError of the block as a box, so that the rest of the page and what was typed stay."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if isinstance(error, TidemarkError):
            error_box(error)
        return isinstance(error, TidemarkError)


@contextmanager
def popover(
    label: str, *, icon: str, key: str, help: str | None = None, type: Literal["secondary", "tertiary"] = "secondary"
) -> Iterator[None]:
    """A button that opens what is drawn inside; `close` closes it when its action is done."""
    named = f"{key}_{_turn(key)}"
    with st.container(key=key, width="content"), st.popover(label, icon=icon, key=named, help=help, type=type, on_change="rerun"):
        yield


def menu(key: str) -> AbstractContextManager[None]:
    """The button with three dots; inside, an `entry` for each of the things that are done less often."""
    return popover("More", icon=":material/more_horiz:", key=key, help="More")


def entry(label: str, *, icon: str, key: str, of: str, help: str | None = None, role: Role = Role.VIEWER) -> bool:
    """A line of the menu `of`, which closes where it is pressed: it would cover the dialog that opens."""
    return permitted.button(label, role, icon=icon, type="tertiary", key=key, help=help, on_click=close, args=(of,))


def _turn(key: str) -> int:
    return int(st.session_state.get(f"{key}_turn", 0))


def close(key: str) -> None:
    """Closes a popover. The next one is another: a browser that is told to close one does so only if it was told before that it is open."""
    st.session_state[f"{key}_turn"] = _turn(key) + 1


def draw_again(changed: bool, *buttons: str) -> None:
    """Draws the page again where what was typed changed it, unless one of `buttons` (keys), which are read further down, was pressed
    together with the last letter: a rerun would lose the click."""
    if changed and not any(st.session_state.get(key) for key in buttons):
        st.rerun()


def command(text: str, *, label: str = "") -> None:
    """A command to copy, with the button that copies it."""
    if label:
        st.caption(label, width="content")
    st.code(text, language="bash", wrap_lines=True, width="content")


def confirm(
    title: str,
    says: str,
    action: str,
    act: Callable[[], Any],
    *,
    details: str = "",
    refused: TidemarkError | None = None,
    danger: bool = False,
) -> None:
    """Asks once, in a dialog that says what will happen; `act` runs on yes and its TidemarkError is shown there. What is `refused` already
    says why, and cannot be agreed to. `danger`: it cannot be undone."""

    @dialog(title)
    def ask() -> None:
        st.markdown(says)
        if details:
            st.caption(details)
        if refused is not None:
            error_box(refused)
        if answer(action, "confirm", disabled=refused is not None, danger=danger):
            with errors_shown():
                act()
                st.rerun()

    ask()
