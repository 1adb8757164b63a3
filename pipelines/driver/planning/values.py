"""Values that say all of themselves, and classes whose objects have fields alone."""

from __future__ import annotations

import functools
import hashlib
import re
import types
import typing
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from pipelines.driver.planning import origins
from pipelines.driver.planning.origins import Origin

PLAIN = (type(None), bool, int, float, complex, type(...))
WHOLE_IN_REPR = (date, timedelta, timezone, ZoneInfo, Decimal, Fraction, UUID, range)
"""Classes whose `repr` tells all of a value."""
MOMENTS = (datetime, time)
"""Those whose `repr` does, but for their time zone."""
OF_NUMBERS = "biufcSUmM"
"""Kinds of numpy's types whose bytes are the value (`dtype.kind`)."""
NUMBERS = (bool, int, float)
"""Those whose sets have an order that is the same in every process."""
CONTENTS: Mapping[type, Callable[[Any], Any]] = {
    list: list.copy,
    tuple: lambda thing: tuple.__getitem__(thing, slice(None)),
    dict: lambda thing: dict(dict.items(thing)),
    set: lambda thing: set(set.__iter__(thing)),
    frozenset: lambda thing: frozenset(frozenset.__iter__(thing)),
    str: str.__str__,
    bytes: lambda thing: bytes.__getitem__(thing, slice(None)),
    int: int.__int__,
    float: float.__float__,
}
"""Class of Python's -> what an object of a subclass holds, whatever that subclass says of it (`__str__`, `__iter__`)."""
CONTAINERS = tuple(CONTENTS)
PARTS: Mapping[type, tuple[str, ...]] = {
    property: ("fget", "fset", "fdel"),
    functools.partial: ("func", "args", "keywords"),
    functools.partialmethod: ("func", "args", "keywords"),
    functools.cached_property: ("func",),
    functools.singledispatchmethod: ("func", "dispatcher"),
}
"""Class that makes something of functions -> the fields of its objects that say all of them."""
DISPATCH: Any = functools.singledispatch(repr)
"""One of the functions that this makes, which have one code."""
BASES = (object, *CONTAINERS)
WITHOUT_FIELDS = ("abc", "typing", "collections.abc", "dataclasses")
RECREATED = {
    *("builtins.bytearray", "builtins.slice", "types.SimpleNamespace"),
    *("collections.Counter", "collections.OrderedDict", "collections.defaultdict"),
    *("operator.attrgetter", "operator.itemgetter", "operator.methodcaller"),
}
MARKS = {"_HAS_DEFAULT_FACTORY_CLASS", "_MISSING_TYPE"}
"""Classes of dataclasses with one object, which says nothing but that it is there."""


def plain(thing: Any) -> str:
    if isinstance(thing, bytes):
        return thing.hex()
    return thing if isinstance(thing, str) else repr(thing)


def is_open(base: type) -> bool:
    """Whether objects of the class `base` keep all they have in fields that can be seen."""
    if base in BASES or base.__module__ in WITHOUT_FIELDS:
        return True
    return origins.of_module(base.__module__) in (Origin.OWN, Origin.SPARK) and not origins.is_compiled(base.__module__)


def is_path(thing: Any) -> bool:
    """Whether it is a path of Python's own classes."""
    return isinstance(thing, PurePath) and type(thing).__module__.partition(".")[0] == "pathlib"


def recreated(thing: Any) -> list[Any] | None:
    """What Python makes an equal object of (`object.__reduce_ex__`), of classes that say all by that; None of any other."""
    kind = type(thing)
    if f"{kind.__module__}.{kind.__qualname__}" not in RECREATED:
        return None
    _, arguments, *rest = thing.__reduce_ex__(4)
    return [arguments, *(part if part is None or type(part) in CONTAINERS else list(part) for part in rest)]


def generic(thing: Any) -> list[Any] | None:
    """Of what annotations are made of beside classes: what it is of, and its arguments (`list[int]`); None of any other value."""
    if type(thing).__module__ not in ("types", "typing"):
        return None
    if isinstance(thing, typing.TypeVar):
        return [thing.__name__, thing.__bound__, *thing.__constraints__]
    if isinstance(thing, typing.NewType):
        return [thing.__name__, thing.__supertype__]
    if isinstance(thing, typing.ForwardRef):
        return [thing.__forward_arg__]
    origin = typing.get_origin(thing)
    if origin is None:
        return [repr(thing)] if isinstance(thing, typing._SpecialForm) else None
    return [origin, *typing.get_args(thing)]


def dispatches(function: types.FunctionType) -> dict[type, Any] | None:
    """Class -> function of one that looks at its argument's class (`functools.singledispatch`); None of any other function."""
    return dict(vars(function)["registry"]) if function.__code__ is DISPATCH.__code__ else None


def whole(thing: Any) -> list[Any] | None:
    """The form of a value that says all of itself, of Python's own classes or numpy's; None of any other."""
    kind = type(thing)
    if kind in WHOLE_IN_REPR:
        return [kind.__name__, repr(thing)]
    if kind is re.Pattern:
        return ["pattern", thing.pattern if isinstance(thing.pattern, str) else thing.pattern.hex(), thing.flags]
    if kind.__qualname__ in MARKS:
        return [kind.__qualname__]
    if kind.__qualname__ == "_tuplegetter":
        return ["field", thing.__reduce__()[1][0]]
    if kind.__module__ == "numpy" and getattr(getattr(thing, "dtype", None), "kind", "O") in OF_NUMBERS:
        return [kind.__name__, str(thing.dtype), list(thing.shape), hashlib.sha256(thing.tobytes()).hexdigest()]
    return None
