"""What a module of the user's does as it is imported, beside giving names to things: it sets the precision of decimals, or puts a function
of its own into a package, and that holds for all that runs in the same process. What has a name is seen where that is used."""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from pipelines.driver.planning import code as codes
from pipelines.driver.planning import origins
from pipelines.driver.planning.origins import Origin
from pipelines.driver.planning.values import CONTAINERS

NAMING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Pass)
AS_A_PROGRAM = "__name__ == '__main__'"
"""The condition of what is not done where a module is imported."""
STORES = re.compile(r"(STORE|DELETE)_(GLOBAL|ATTR|SUBSCR|SLICE)|IMPORT")
"""Python's steps (`dis`) that change something which a function did not make."""
PATHS = "sys.path"
"""Where modules are looked for: those that are found are compared themselves."""
CONSTRUCTORS = ("__new__", "__init__", "__post_init__", "__set_name__")
METACLASS = ("__new__", "__init__", "__prepare__", "__call__")
ACTS = re.compile(r"(?!setter|deleter)(set|del|seed|register|patch|config|install|enable|disable|init|filter|use|basicConfig)\w*")
"""Names of functions that change something."""


def of(module: types.ModuleType) -> types.FunctionType | None:
    """A function that does what the module does; None where that is nothing, or its source is not there: of other files the bytes are
    compared. Raises SyntaxError for a source that is none any more."""
    tree = _parsed(module)
    statements = list(_acting(tree.body, vars(module))) if tree is not None else []
    if not statements:
        return None
    return types.FunctionType(compile(ast.Module(statements, []), f"{module.__name__}.py", "exec", dont_inherit=True), vars(module))


def imported(module: types.ModuleType) -> Iterator[types.ModuleType]:
    """The user's modules that are imported with the module: the packages that it is in, and what it imports itself."""
    tree = _parsed(module)
    names = [module.__name__.rpartition(".")[0]]
    for step in codes.imports(compile(tree, module.__name__, "exec")) if tree is not None else ():
        base = _absolute(step, module)
        names += [base, *(f"{base}.{name}" for name in step.names)]
    for name in dict.fromkeys(names):
        known = sys.modules.get(name)
        if known is not None and origins.of_module(name) is Origin.OWN and name != origins.MAIN:
            yield known


def _parsed(module: types.ModuleType) -> ast.Module | None:
    read: Callable[[str], str | None] | None = getattr(module.__loader__, "get_source", None)
    with suppress(ImportError, OSError):
        source = read(module.__name__) if read is not None else None
        return None if source is None else ast.parse(source)
    return None


def _absolute(step: codes.Import, module: types.ModuleType) -> str:
    package = str(module.__dict__.get("__package__") or "").split(".")
    above = package[: len(package) - step.level + 1] if step.level else []
    return ".".join([*above, *([step.module] if step.module else [])])


def _acting(statements: list[ast.stmt], scope: dict[str, Any]) -> Iterator[ast.stmt]:
    """The statements that do more than give names to things, those of classes' bodies too."""
    for statement in statements:
        if _acts(statement, scope):
            yield statement
        elif isinstance(statement, ast.ClassDef):
            kind = scope.get(statement.name)
            yield from _acting(statement.body, {**scope, **(vars(kind) if isinstance(kind, type) else {})})


def _acts(statement: ast.stmt, scope: dict[str, Any]) -> bool:
    """Whether a statement does more than give names to things."""
    match statement:
        case ast.Expr(ast.Constant()) | ast.Pass():
            return False
        case ast.Expr(ast.Call(func)):
            return not ast.unparse(func).startswith(PATHS) and not isinstance(_held_by(func, scope), CONTAINERS)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            return _has_acting_call(statement.value, scope) or any(_reaches_out(target, scope) for target in targets)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            defaults = [*statement.args.defaults, *statement.args.kw_defaults]
            return _are_acting(statement.decorator_list, scope) or any(_has_acting_call(default, scope) for default in defaults)
        case ast.ClassDef():
            given = [*statement.bases, *(keyword.value for keyword in statement.keywords)]
            is_told = _is_told(scope.get(statement.name), is_derived=bool(given))
            return is_told or _are_acting(statement.decorator_list, scope) or any(_has_acting_call(value, scope) for value in given)
        case ast.If():
            is_program = ast.unparse(statement.test) == AS_A_PROGRAM
            inside = (*(() if is_program else statement.body), *statement.orelse)
            return _has_acting_call(statement.test, scope) or any(_acting([*inside], scope))
        case ast.Try() | ast.TryStar():
            inside = (*statement.body, *(inner for handler in statement.handlers for inner in handler.body))
            return any(_acting([*inside, *statement.orelse, *statement.finalbody], scope))
        case ast.For() | ast.While() | ast.With():
            inside = (*statement.body, *getattr(statement, "orelse", ()))
            return any(_has_acting_call(value, scope) for value in _heads(statement)) or any(_acting([*inside], scope))
    return not isinstance(statement, NAMING)


