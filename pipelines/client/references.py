"""References of a Python module: the modules that it imports, and the paths that it may open beside itself. It is read, never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.domain import syntax

PLACES = {"__file__", "resources", "get_data"}
"""Names with which a module finds files beside it: its own path, `importlib.resources`, `pkgutil.get_data`."""
IMPORTERS = {"import_module", "__import__"}
JOINERS = {"join", "joinpath"}
LONGEST = 255


@dataclass(frozen=True)
class Imported:
    """A module that is imported: its dotted name, and how many packages up it is counted from (0: from the script's folder)."""

    name: str
    level: int = 0


@dataclass(frozen=True)
class References:
    """What one module refers to. `paths` are the texts in it that may be paths, none where it does not look for files beside it."""

    imports: tuple[Imported, ...] = ()
    looks_beside: bool = False
    paths: tuple[str, ...] = ()


def references(source: bytes) -> References:
    """The references of a module; none of what Python cannot read."""
    try:
        nodes = list(ast.walk(syntax.tree(source)))
    except (SyntaxError, ValueError):
        return References()
    looks_beside = any(_name(node) in PLACES for node in nodes)
    paths = dict.fromkeys(path for node in nodes for path in _paths(node) if len(path) <= LONGEST) if looks_beside else {}
    return References(tuple(dict.fromkeys(named for node in nodes for named in _imports(node))), looks_beside, tuple(paths))


def _imports(node: ast.AST) -> Iterator[Imported]:
    """What a node imports: a name behind `from` may be a module, or be in one."""
    if isinstance(node, ast.Import):
        yield from (Imported(alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (Imported(".".join(filter(None, (node.module, alias.name))), node.level) for alias in node.names)
    elif isinstance(node, ast.Call) and _name(node.func) in IMPORTERS:
        yield from (Imported(name) for name in _texts(node.args[:1]))


def _paths(node: ast.AST) -> Iterator[str]:
    """Texts, and those that are joined to a path: `here / "sql" / "query.sql"`, `join(here, "sql", "query.sql")`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        yield "/".join(_texts(_operands(node)))
    elif isinstance(node, ast.Call) and _name(node.func) in JOINERS:
        yield "/".join(_texts(node.args))


def _operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return [*_operands(node.left), node.right]
    return [node]


def _texts(nodes: list[ast.expr]) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _name(node: ast.AST) -> str:
    """The name that a node is, or ends in."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.name.rpartition(".")[2] if isinstance(node, ast.alias) else ""
