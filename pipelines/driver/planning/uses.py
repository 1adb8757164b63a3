"""What a script imports while it runs: packages and modules that may build its queries, though no function of theirs is in the plan."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.driver import installed
from pipelines.driver.planning import fresh, origins
from pipelines.driver.planning.origins import Origin


class Uses:
    """Notes the imports of the user's own code between its beginning and its end; the version's files are in the folder `version`."""

    def __init__(self, version: Path) -> None:
        self._version = version
        self._names: set[str] = set()
        self._import = builtins.__import__
        self._within = threading.local()

    def __enter__(self) -> Uses:
        fresh.forget()
        builtins.__import__ = self._noted
        return self

    def __exit__(self, *error: object) -> None:
        builtins.__import__ = self._import

    def _noted(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        if level == 0 and installed.is_users(str((globals or {}).get("__file__") or "")):
            self._names.add(name.partition(".")[0])
        self._within.depth = getattr(self._within, "depth", 0) + 1
        try:
            return self._import(name, globals, locals, fromlist or (), level)
        finally:
            self._within.depth -= 1
            if not self._within.depth:
                fresh.note()

    def packages(self) -> dict[str, str]:
        """As `Installed.packages`: the installed packages that were imported with what they require, and the modules of elsewhere."""
        tops = sorted(name for name in self._names if origins.of_module(name) is Origin.INSTALLED)
        known = {package: version for top in tops for package, version in origins.packages_of(top).items()}
        return {**known, **installed.modules(self._version)}

    def files(self) -> dict[str, str]:
        """File of a module of elsewhere -> SHA-256."""
        return installed.files(self._version)
