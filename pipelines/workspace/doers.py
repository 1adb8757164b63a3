"""Registers the functions of this package that answer questions and plan changes, by the declaration in `pipelines.verbs`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar, overload

import pipelines.workspace
from pipelines.domain.operations import Operation
from pipelines.domain.versions import Version
from pipelines.verbs.verb import Change, Question
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket

A = TypeVar("A")
P = TypeVar("P")
Q = TypeVar("Q")


@dataclass(frozen=True)
class Planned(Generic[A, P]):
    """A change that was planned: what it will do, as people are shown it, and the doing of exactly that.

    `do` answers with the change's answer; where that is an operation, with what the operation says came of it (a text).
    """

    plan: P
    do: Callable[[Ticket], A]
    begins: Version | None = None
    """The version that a job begins with: who looks at the plan is likely to want it, and a Spark is warmed up for it."""


@dataclass(frozen=True)
class Recorded(Generic[P]):
    """A planned change that is only recorded here, as an operation, and carried out by the supervisor."""

    plan: P
    do: Callable[[], Operation]


_answerers: dict[type[Question[Any]], Callable[[Context, Any], Any]] = {}
_planners: dict[type[Change[Any, Any]], Callable[[Context, Any], Planned[Any, Any] | Recorded[Any]]] = {}


def answers(kind: type[Question[A]]) -> Callable[[Callable[[Context, Q], A]], Callable[[Context, Q], A]]:
    """Marks the function that answers a question."""

    def mark(function: Callable[[Context, Q], A]) -> Callable[[Context, Q], A]:
        _answerers[kind] = function
        return function

    return mark


class plans(Generic[P]):
    """Marks the function that plans a change; it refuses what the change would refuse, and changes nothing."""

    def __init__(self, kind: type[Change[Any, P]]) -> None:
        self._kind = kind

    @overload
    def __call__(self, function: Callable[[Context, Q], Planned[A, P]]) -> Callable[[Context, Q], Planned[A, P]]: ...

    @overload
    def __call__(self, function: Callable[[Context, Q], Recorded[P]]) -> Callable[[Context, Q], Recorded[P]]: ...

    def __call__(self, function: Callable[[Context, Any], Any]) -> Callable[[Context, Any], Any]:
        _planners[self._kind] = function
        return function


def answerer(kind: type[Question[Any]]) -> Callable[[Context, Any], Any]:
    """The function that answers questions of this kind."""
    _load()
    return _answerers[kind]


def planner(kind: type[Change[Any, Any]]) -> Callable[[Context, Any], Planned[Any, Any] | Recorded[Any]]:
    """The function that plans changes of this kind."""
    _load()
    return _planners[kind]


@cache
def _load() -> None:
    """Imports every module of this package and of those in it, so that its functions are registered."""
    for module in pkgutil.walk_packages(pipelines.workspace.__path__, f"{pipelines.workspace.__name__}."):
        importlib.import_module(module.name)
