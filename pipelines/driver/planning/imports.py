"""Imports of a function, resolved as Python does where it runs: relative to the function's package, with the submodules it names."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.driver.planning.code import Import


def of(step: Import, scope: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The modules, with their names, and what `from` takes of one. `scope` are the function's globals; raises whatever importing does."""
    module = importlib.__import__(step.module, scope, None, step.names, step.level)
    if step.names:
        yield module.__name__, module
        yield from ((name, getattr(module, name)) for name in step.names)
    else:
        yield from ((name, sys.modules[name]) for name in _with_packages(step.module))


def _with_packages(name: str) -> list[str]:
    """`a`, `a.b` and `a.b.c` of `a.b.c`: code that imports it reaches them all."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
