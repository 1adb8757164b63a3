"""Additions of the command line to a declaration: the text of its answer, filled-in fields, parameters of its own. All are optional.

The modules of `nouns/` add when they are imported; `commands.py` makes the commands.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pipelines.cli import shelves
from pipelines.cli.output import Table
from pipelines.cli.session import Here
from pipelines.domain.errors import TidemarkError
from pipelines.verbs.declaration import answer_type
from pipelines.verbs.verb import Asked, Change

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Shown:
    """The output of a command: the `value` as JSON or the `text`, and the error that decides its exit code."""

    value: Any
    text: str | Table
    error: TidemarkError | None = None


Text = str | Table | Shown | None
"""How an answer is shown: its text, with a value of its own as JSON, or (None) as any answer is."""
Shows = Callable[[Here, Any, Any], Text]
"""Of the declaration's value and its answer, or its plan."""
Becomes = Callable[[Here, Any], Asked[Any]]
"""Of the declaration's value, what the command asks in its place; `Here.words` has what was typed."""
Completes = Callable[[Here, Mapping[str, Any]], Mapping[str, Any]]
"""Of the fields that were given, those that it adds or changes; `Here.words` has what was typed."""


@dataclass(frozen=True)
class Parameter:
    """A parameter besides the fields: its type on the shell, typer's Option or Argument, its default (none: it has to be given)."""

    kind: Any
    info: Any
    default: Any = inspect.Parameter.empty


@dataclass
class Addition:
    """All that is added to a declaration."""

    parameters: dict[str, Parameter] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    """Another default than the declaration's, by field."""
    filled: set[str] = field(default_factory=set)
    """Fields that `completes` fills in where they are not given."""
    exclusive: list[tuple[str, ...]] = field(default_factory=list)
    """Fields and parameters of which at most one is given."""
    completes: Completes | None = None
    becomes: Becomes | None = None
    shows: Shows | None = None
    plans: Shows | None = None


@dataclass(frozen=True)
class Alias:
    """Another command of a declaration, with some fields fixed."""

    word: str
    kind: type[Change[Any, Any]]
    help: str
    fixed: Mapping[str, Any]
    without: tuple[str, ...]
    defaults: Mapping[str, Any]


@dataclass(frozen=True)
class ByHand:
    """A command that is written, not made: its first parameter is `Here`."""

    word: str
    topic: str
    function: Callable[..., None]


ALIASES: list[Alias] = []
BY_HAND: list[ByHand] = []
GROUPS: dict[str, str] = {}
"""Words that commands begin with -> help."""
_additions: dict[Any, Addition] = defaultdict(Addition)


def shows(*kinds: Any, **parameters: Parameter) -> Callable[[F], F]:
    """The decorated function (`Shows`) shows the answers of declarations, or all answers of a type, with `parameters` of its own."""

    def add(function: F) -> F:
        for kind in kinds:
            _additions[kind].shows = function
            _additions[kind].parameters |= parameters
        return function

    return add


def plans(kind: Any) -> Callable[[F], F]:
    """The decorated function (`Shows`) shows the declaration's plan."""

    def add(function: F) -> F:
        _additions[kind].plans = function
        return function

    return add


def completes(kind: Any, *fills: str, **parameters: Parameter) -> Callable[[F], F]:
    """The decorated function (`Completes`) adds fields to those given; those of `fills` need not be given."""

    def add(function: F) -> F:
        _additions[kind].completes = function
        _additions[kind].filled |= set(fills)
        _additions[kind].parameters |= parameters
        return function

    return add


def becomes(kind: Any, **parameters: Parameter) -> Callable[[F], F]:
    """The decorated function (`Becomes`) says what the command asks in place of the declaration's value, with `parameters` of its own."""

    def add(function: F) -> F:
        _additions[kind].becomes = function
        _additions[kind].parameters |= parameters
        return function

    return add


def excludes(kind: Any, *names: str) -> None:
    """At most one of these fields is given: a usage error for more."""
    _additions[kind].exclusive.append(names)


def defaults(kind: Any, **values: Any) -> None:
    """Sets other defaults for the fields of a declaration on the command line."""
    _additions[kind].defaults |= values


def alias(word: str, kind: type[Change[Any, Any]], help: str, *, without: tuple[str, ...] = (), timeout: float, **fixed: Any) -> None:
    """Adds a command of a declaration whose fields in `fixed` are so, and that has none of `without`."""
    ALIASES.append(Alias(word, kind, help, fixed, without, {"timeout": timeout}))


def command(word: str, topic: str) -> Callable[[F], F]:
    """The decorated function is a command; `commands.by_hand` gives it `--workspace`, `--json` and what it is called with."""

    def add(function: F) -> F:
        BY_HAND.append(ByHand(word, topic, function))
        return function

    return add


def group(word: str, help: str) -> None:
    """Sets the help of the commands that begin with a word."""
    GROUPS[word] = help


def of(kind: type[Asked[Any]]) -> Addition:
    """The additions of a declaration; the function that shows its answer, with its parameters, may be that of the answer's type."""
    answer = _type_of_answer(kind)
    for name in (kind.__name__, getattr(answer, "__name__", "")):
        shelves.about(name)
    own, common = _additions.get(kind, Addition()), _additions.get(answer)
    if own.shows is not None or common is None:
        return own
    return replace(own, shows=common.shows, parameters=common.parameters | own.parameters)


def _type_of_answer(kind: type[Asked[Any]]) -> Any:
    answer = answer_type(kind)
    return answer if isinstance(answer, type) else None
