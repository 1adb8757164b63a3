"""What packages may ask of classes and functions that no code of the user's does: names, docstrings, annotations, bases of generics, notes
on fields.

A validator (pydantic, cattrs) converts by them, and pandas calls columns as functions are called. Where no package is used they are no part
of the form.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pipelines.driver.planning.objects import at, is_within


class Told:
    """Of the classes and functions of one reading."""

    def __init__(self) -> None:
        self._rest: list[tuple[list[Any], type | types.FunctionType, str]] = []

    def of_function(self, function: types.FunctionType, path: str) -> list[Any]:
        """The part of the function's form that `tell` fills."""
        return self._noted(function, path)

    def of_class(self, kind: type, path: str) -> list[Any]:
        """As `of_function`."""
        return self._noted(kind, path)

    def tell(self, form: Callable[[Any, str], Any], is_given: Callable[[object], bool]) -> None:
        """Takes apart what may be asked of all that was noted, and of what is found by that. `is_given`: whether somebody gets a function
        itself, who could ask for its name."""
        while self._rest:
            part, thing, path = self._rest.pop()
            has_name = isinstance(thing, type) or (is_within(path) and is_given(thing))
            called = [thing.__name__, vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__] if has_name else []
            part.append([form(called, path), form(_asked(thing), at(path, "__annotations__"))])

    def _noted(self, thing: type | types.FunctionType, path: str) -> list[Any]:
        part: list[Any] = []
        self._rest.append((part, thing, path))
        return part


def _asked(thing: Any) -> dict[str, Any]:
    fields = getattr(thing, "__dataclass_fields__", {}) if isinstance(thing, type) else {}
    notes = {name: dict(field.metadata) for name, field in fields.items() if isinstance(field, dataclasses.Field)}
    return {"annotations": _annotations(thing), "bases": vars(thing).get("__orig_bases__", ()), "fields": notes}


def _annotations(thing: Any) -> Any:
    """Those of texts are looked up, where that can be done."""
    try:
        return typing.get_type_hints(thing, include_extras=True)
    except Exception:  # noqa: BLE001  a name in a text may not be there, and what an annotation asks for may raise anything
        with suppress(NameError):  # Python 3.14 looks names up when it is asked
            return dict(thing.__annotations__)
    return {}
