"""Dataclasses as JSON between two interpreters that have nothing in common but Python's own library: `asdict` has written it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from itertools import repeat
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def rebuilt(kind: type[T], raw: Any) -> T:
    """The `kind` that `raw` describes. A field that `raw` lacks has its default; KeyError where it has none."""
    made: T = _value(kind, raw)
    return made


def _value(kind: Any, raw: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _made(kind, raw)
    if origin is UnionType:
        return None if raw is None else _value(next(one for one in inner if one is not NoneType), raw)
    if origin is tuple:
        return tuple(map(_value, repeat(inner[0]) if inner[1:] == (...,) else inner, raw))
    if origin is Mapping:
        return {inner[0](key) if inner[0] is int else key: _value(inner[1], value) for key, value in raw.items()}
    return kind(raw) if isinstance(kind, type) and issubclass(kind, enum.Enum) else raw


def _made(kind: Any, raw: Mapping[str, Any]) -> Any:
    given = {name: hint for name, (hint, has_default) in _fields(kind).items() if name in raw or not has_default}
    return kind(**{name: _value(hint, raw[name]) for name, hint in given.items()})


@cache
def _fields(kind: Any) -> dict[str, tuple[Any, bool]]:
    """Type of each field, and whether it has a default."""
    hints = get_type_hints(kind)
    return {part.name: (hints[part.name], (part.default, part.default_factory) != (MISSING, MISSING)) for part in fields(kind)}
