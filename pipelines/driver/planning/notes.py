"""What is learned of Python code beside its form: named parts, gaps, packages, what varies."""

from __future__ import annotations

import os
import types
from typing import Any

from pipelines.driver.planning import origins, outside, readers
from pipelines.driver.planning.origins import Origin
from pipelines.driver.planning.own import Own

NAMES = {"__name__", "__qualname__"}


class Notes:
    """`own` are the folders of the code that is read; the user's modules of elsewhere are noted with the digests of their files."""

    def __init__(self, own: Own) -> None:
        self._own = own
        self.parts: dict[str, str] = {}
        self.gaps: dict[str, None] = {}
        self.packages: dict[str, str] = {}
        self.varies: dict[str, None] = {}
        self._names: dict[str, None] = {}
        self._are_names_asked = False
        self._are_lines_asked = False

    def _installed(self, module: str, form: Any) -> Any:
        """What the interpreter, Spark or a package brings; of a package the version is noted."""
        top = module.partition(".")[0]
        origin = origins.of_module(module)
        if top in outside.CHANCE:
            self.varies[f"Python's {module}"] = None
        elif module.endswith(outside.RANDOM):
            self.varies[module] = None
        if origin is Origin.STANDARD and outside.reaches(module):
            self._gap("", f"it uses Python's {module}, which reaches outside of the code")
        if origin is Origin.INSTALLED and top in outside.SERVICES:
            self._gap("", f"it uses the package {top}, which reaches outside of the code")
        if origin is Origin.INSTALLED:
            self.packages |= origins.packages_of(module)
        if origin is not Origin.SPARK and readers.reads(module, form[-1]):
            self._gap("", f"it uses {module}.{form[-1]}, {outside.UNPROVED}")
        return form

    def _reaches(self, names: set[str], path: str) -> None:
        """Notes what code reaches beyond what is seen in it."""
        for name in sorted(names & outside.NAMES):
            self._gap(path, f"it uses {name}, whose answer is not in the code")
        self._are_lines_asked |= not names.isdisjoint(outside.LINES)
        for name in sorted(names & outside.CLOCK):
            self.varies[f"{name}() in {path}"] = None

    def _reads(self, names: set[str], things: list[Any], path: str) -> None:
        """Notes what code that uses `names` calls of `things` to read what is not in the code."""
        for name in readers.of(names, things):
            self._gap(path, f"it uses {name}, {outside.UNPROVED}")
        for thing in things:
            part = vars(thing).get("random") if isinstance(thing, types.ModuleType) and "random" in names else None
            if isinstance(part, types.ModuleType):
                self.varies[part.__name__] = None

    def _names_file(self, thing: Any, path: str) -> None:
        """Notes a text or a path that is the name of a file, whatever reads it. A folder of the side's own is none: its code is compared
        with the version, and what it writes is its own."""
        if outside.is_file(thing, self._own.code) and not self._own.is_folder(os.fsdecode(thing)):
            self._gap(path, f"it names {thing!s}, and that what is there is what it was cannot be proved")

    def _names_shown(self, text: object, path: str) -> None:
        """Notes a text by which code may ask for what is no part of its form."""
        shown = outside.SHOWN.search(text) if isinstance(text, str) else None
        if shown is not None:
            self._gap(path, f"it names {shown[0]}, whose answer is not in the code")

    def _called(self, name: str, *, shown: bool = False) -> str:
        """The name of a class or a function, empty where no code was seen yet that asks for such names."""
        self._names[name] = None
        return name if shown or self._are_names_asked else ""

    def _asks_names(self, names: set[str], name: str) -> list[str]:
        """The names so far of classes and functions, where code called `name` that uses `names` asks for them. A `__repr__` asks for that
        of its class alone."""
        if not names & NAMES or name == "__repr__":
            return []
        self._are_names_asked = True
        return list(self._names)

    def _gap(self, path: str, why: str) -> Any:
        self.gaps[f"{path or 'a Python function'}: {why}"] = None
        return ["gap"]
