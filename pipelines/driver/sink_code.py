"""Which of a script's code its sinks alone run (`foreachBatch`, `foreach`): what that reads is in no plan. By names, nothing is executed.

A function, a class or a value is the sinks' where each mention of its name is in an argument of theirs, or in what is theirs. The function
that makes a closure may return it. What is mentioned nowhere, or called by what decorates it, is not.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SINKS = {"foreachBatch", "foreach"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
CALL_NOTHING = {"contextmanager", "staticmethod", "classmethod", "property", "cache", "lru_cache", "cached_property", "dataclass", "wraps"}
"""Decorators that do not call what they decorate."""


@dataclass(frozen=True, eq=False)
class Definition:
    """A function, a class, or a value that has a name."""

    node: ast.stmt
    name: str
    within: tuple[ast.stmt, ...]
    """The definitions around it."""
    is_called: bool
    """Whether what decorates it may call it."""

    @property
    def is_method(self) -> bool:
        return bool(self.within) and isinstance(self.within[-1], ast.ClassDef)


@dataclass(frozen=True, eq=False)
class Mention:
    """Of a name: as itself or of a module, or (`is_of_object`) as an attribute of some object."""

    name: str
    is_of_object: bool
    within: tuple[ast.stmt, ...]
    is_sunk: bool
    """Whether it stands in an argument of a sink's."""
    is_returned: bool = False

    def allows(self, definition: Definition, theirs: set[ast.stmt]) -> bool:
        if self.is_sunk or definition.node in self.within or not theirs.isdisjoint(self.within):
            return True
        return self.is_returned and self.within[-1:] == definition.within[-1:]


@dataclass(frozen=True)
class _Place:
    """A node, the definitions around it, and whether it stands in an argument of a sink's."""

    node: ast.AST
    within: tuple[ast.stmt, ...] = ()
    is_sunk: bool = False
    is_returned: bool = False


@dataclass
class _Read:
    """What stands where in modules."""

    modules: set[str]
    definitions: list[Definition] = field(default_factory=list)
    mentions: list[Mention] = field(default_factory=list)
    calls: list[tuple[ast.Call, tuple[ast.stmt, ...], bool]] = field(default_factory=list)
    foreign: set[str] = field(default_factory=set)
    """Names of imported modules that are not the script's."""

    def read(self, tree: ast.Module) -> None:
        """In the order of the text, imports first; without recursion: a frame's methods may be chained by the hundred."""
        waiting: list[_Place] = [_Place(tree)]
        while waiting:
            place = waiting.pop()
            inner = self._noted(place)
            node, is_returned = place.node, isinstance(place.node, ast.Return)
            for part in reversed(list(ast.iter_child_nodes(node))):
                is_argument = isinstance(node, ast.Call) and _last(node.func) in SINKS and part is not node.func
                waiting.append(_Place(part, inner, place.is_sunk or is_argument, is_returned))

    def _noted(self, place: _Place) -> tuple[ast.stmt, ...]:
        """Notes one node; the definitions around its parts."""
        node, within = place.node, place.within
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            is_called = not {_last(decorator) for decorator in node.decorator_list} <= CALL_NOTHING
            self.definitions.append(Definition(node, node.name, within, is_called))
            return (*within, node)
        if isinstance(node, ast.Assign | ast.AnnAssign) and (names := [name.id for name in _targets(node) if isinstance(name, ast.Name)]):
            self.definitions += [Definition(node, name, within, False) for name in names]
            return (*within, node)
        if isinstance(node, ast.Import):
            self.foreign |= {alias.asname or alias.name for alias in node.names if alias.name.partition(".")[0] not in self.modules}
        elif isinstance(node, ast.ImportFrom):
            renamed = [alias.name for alias in node.names if alias.asname not in (None, alias.name)]
            self.mentions += [Mention(name, False, within, False) for name in renamed]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self.mentions.append(Mention(node.id, False, within, place.is_sunk, place.is_returned))
        elif isinstance(node, ast.Attribute) and dotted(node.value) not in self.foreign:
            self.mentions += [Mention(node.attr, is_of_object, within, place.is_sunk) for is_of_object in (True, False)]
        elif isinstance(node, ast.Call):
            self.calls.append((node, within, place.is_sunk))
        return within


def calls(trees: Sequence[tuple[Path, ast.Module]]) -> set[ast.Call]:
    """The calls in a script's modules that its sinks alone run."""
    read = _Read({path.stem for path, _ in trees})
    for _, tree in trees:
        read.read(tree)
    theirs, mentions = set[ast.stmt](), defaultdict[tuple[str, bool], list[Mention]](list)
    for mention in read.mentions:
        mentions[mention.name, mention.is_of_object].append(mention)
    open_ones = [one for one in read.definitions if not one.is_called]
    while new := {one.node for one in open_ones if _is_sinks(one, mentions[one.name, one.is_method], theirs)} - theirs:
        theirs |= new
    return {call for call, within, is_sunk in read.calls if is_sunk or not theirs.isdisjoint(within)}


def _is_sinks(definition: Definition, mentions: Sequence[Mention], theirs: set[ast.stmt]) -> bool:
    others = any(definition.node not in one.within and not one.is_returned for one in mentions)
    return others and all(one.allows(definition, theirs) for one in mentions)


def _targets(node: ast.Assign | ast.AnnAssign) -> Iterable[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _last(node: ast.expr) -> str:
    """`b` of `a.b` and of `a.b(c)`."""
    called = node.func if isinstance(node, ast.Call) else node
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def dotted(node: ast.expr) -> str:
    """`a.b.c`; empty for what is no name, where secrets may stand."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""
