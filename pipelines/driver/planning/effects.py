"""What a module of the user's does as it is imported, beside giving names to things: it sets the precision of decimals, or puts a function
of its own into a package, and that holds for all that runs in the same process. What has a name is seen where that is used."""

from __future__ import annotations

import ast
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
PATHS = "sys.path"
"""Where modules are looked for: those that are found are compared themselves."""
CONSTRUCTORS = ("__new__", "__init__", "__post_init__")
ACTS = re.compile(r"(set|del|seed|register|patch|config|install|enable|disable|init|filter|use|basicConfig)\w*")
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
        if isinstance(statement, ast.ClassDef):
            yield from _acting(statement.body, scope)
        elif _acts(statement, scope):
            yield statement


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
        case ast.If():
            is_program = ast.unparse(statement.test) == AS_A_PROGRAM
            return any(_acts(inner, scope) for inner in (*(() if is_program else statement.body), *statement.orelse))
        case ast.Try() | ast.TryStar():
            inside = (*statement.body, *(inner for handler in statement.handlers for inner in handler.body))
            return any(_acts(inner, scope) for inner in (*inside, *statement.orelse, *statement.finalbody))
        case ast.For() | ast.While() | ast.With():
            return any(_acts(inner, scope) for inner in (*statement.body, *getattr(statement, "orelse", ())))
    return not isinstance(statement, NAMING)


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
    """Whether something is called that may do more than answer: a function or a constructor of the user's, or what is named like that."""
    calls = [node.func for node in ast.walk(value) if isinstance(node, ast.Call)] if value is not None else []
    return any(_is_own(scope.get(call.id)) if isinstance(call, ast.Name) else False for call in calls) or any(
        ACTS.fullmatch(ast.unparse(call).rpartition(".")[2]) for call in calls
    )


def _is_own(called: Any) -> bool:
    """Whether it is a function of the user's, or a class with one that makes its objects, but for that of a dataclass."""
    if isinstance(called, type):
        return any(_is_own(vars(base).get(name)) for base in called.__mro__ for name in CONSTRUCTORS)
    is_written = isinstance(called, types.FunctionType) and called.__code__.co_filename != "<string>"
    return is_written and origins.of_module(called.__module__ or "") is Origin.OWN


def _module(thing: Any) -> str:
    if isinstance(thing, types.ModuleType):
        return thing.__name__
    return str((thing if isinstance(thing, type | types.FunctionType) else type(thing)).__module__)