def _heads(statement: ast.For | ast.While | ast.With) -> list[ast.expr]:
    """What a statement asks before the first of those inside of it."""
    match statement:
        case ast.For(iter=rows):
            return [rows]
        case ast.While(test=test):
            return [test]
    return [item.context_expr for item in statement.items]


def _are_acting(decorators: list[ast.expr], scope: dict[str, Any]) -> bool:
    """Whether a decorator may do more than answer with another function."""
    return any(_has_acting_call(ast.Call(decorator, [], []), scope) and not _wraps(decorator, scope) for decorator in decorators)


def _wraps(decorator: ast.expr, scope: dict[str, Any]) -> bool:
    """Whether a decorator of the user's makes functions around what it gets, and nothing else: `functools.wraps` is all that it calls."""
    is_factory = isinstance(decorator, ast.Call)
    called = _called(decorator.func if isinstance(decorator, ast.Call) else decorator, scope)
    if not isinstance(called, types.FunctionType) or (
        isinstance(decorator, ast.Call) and _has_acting_call(ast.Tuple(decorator.args), scope)
    ):
        return False
    inner = [part for part in called.__code__.co_consts if isinstance(part, types.CodeType)] if is_factory else []
    return all(_makes_functions(code, called.__globals__) for code in (called.__code__, *inner))


def _makes_functions(code: types.CodeType, scope: dict[str, Any]) -> bool:
    wraps = [name for name in code.co_names if scope.get(name) in (functools, functools.wraps)]
    calls = [step for step in dis.get_instructions(code) if step.opname.startswith("CALL")]
    stores = [step for step in dis.get_instructions(code) if STORES.match(step.opname)]
    return not stores and {*code.co_names} <= {*wraps, "wraps"} and len(calls) <= 2 * len(wraps)


def _is_told(kind: Any, *, is_derived: bool) -> bool:
    """Whether the user's own code is told of the class as it is made: a metaclass, or `__init_subclass__` of a base. Of one that is not
    there any more nobody knows."""
    if not isinstance(kind, type):
        return is_derived
    metaclass: type = type(kind)
    hooks = [vars(base).get("__init_subclass__") for base in kind.__mro__[1:]]
    hooks += [vars(base).get(name) for base in metaclass.__mro__ for name in METACLASS]
    return any(map(_is_own, hooks))


def _reaches_out(target: ast.expr, scope: dict[str, Any]) -> bool:
    """Whether it assigns to something that is not the module's own, which would be seen where that is used."""
    match target:
        case ast.Name():
            return False
        case ast.Tuple(parts) | ast.List(parts):
            return any(_reaches_out(part, scope) for part in parts)
        case ast.Starred(part):
            return _reaches_out(part, scope)
    held = _held_by(target, scope)
    return not isinstance(held, CONTAINERS) and origins.of_module(_module(held)) is not Origin.OWN


def _held_by(expression: ast.expr, scope: dict[str, Any]) -> Any:
    """What the name stands for that an expression of attributes and items begins with; None where it begins with another."""
    while isinstance(expression, ast.Attribute | ast.Subscript):
        expression = expression.value
    return scope.get(expression.id) if isinstance(expression, ast.Name) else None


def _has_acting_call(value: ast.expr | None, scope: dict[str, Any]) -> bool:
    """Whether something is called that may do more than answer: a function or a constructor of the user's, what is named like that, or what
    a table has."""
    calls = [node.func for node in ast.walk(value) if isinstance(node, ast.Call)] if value is not None else []
    if any(isinstance(call, ast.Subscript) and not isinstance(_called(call, scope), type) for call in calls):
        return True
    return any(_is_own(_called(call, scope)) or ACTS.fullmatch(ast.unparse(call).rpartition(".")[2]) for call in calls)


def _called(expression: ast.expr, scope: dict[str, Any]) -> Any:
    """What a name or an attribute stands for; of an object that is made there, its class. None where that is only known when it is asked
    for."""
    match expression:
        case ast.Name(name):
            return scope.get(name, getattr(builtins, name, None))
        case ast.Attribute(owner, name):
            return inspect.getattr_static(_called(owner, scope), name, None)
        case ast.Call(function) | ast.Subscript(function):
            made = _called(function, scope)
            return made if isinstance(made, type) else None
    return None


def _is_own(called: Any) -> bool:
    """Whether it is a function of the user's, or a class with one that makes its objects, but for that of a dataclass."""
    if isinstance(called, type):
        return any(_is_own(vars(base).get(name)) for base in called.__mro__ for name in CONSTRUCTORS)
    function = getattr(called, "__func__", called) if isinstance(called, staticmethod | classmethod | types.MethodType) else called
    is_written = isinstance(function, types.FunctionType) and function.__code__.co_filename != "<string>"
    return is_written and origins.of_module(function.__module__ or "") is Origin.OWN


def _module(thing: Any) -> str:
    if isinstance(thing, types.ModuleType):
        return thing.__name__
    return str((thing if isinstance(thing, type | types.FunctionType) else type(thing)).__module__)
