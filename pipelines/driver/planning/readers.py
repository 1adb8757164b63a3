"""Functions of packages and of Python's own library that read files, ask services or show other code, told by their names as packages give
them."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Iterator
from typing import Any

from pipelines.driver.planning import origins, outside
from pipelines.driver.planning.origins import Origin

READS = re.compile(
    r"(load|read|scan|open|connect)(_\w+)?|(load|gen|from|read|im)\w*(file|txt|mat|arff|read)|from_(file|disk|path|pretrained|url|uri)\w*"
    r"|\w*(File|FileSystem|Store)|memmap|Reader|InferenceSession"
)
PARSES = {"parse", "iterparse"}
OF_XML = ("xml", "lxml")
"""Packages whose `parse` takes a file; of others it takes a text."""
SHOWS = {("sys", "modules"), ("sys", "argv"), ("sys", "_getframe"), ("dataclasses", "fields"), ("typing", "get_type_hints")}
SHOWS |= {("types", "get_original_bases")}
"""What shows the interpreter's state, or of code what is no part of its form: of fields and annotations the types and notes."""
FOREIGN = (Origin.STANDARD, Origin.INSTALLED)


def reads(module: str, name: str) -> bool:
    """Whether what is called `name` in `module` may read what is not in the code."""
    name = name.rpartition(".")[2]
    return READS.fullmatch(name) is not None or (name in PARSES and module.partition(".")[0] in OF_XML) or (module, name) in SHOWS


def of(names: Iterable[str], things: Iterable[Any]) -> Iterator[str]:
    """What code that uses `names` can call by them of `things`, or of modules and classes that it finds in these by other names."""
    rest, seen, names = [_owner(thing) for thing in things], dict[int, Any](), sorted(names)
    while rest:
        owner = rest.pop()
        if id(owner) in seen:
            continue
        seen[id(owner)] = owner
        for name in names:
            try:
                part = getattr(owner, name)
            except (AttributeError, ImportError):  # some packages import their parts where these are asked for
                continue
            if isinstance(part, types.ModuleType | type):
                rest.append(part)
            if (
                isinstance(part, types.ModuleType)
                and origins.of_module(part.__name__) is Origin.STANDARD
                and outside.reaches(part.__name__)
            ):
                yield part.__name__
            module = _module(part) or _module(owner)
            if origins.of_module(module) in FOREIGN and reads(module, name):
                yield f"{module}.{name}"


def _owner(thing: Any) -> Any:
    return thing if isinstance(thing, types.ModuleType | type) else type(thing)


def _module(thing: Any) -> str:
    name = thing.__name__ if isinstance(thing, types.ModuleType) else getattr(thing, "__module__", None)
    return name if isinstance(name, str) else ""
