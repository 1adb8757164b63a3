"""State variables of a transformWithState: what the operator's metadata says of them (`operatorPropertiesJson`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.checkpoint import logs, operators

KINDS = {"ValueState": "value", "ListState": "list", "MapState": "map"}
"""Spark's name of a kind (StateVariableType) -> ours. Timers are a kind too, which Spark reads in another way."""
TIMERS = "TimerState"


@dataclass(frozen=True)
class Variable:
    """One state variable; `kind` is value, list or map."""

    name: str
    kind: str


def parse(path: str, data: bytes) -> tuple[Variable, ...]:
    """The variables that the operator metadata `data` names, none for other operators; raises Corrupt, Unsupported."""
    return tuple(_variable(path, variable) for variable in _listed(path, data) if variable.get("stateVariableType") in KINDS)


def timers(path: str, data: bytes) -> str:
    """Spark's name of the timers that the operator registers (`$eventTimers_keyToTimestamp`); empty where it has none."""
    named = (logs.field(path, raw, "stateName", str) for raw in _listed(path, data) if raw.get("stateVariableType") == TIMERS)
    return next(named, "")


def _listed(path: str, data: bytes) -> list[dict[str, Any]]:
    raw = logs.json_object(path, "\n".join(logs.parse(path, data, operators.NEWEST).lines))
    properties = logs.field(path, raw, "operatorPropertiesJson", str, "")
    variables: list[Any] = logs.field(path, logs.json_object(path, properties), "stateVariables", list, []) if properties else []
    return [variable for variable in variables if isinstance(variable, dict)]


def _variable(path: str, raw: dict[str, Any]) -> Variable:
    return Variable(logs.field(path, raw, "stateName", str), KINDS[logs.field(path, raw, "stateVariableType", str)])
