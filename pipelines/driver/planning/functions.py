"""The canonical form of Python functions: code without its places, with all that it refers to.

What cannot be taken apart whole is a gap, and gaps forbid to call two forms equal: an object is never compared by its `repr`, nor a
function of an installed package by its name alone (its version is asked for), nor a file or the environment, which may be others tomorrow.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import types
from collections.abc import Callable, Mapping
from json import dumps
from typing import Any

from pipelines.driver.planning import code as codes
from pipelines.driver.planning import effects, fresh, imports, origins
from pipelines.driver.planning.arguments import Arguments, is_only_called
from pipelines.driver.planning.objects import Objects, at
from pipelines.driver.planning.origins import Origin
from pipelines.driver.planning.own import Own
from pipelines.driver.planning.told import Told
from pipelines.driver.planning.values import PARTS, PLAIN, dispatches, plain

MOST_THINGS = 50_000
SHOWN_CHARS = 60
NAMES, ARGUMENTS = 3, 1
"""Where the form of code has its names, and among them those of its arguments."""


class Reading(Objects):
    """Takes Python values apart."""

    def __init__(self, own: Own | None = None) -> None:
        super().__init__(own or Own())
        self._seen: dict[int, tuple[int, Any]] = {}
        self._modules: set[str] = set()
        self.arguments = Arguments()
        self._told = Told()
        self._lines: list[Any] = []
        """Where in its file all code stands."""

    def form(self, thing: Any, path: str) -> Any:
        """`thing` as JSON has it; equal forms of two readings without gaps are the same thing."""
        if isinstance(thing, types.FunctionType):
            self.arguments.reach(thing)
        return self.called(thing, path)

    def settled(self, form: Any) -> Any:
        """A form of this reading, which has read all there is, without names that do not count, and with the lines where these do."""
        if self.packages:
            self._told.tell(self.form, self.arguments.is_reached)
        elif not self._are_names_asked:
            self.arguments.settle()
        return [form, self._lines] if self._are_lines_asked else form

    def called(self, thing: Any, path: str) -> Any:
        """The form of a thing that, where it is a function, nobody gets who would give it an argument by its name."""
        if type(thing) in (*PLAIN, str, bytes):
            self._names_file(thing, path)
            self._names_shown(thing, path)
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
                dispatched = dispatches(thing)
                return self._function(thing, path) if dispatched is None else ["dispatch", self.form(dispatched, path)]
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
            case _ if kind in PARTS:
                return [kind.__name__, [self.form(getattr(thing, name), path) for name in PARTS[kind]]]
            case types.BuiltinFunctionType():
                return self._builtin(thing, path)
        return self._value(thing, path)

    def _function(self, function: types.FunctionType, path: str) -> Any:
        origin = origins.of_module(function.__module__ or "")
        if origin is not Origin.OWN and origins.is_importable(function):
            return self._by_name(function, path)
        if origin is Origin.SPARK:
            named = [function.__module__, function.__qualname__]
            return ["within Spark", named, [self._cell(cell, path) for cell in function.__closure__ or ()], self._defaults(function, path)]
        entered = self._entered(function.__module__ or "")
        path = path or function.__name__
        names, scope = set(codes.names(function.__code__)), fresh.scope(function.__globals__)
        used = {name: self._global(function, scope[name], name, path) for name in sorted(names & scope.keys())}
        cells = [
            self._cell(cell, at(path, name)) for cell, name in zip(function.__closure__ or (), function.__code__.co_freevars, strict=True)
        ]
        defaults = self._defaults(function, path)
        code = self._code(function.__code__, path, function.__globals__)
        self.arguments.note(function, code[NAMES][ARGUMENTS])
        self.parts.setdefault(path, digest([code, defaults]))
        self._reaches(names, path)
        self._reads(names, [*codes.contents(function), *(scope[name] for name in used)], path)
        asks = names | ({"__qualname__"} if codes.shows_class(function.__code__) else set())
        called = [self._called(function.__qualname__), *self._asks_names(asks, function.__name__)]
        told = self._told.of_function(function, path)
        return ["function", called, code, defaults, cells, used, self._forms(vars(function), path), entered, told]

    def _defaults(self, function: types.FunctionType, path: str) -> list[Any]:
        return [self.form(function.__defaults__, path), self.form(function.__kwdefaults__, path)]

    def _global(self, function: types.FunctionType, thing: Any, name: str, path: str) -> Any:
        formed = self.called if is_only_called(name, function.__code__) else self.form
        return self._named(thing, at(path, name), formed)

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
        self._lines.append([line for _, _, line in code.co_lines()])
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
        return [self.form(thing, at(path, name)) for name, thing in imported if is_own or isinstance(thing, types.ModuleType)]

    def _module(self, module: types.ModuleType, path: str) -> Any:
        name = module.__name__
        if origins.of_module(name) is not Origin.OWN:
            return self._installed(name, ["module", name])
        entered = self._entered(name)
        return [
            "module",
            entered,
            self._forms({key: value for key, value in fresh.fields(module).items() if key not in codes.OF_THE_MODULE}, path),
        ]

    def _class(self, kind: type, path: str) -> Any:
        if origins.of_module(kind.__module__) is not Origin.OWN and (kind.__module__ == "builtins" or origins.is_importable(kind)):
            return self._by_name(kind, path)
        entered = self._entered(kind.__module__)
        inside = {
            name: value for name, value in sorted(fresh.fields(kind).items()) if name not in codes.OF_THE_CLASS and not codes.is_slot(value)
        }
        form = {name: self._named(value, at(path or kind.__name__, name)) for name, value in inside.items()}
        above = [self.form(base, path) for base in (type(kind), *kind.__bases__, *codes.registered(kind))]
        return [
            "class",
            self._called(kind.__qualname__, shown=codes.shows_name(kind)),
            above,
            form,
            entered,
            self._told.of_class(kind, path),
        ]

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


def digest(form: Any) -> str:
    return hashlib.sha256(dumps(form, sort_keys=True).encode()).hexdigest()
