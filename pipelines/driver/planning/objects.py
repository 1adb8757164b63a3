"""The canonical form of values and objects: all that they hold, their class, and of what a package brings its name."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Mapping
from enum import Enum
from json import dumps
from logging import Logger
from typing import Any

from pipelines.driver.planning import code as codes
from pipelines.driver.planning import fresh, origins
from pipelines.driver.planning.notes import Notes
from pipelines.driver.planning.origins import Origin
from pipelines.driver.planning.values import CONTENTS, MOMENTS, NUMBERS, generic, is_open, is_path, recreated, whole

WITHIN = " → "
BROADCAST, ACCUMULATOR = "pyspark.core.broadcast.Broadcast", "pyspark.accumulators.Accumulator"


class Objects(Notes):
    """Takes apart what is no code; `form` is that of any thing within it."""

    def form(self, thing: Any, path: str) -> Any:
        """`thing` as JSON has it."""
        raise NotImplementedError

    def _value(self, thing: Any, path: str) -> Any:
        kind, thing = type(thing), fresh.content(thing) if type(thing) in fresh.CHANGEABLE else thing
        if kind in (list, tuple, deque):
            return [kind.__name__, getattr(thing, "maxlen", None), [self.form(item, path) for item in thing]]
        if kind in (set, frozenset):
            items = [dumps(self.form(item, path)) for item in thing]
            return [kind.__name__, items if all(type(item) in NUMBERS for item in thing) else sorted(items)]
        if kind is dict:
            return ["dict", [[self.form(key, path), self.form(value, path)] for key, value in thing.items()]]
        if kind in MOMENTS:
            return [kind.__name__, repr(thing.replace(tzinfo=None)), self.form(thing.tzinfo, path)]
        if isinstance(thing, Enum):
            is_own = origins.of_module(kind.__module__) is Origin.OWN
            return ["enum", self.form(kind, path), thing.name, self._forms(vars(thing) if is_own else {}, path)]
        if kind.__module__ == Logger.__module__ and isinstance(thing, Logger):
            return ["logger"]
        parts = recreated(thing) or generic(thing)
        if parts is not None:
            return [kind.__qualname__, [self.form(part, path) for part in parts]]
        self._names_file(thing, path)
        if is_path(thing):
            return [kind.__name__, self._own.form(str(thing))]
        return whole(thing) or self._object(thing, path)

    def _object(self, thing: Any, path: str) -> Any:
        """An object: its class and all of its fields, where it has nothing else."""
        kind = type(thing)
        name = f"{kind.__module__}.{kind.__qualname__}"
        if kind.__module__.startswith("pyspark.sql.types") and hasattr(thing, "json"):
            return ["type", thing.json()]
        if name == BROADCAST:
            return self._broadcast(thing, path)
        if name == ACCUMULATOR:
            _, (_, zero, kind) = thing.__reduce__()
            return ["accumulator", self.form(zero, path), self.form(kind, path)]
        if getattr(thing, "__qualname__", None) and origins.is_importable(thing):
            return self._by_name(thing, path)
        if isinstance(thing, types.MethodDescriptorType | types.WrapperDescriptorType):
            return ["descriptor", self.form(thing.__objclass__, path), thing.__name__]
        if origins.of_module(kind.__module__) in (Origin.OWN, Origin.SPARK):
            return self._fields(thing, path)
        return self._gap(path, f"it is an object of {name}")

    def _broadcast(self, variable: Any, path: str) -> Any:
        """What a worker reads of a broadcast variable, which may be an object of a class that cannot be read here."""
        try:
            value = variable.value
        except Exception as error:  # noqa: BLE001  reading it may run code of its classes
            return self._gap(path, f"it is a broadcast variable that cannot be read here ({type(error).__name__})")
        return ["broadcast", self.form(value, at(path, "value"))]

    def _fields(self, thing: Any, path: str) -> Any:
        """The class, what it holds as a list, a dict or a text, and its fields. A base that is not Python of the user's may hide more."""
        kind = type(thing)
        hidden = next((base for base in kind.__mro__ if not is_open(base)), None)
        if hidden is not None:
            return self._gap(path, f"it is an object of {hidden.__module__}.{hidden.__qualname__}")
        base = next((known for known in CONTENTS if issubclass(kind, known)), None)
        content = self.form(CONTENTS[base](thing), path) if base else None
        fields = {**fresh.fields(thing), **{slot: getattr(thing, slot) for slot in codes.slots(kind) if hasattr(thing, slot)}}
        return ["object", self.form(kind, path), content, self._forms(fields, path)]

    def _builtin(self, function: Any, path: str) -> Any:
        owner = function.__self__
        if owner is None or isinstance(owner, types.ModuleType | type):
            return self._installed(function.__module__ or "builtins", ["builtin", function.__module__, function.__qualname__])
        return ["builtin", function.__qualname__, self.form(owner, path)]

    def _by_name(self, thing: Any, path: str) -> Any:
        if origins.of_module(thing.__module__) is Origin.OWN:
            return self._gap(path, f"{thing.__module__}.{thing.__qualname__} was made elsewhere")
        return self._installed(thing.__module__, ["named", thing.__module__, thing.__qualname__])

    def _forms(self, values: Mapping[str, Any], path: str) -> Any:
        return {name: self.form(value, at(path, name)) for name, value in sorted(values.items())}


def at(path: str, name: str) -> str:
    """The path of what is called `name` there."""
    return f"{path}{WITHIN}{name}" if path else name


def is_within(path: str) -> bool:
    """Whether what is there is a part of something else."""
    return WITHIN in path
