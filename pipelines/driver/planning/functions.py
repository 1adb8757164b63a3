"""The canonical form of Python functions: code without its places, with all that it refers to.

What cannot be taken apart whole is a gap, and gaps forbid to call two forms equal: an object is never compared by its `repr`, nor a
function of an installed package by its name alone (its version is asked for), nor a file or the environment, which may be others tomorrow.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
import types
from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum
from logging import Logger
from typing import Any

from pipelines.driver.planning import code as codes
from pipelines.driver.planning import effects, imports, origins
from pipelines.driver.planning.arguments import Arguments, is_only_called
from pipelines.driver.planning.notes import Notes
from pipelines.driver.planning.origins import Origin
from pipelines.driver.planning.own import Own
from pipelines.driver.planning.values import CONTAINERS, MOMENTS, PLAIN, is_open, is_path, plain, recreated, whole

MOST_THINGS = 50_000
SHOWN_CHARS = 60
NAMES, ARGUMENTS = 3, 1
"""Where the form of code has its names, and among them those of its arguments."""


class Reading(Notes):
    """Takes Python values apart."""

    def __init__(self, own: Own | None = None) -> None:
        super().__init__(own or Own())
        self._seen: dict[int, tuple[int, Any]] = {}
        self._modules: set[str] = set()
        self.arguments = Arguments()

    def form(self, thing: Any, path: str) -> Any:
        """`thing` as JSON has it; equal forms of two readings without gaps are the same thing."""
        if isinstance(thing, types.FunctionType):
            self.arguments.reach(thing)
        return self.called(thing, path)

    def settled(self, form: Any) -> Any:
        """A form of this reading, which has read all there is, without names that do not count."""
        if not self.packages and not self._are_names_asked:
            self.arguments.settle()
        return form

    def called(self, thing: Any, path: str) -> Any:
        """The form of a thing that, where it is a function, nobody gets who would give it an argument by its name."""
        if type(thing) in (*PLAIN, str, bytes):
            self._names_file(thing, path)
            return [type(thing).__name__, self._own.form(plain(thing))]
        if type(thing) in (tuple, frozenset):
            return self._value(thing, path)
        if id(thing) in self._seen:
            return ["again", self._seen[id(thing)][0]]
        self._seen[id(thing)] = (len(self._seen), thing)
        if len(self._seen) > MOST_THINGS:
            return self._gap(path, "it refers to too much")
        return self._kind(thing, path)

    def _kind(self, thing: Any, path: str) -> Any:
        kind = type(thing)
        match thing:
            case types.CodeType():
                return self._code(thing, path, {})
            case types.FunctionType():
                return self._function(thing, path)
            case types.MethodType():
                return ["method", self.form(thing.__self__, path), self.form(thing.__func__, path)]
            case types.ModuleType():
                return self._module(thing, path)
            case type():
                return self._class(thing, path)
            case staticmethod() | classmethod() if kind in (staticmethod, classmethod):
                return [kind.__name__, self.form(thing.__func__, path)]
            case functools._lru_cache_wrapper():
                return ["cached", self.form(thing.__wrapped__, path), self.form(thing.cache_parameters(), path)]
            case property() if kind is property:
                return ["property", [self.form(part, path) for part in (thing.fget, thing.fset, thing.fdel)]]
            case functools.partial() if kind is functools.partial:
                return ["partial", self.form(thing.func, path), self.form(thing.args, path), self.form(thing.keywords, path)]
            case types.BuiltinFunctionType():
                return self._builtin(thing, path)
        return self._value(thing, path)

    def _value(self, thing: Any, path: str) -> Any:
        kind = type(thing)
        if kind in (list, tuple, deque):
            return [kind.__name__, getattr(thing, "maxlen", None), [self.form(item, path) for item in thing]]
        if kind in (set, frozenset):
            return [kind.__name__, sorted(json.dumps(self.form(item, path)) for item in thing)]
        if kind is dict:
            return ["dict", [[self.form(key, path), self.form(value, path)] for key, value in thing.items()]]
        if kind in MOMENTS:
            return [kind.__name__, repr(thing.replace(tzinfo=None)), self.form(thing.tzinfo, path)]
        if isinstance(thing, Enum):
            is_own = origins.of_module(kind.__module__) is Origin.OWN
            return ["enum", self.form(kind, path), thing.name, self._forms(vars(thing) if is_own else {}, path)]
        if kind.__module__ == Logger.__module__ and isinstance(thing, Logger):
            return ["logger"]
        parts = recreated(thing)
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
        if getattr(thing, "__qualname__", None) and origins.is_importable(thing):
            return self._by_name(thing, path)
        if isinstance(thing, types.MethodDescriptorType | types.WrapperDescriptorType):
            return ["descriptor", self.form(thing.__objclass__, path), thing.__name__]
        if origins.of_module(kind.__module__) in (Origin.OWN, Origin.SPARK):
            return self._fields(thing, path)
        return self._gap(path, f"it is an object of {name}")

    def _fields(self, thing: Any, path: str) -> Any:
        """The class, what it holds as a list, a dict or a text, and its fields. A base that is not Python of the user's may hide more."""
        kind = type(thing)
        hidden = next((base for base in kind.__mro__ if not is_open(base)), None)
        if hidden is not None:
            return self._gap(path, f"it is an object of {hidden.__module__}.{hidden.__qualname__}")
        base = next((known for known in CONTAINERS if issubclass(kind, known)), None)
        content = self.form(base(thing), path) if base else None
        fields = {**getattr(thing, "__dict__", {}), **{slot: getattr(thing, slot) for slot in codes.slots(kind) if hasattr(thing, slot)}}
        return ["object", self.form(kind, path), content, self._forms(fields, path)]

    def _function(self, function: types.FunctionType, path: str) -> Any:
        if origins.of_module(function.__module__ or "") is not Origin.OWN and origins.is_importable(function):
            return self._by_name(function, path)
        entered = self._entered(function.__module__ or "")
        path = path or function.__name__
        names = set(codes.names(function.__code__))
        used = {name: self._global(function, name, path) for name in sorted(names & function.__globals__.keys())}
        cells = [
            self._cell(cell, _at(path, name)) for cell, name in zip(function.__closure__ or (), function.__code__.co_freevars, strict=True)
        ]
        defaults = [self.form(function.__defaults__, path), self.form(function.__kwdefaults__, path)]
        code = self._code(function.__code__, path, function.__globals__)
        self.arguments.note(function, code[NAMES][ARGUMENTS])
        self.parts.setdefault(path, digest([code, defaults]))
        self._reaches(names, path)
        self._reads(names, [*codes.contents(function), *(function.__globals__[name] for name in used)], path)
        called = [self._called(function.__qualname__), *self._asks_names(names, function.__name__)]
        return ["function", called, code, defaults, cells, used, self._forms(vars(function), path), entered]

    def _global(self, function: types.FunctionType, name: str, path: str) -> Any:
        formed = self.called if is_only_called(name, function.__code__) else self.form
        return self._named(function.__globals__[name], _at(path, name), formed)

    def _cell(self, cell: Any, path: str) -> Any:
        try:
            return self._named(cell.cell_contents, path)
        except ValueError:
            return "empty"

    def _named(self, thing: Any, path: str, formed: Callable[[Any, str], Any] | None = None) -> Any:
        """Something that code calls by a name, which is a part of its own."""
        form = (formed or self.form)(thing, path)
        if not isinstance(thing, types.ModuleType | types.FunctionType | type):
            text = self._own.named(thing) if type(thing) is str else thing
            shown = repr(text) if isinstance(text, PLAIN) or type(text) is str else ""
            self.parts.setdefault(path, shown if shown and len(shown) <= SHOWN_CHARS else digest(form))
        return form

    def _code(self, code: types.CodeType, path: str, scope: Mapping[str, Any]) -> Any:
        """Code of a function whose globals are `scope`."""
        counts = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & ~codes.HAS_DOCSTRING]
        names = [list(code.co_names), *codes.variables(code)]
        imported = [self._import(step, set(codes.names(code)), path, scope) for step in codes.imports(code)]
        steps, used = codes.steps(code)
        constants = [self._code(part, path, scope) if isinstance(part, types.CodeType) else self.form(part, path) for part in used]
        return ["code", steps, counts, names, constants, imported, code.co_exceptiontable.hex()]

    def _import(self, step: codes.Import, names: set[str], path: str, scope: Mapping[str, Any]) -> Any:
        """What code that uses `names` imports when it runs: modules, and of the user's own what it takes of them."""
        try:
            imported = list(imports.of(step, scope))
        except Exception as error:  # noqa: BLE001  a module may raise anything; no part of it is known then
            return self._gap(path, f"it imports {step}, which cannot be imported here ({type(error).__name__})")
        self._reads(names, [thing for _, thing in imported], path)
        is_own = origins.of_module(imported[0][1].__name__) is Origin.OWN
        return [self.form(thing, _at(path, name)) for name, thing in imported if is_own or isinstance(thing, types.ModuleType)]

    def _module(self, module: types.ModuleType, path: str) -> Any:
        name = module.__name__
        if origins.of_module(name) is not Origin.OWN:
            return self._installed(name, ["module", name])
        entered = self._entered(name)
        return ["module", entered, self._forms({key: value for key, value in vars(module).items() if key not in codes.OF_THE_MODULE}, path)]

    def _class(self, kind: type, path: str) -> Any:
        if origins.of_module(kind.__module__) is not Origin.OWN and (kind.__module__ == "builtins" or origins.is_importable(kind)):
            return self._by_name(kind, path)
        entered = self._entered(kind.__module__)
        inside = {name: value for name, value in sorted(vars(kind).items()) if name not in codes.OF_THE_CLASS and not codes.is_slot(value)}
        form = {name: self._named(value, _at(path or kind.__name__, name)) for name, value in inside.items()}
        above = [self.form(base, path) for base in (type(kind), *kind.__bases__, *codes.registered(kind))]
        return ["class", self._called(kind.__qualname__, shown=codes.shows_name(kind)), above, form, entered]

    def _entered(self, name: str) -> list[Any]:
        """What the user's module `name`, and those that it imports, do as they are imported; nothing where that was told before."""
        module = sys.modules.get(name)
        if module is None or name in self._modules or name == origins.MAIN or origins.of_module(module.__name__) is not Origin.OWN:
            return []
        self._modules.add(module.__name__)
        self.packages |= origins.elsewhere(name, self._own.code)
        try:
            does, imported = effects.of(module), list(effects.imported(module))
        except SyntaxError:
            return [self._gap(name, "its source is not what it was imported of")]
        own = [self.form(does, f"{name} as it is imported")] if does is not None else []
        return [form for other in imported for form in self._entered(other.__name__)] + own

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
        return {name: self.form(value, _at(path, name)) for name, value in sorted(values.items())}


def digest(form: Any) -> str:
    return hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()


def _at(path: str, name: str) -> str:
    return f"{path} → {name}" if path else name
