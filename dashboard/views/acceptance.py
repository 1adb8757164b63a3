"""What somebody says of the state under changed code: what of it is dropped, and which operator goes on as which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from pipelines.domain import placement_choices
from pipelines.domain.verdicts import Verdict

DROP_HELP = "The code has no place for it any more. It stays in the savepoint; the copy that this begins on is without it."
MAP_HELP = (
    "The plans do not tell. Spark numbers operators from the sink up; the table of operators above has what each one computes. A state "
    "variable that was renamed goes on under its new name."
)
UNSAID, DROPPED = "", "dropped"


@dataclass(frozen=True)
class Accepted:
    """What was said, by the names of operators, state variables and queries."""

    drop: tuple[str, ...] = ()
    map: Mapping[str, str] = field(default_factory=dict)
    """Operator, or state variable, before -> now."""


def accepted(verdict: Verdict | None, key: str) -> Accepted:
    """A choice for each operator or state variable that could go on as another one of the code, and a box for each part of the state that
    is dropped."""
    if verdict is None:
        return Accepted()
    told: dict[str, str] = {}
    names = dict.fromkeys(verdict.dropped)
    for name, candidates in placement_choices.choices(verdict).items():
        free = [candidate for candidate in candidates if candidate not in told.values()]
        told[name] = _choice(name, free, key, may_drop=name not in names)
    map = {name: new for name, new in told.items() if new not in (UNSAID, DROPPED)}
    boxes = [name for name in names if name not in map and _box(name, key)]
    return Accepted((*boxes, *(name for name, new in told.items() if new == DROPPED)), map)


def _choice(name: str, candidates: Sequence[str], key: str, *, may_drop: bool) -> str:
    labels = {UNSAID: "not said", **{new: f"goes on as {new}" for new in candidates}, **({DROPPED: "is dropped"} if may_drop else {})}
    choice = st.selectbox(f"The state of `{name}`", list(labels), format_func=labels.__getitem__, key=f"map_{key}_{name}", help=MAP_HELP)
    return choice or UNSAID


def _box(name: str, key: str) -> bool:
    return st.checkbox(f"Drop the state of `{name}`", key=f"drop_{key}_{name}", help=DROP_HELP)
