"""What a declaration says of itself: its fields and where REST has them, its answer, its plan, its summary."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from enum import Enum
from typing import Any, get_args, get_origin

from pipelines.domain.secrets import without_credentials
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Asked, Change, Question, spelling

NAMING = frozenset({Reads.PLACE, Reads.SAVEPOINT, Reads.CHECKPOINT})
MOST_SUBJECT = 1_000


def parts(kind: type[Asked[Any]], *places: str) -> list[Field[Any]]:
    """The fields that a REST call of `kind` has at one of `places` (all of them for none), in the order of the declaration."""
    return [part for part in fields(kind) if not places or place(kind, part) in places]  # type: ignore[arg-type]


def hints(kind: type[Asked[Any]]) -> dict[str, Any]:
    """The type of each field."""
    return {name: hint for base in reversed(kind.__mro__) for name, hint in _own_hints(base).items()}


@functools.cache
def _own_hints(base: type) -> Mapping[str, Any]:
    """Those of one class, read once: all declarations share their bases."""
    return inspect.get_annotations(base, eval_str=True)


def place(kind: type[Asked[Any]], part: Field[Any]) -> str:
    """`path`, `query` or `body`."""
    return spelling(part).at or ("body" if kind.http.method in ("POST", "PATCH", "PUT") else "query")


def default_of(part: Field[Any]) -> Any:
    """The default of a field; MISSING where it has to be given."""
    return part.default_factory() if part.default_factory is not MISSING else part.default


def subject(asked: Asked[Any]) -> str:
    """What is named, for people who look later: the fields of the path, names, places, choices (a role); no code,
    no conf, and of a URL no part that may hold a secret."""
    values = [(part, getattr(asked, part.name)) for part in parts(type(asked))]
    named = [_shown(value) for part, value in values if isinstance(value, Enum) or _names(type(asked), part)]
    return " ".join(filter(None, named))[:MOST_SUBJECT]


def command_of(asked: Asked[Any]) -> str:
    """The words of its command without what they name: `savepoint`, `token create`, `cancel`; its call where no command is it."""
    declared = (asked.command or asked.within).partition(" --")[0]
    typed = " ".join(asked.words() or ())
    if typed and not typed.startswith(f"{declared} "):
        return typed.partition(" ")[0]
    return declared or asked.call


def _names(kind: type[Asked[Any]], part: Field[Any]) -> bool:
    return place(kind, part) == "path" or part.name in ("name", "job", "jobs") or spelling(part).reads in NAMING


def _shown(value: Any) -> str:
    return " ".join(map(_shown, value)) if isinstance(value, tuple) else without_credentials(str(value or ""))


def answer_type(kind: type[Asked[Any]]) -> Any:
    """`A` of the declaration."""
    return _arguments(kind)[0]


def plan_type(kind: type[Change[Any, Any]]) -> Any:
    """`P` of the declaration."""
    return _arguments(kind)[1]


def _arguments(kind: type[Asked[Any]]) -> tuple[Any, ...]:
    bases = vars(kind)["__orig_bases__"]
    return next(get_args(base) for base in bases if get_origin(base) in (Question, Change))


def summary(kind: type[Asked[Any]]) -> str:
    """The first sentence of its docstring, without the full stop."""
    return (kind.__doc__ or "").split(".")[0].strip()
