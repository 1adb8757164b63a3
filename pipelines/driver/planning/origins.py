"""Where Python code comes from: the language itself, an installed package, or the user's own files."""

from __future__ import annotations

import enum
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from pipelines.domain.installed import MODULE
from pipelines.driver import installed

_PATHS = sysconfig.get_paths()
_STANDARD = tuple({os.path.realpath(_PATHS[name]) + os.sep for name in ("stdlib", "platstdlib")})
_INSTALLED = ("site-packages", "dist-packages")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""The name at the beginning of a requirement (PEP 508)."""
EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)""")
FOR_DEVELOPERS = {"test", "tests", "testing", "dev", "doc", "docs", "lint", "all"}
MAIN = "__main__"
"""The script, whatever program runs it."""


class Origin(enum.StrEnum):
    STANDARD = "standard"
    SPARK = "spark"
    INSTALLED = "installed"
    OWN = "own"


def of_module(name: str) -> Origin:
    """The origin of the module `name`; one that is not loaded or has no file is judged by its name."""
    top = name.partition(".")[0]
    if top == MAIN:
        return Origin.OWN
    file = getattr(sys.modules.get(name) or sys.modules.get(top), "__file__", None) or ""
    if top == "pyspark":
        return Origin.SPARK
    if not file:
        return Origin.STANDARD if top in sys.stdlib_module_names else Origin.OWN
    path = os.path.realpath(file)
    if any(folder in path.split(os.sep) for folder in _INSTALLED):
        return Origin.INSTALLED
    return Origin.STANDARD if path.startswith(_STANDARD) else Origin.OWN


def is_compiled(name: str) -> bool:
    """Whether the module `name` is no Python, and the objects of its classes may hold what nobody sees."""
    return str(getattr(sys.modules.get(name), "__file__", None) or "").endswith(tuple(EXTENSION_SUFFIXES))


def packages_of(module: str) -> dict[str, str]:
    """The installed distribution that has `module`, and all that it may use, with their versions; no version where nobody says."""
    top = module.partition(".")[0]
    names = _distributions().get(top, ())
    return _with_required(names[0], tuple(sys.path)) if len(names) == 1 else {top: ""}


def elsewhere(module: str, version: str) -> dict[str, str]:
    """The user's module `module` with the digest of its file, where that is not below the folder `version`."""
    place = installed.elsewhere(sys.modules.get(module), Path(version)) if version and module != MAIN else ""
    return {f"{MODULE}{module}": installed.digest(place)} if place else {}


@cache
def _with_required(package: str, paths: tuple[str, ...]) -> dict[str, str]:
    """A distribution, what it may use beside (its extras), and what all these require, at whatever remove, as far as they are there."""
    there, known, rest = installed.packages(paths), dict[str, str](), [package, *_required(package, with_extras=True)]
    while rest:
        name = installed.normal(rest.pop())
        if name in there and name not in known:
            known[name] = there[name]
            rest += _required(name, with_extras=False)
    return known or {package: ""}


def _required(package: str, *, with_extras: bool) -> Iterator[str]:
    for requirement in metadata.requires(package) or ():
        extra, name = EXTRA.search(requirement), NAME.match(requirement)
        if name and (extra is None or (with_extras and extra[1] not in FOR_DEVELOPERS)):
            yield name[0]


@cache
def _distributions() -> dict[str, tuple[str, ...]]:
    return {top: tuple(dict.fromkeys(names)) for top, names in metadata.packages_distributions().items()}


def is_importable(thing: object) -> bool:
    """Whether `thing` is what its module has under its name, so that the module's file says all of it."""
    value: object = sys.modules.get(getattr(thing, "__module__", None) or "")
    for name in str(getattr(thing, "__qualname__", None) or getattr(thing, "__name__", "")).split("."):
        value = getattr(value, name, None)
    return value is thing and value is not None
