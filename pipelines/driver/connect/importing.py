"""PySpark's Connect client, wrapped when a script imports it: it is not loaded for jobs that do without."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from pipelines.driver.intercept import Start, wrap

WRITER = "pyspark.sql.connect.streaming.readwriter"
Then = Callable[[ModuleType], None]


def install(start: Start) -> None:
    """From now on each start of a query on a Connect server goes through `start`."""
    once_imported(WRITER, lambda module: wrap(module.DataStreamWriter, start))


def once_imported(name: str, then: Then) -> None:
    """Calls `then` with the module, once: when it has been imported, or at once where it is."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, then))


class _Finder(MetaPathFinder):
    """Finds the one module as others do, and steps aside."""

    def __init__(self, name: str, then: Then) -> None:
        self._name = name
        self._then = then

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._then)
        return spec


class _Loader(Loader):
    def __init__(self, inner: Loader, then: Then) -> None:
        self._inner = inner
        self._then = then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._inner.exec_module(module)
        self._then(module)
