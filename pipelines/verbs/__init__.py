"""Questions and changes of a workspace: one declaration a verb. `every` lists them from the modules of this folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any

from pipelines.verbs.verb import Asked, Change, Kind

TOPICS = {
    "jobs": "Named streaming applications: run, attach, watch, stop, resume, forget.",
    "states": "What a job remembers: the tables of a savepoint's state, read by Spark, asked with SQL.",
    "savepoints": "Immutable images of a job at committed batches: look, verify, export, import, fork, dispose.",
    "alerts": "Rules on findings and figures, what fires, and who is told.",
    "experiments": "Forks of one savepoint, and the comparison of two jobs' outputs.",
    "decisions": "What becomes of a variant: its parent goes on with its version, or it is dropped.",
    "versions": "Frozen code, arguments and confs, and the tree of what grew from what.",
    "operations": "Work that outlasts the call that asked for it: follow it, or cancel it.",
    "diagnosis": "What is damaged, what depends on it, what can still be restored.",
    "space": "What savepoints take on disk.",
    "system": "The server and its workspace.",
}


@cache
def every() -> tuple[type[Asked[Any]], ...]:
    """All declarations, by module and then as they stand in it."""
    modules = [importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    return tuple(kind for module in modules for kind in declared_in(module))


def declared_in(module: ModuleType) -> list[type[Asked[Any]]]:
    """The declarations of one module, as they stand in it."""
    return [kind for kind in vars(module).values() if _is_declared_in(kind, module.__name__)]


def changes() -> tuple[type[Change[Any, Any]], ...]:
    return tuple(kind for kind in every() if issubclass(kind, Change))


@cache
def kinds() -> Mapping[str, Kind]:
    """All kinds of operation."""
    return {name: kind for change in changes() for name, kind in change.kinds.items()}


def _is_declared_in(kind: object, module: str) -> bool:
    return isinstance(kind, type) and issubclass(kind, Asked) and kind.__module__ == module and "http" in vars(kind)
