"""What an address may say. Each page declares it as `ADDRESS`; a value that fits nothing is shown on the page, never passed over."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

import streamlit as st

from dashboard import session
from dashboard.widgets import message_box

_TYPED = "typed_address"


@dataclass(frozen=True)
class Value:
    """Which texts fit a name in the address, and how that is told: `It may say {words}.`"""

    fits: Callable[[str], bool]
    words: str


def one_of(*values: str) -> Value:
    """One of these texts."""
    return Value(frozenset(values).__contains__, " or ".join(filter(None, (", ".join(values[:-1]), values[-1]))))


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


MOMENT = Value(_is_moment, "a time, such as 2026-11-21T03:10:00Z")
NUMBER = Value(str.isdecimal, "a number")
SWITCH = one_of("true", "false")
YES = one_of("yes")
EVERYWHERE: Mapping[str, Value] = {"zone": one_of("local", session.IN_UTC), "live": SWITCH}


def page_begins() -> None:
    """Remembers the address as it was typed, before widgets take out of it what they do not know."""
    st.session_state[_TYPED] = {name: str(value) for name, value in st.query_params.items()}


def check(values: Mapping[str, Value]) -> None:
    """Says what in the address fits none of the page's values."""
    for name, value in {**EVERYWHERE, **values}.items():
        text = typed(name)
        if text and not value.fits(text):
            _wrong(name, text, f"It may say {value.words}.")


def check_among(name: str, there: Collection[str], what: str) -> None:
    """Says so where `name` is something in the address that is not `there`: a job, a batch."""
    text = typed(name)
    if text and text not in there:
        _wrong(name, text, f"There is no such {what} here.")


def typed(name: str) -> str:
    """The value of `name` in the address as it was when the page began; empty where something else was chosen since."""
    text, now = str(st.session_state.get(_TYPED, {}).get(name, "")), session.selected(name)
    return text if now in ("", text) else ""


def _wrong(name: str, text: str, hint: str) -> None:
    message_box(f"The address says {name}={text}", f"{hint} It was left out.", tone="orange")
