"""Where Python code comes from: the language itself, an installed package, or the user's own files."""

from __future__ import annotations

import enum
import os
import sys
import sysconfig
from functools import cache
from importlib import metadata

_PATHS = sysconfig.get_paths()
_STANDARD = tuple({os.path.realpath(_PATHS[name]) + os.sep for name in ("stdlib", "platstdlib")})
_INSTALLED = ("site-packages", "dist-packages")
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


def package_of(module: str) -> tuple[str, str]:
    """The installed distribution that has `module`, and its version; an empty version where nobody says."""
    names = _distributions().get(module.partition(".")[0], ())
    return (names[0], metadata.version(names[0])) if len(names) == 1 else (module.partition(".")[0], "")


@cache
def _distributions() -> dict[str, tuple[str, ...]]:
    return {top: tuple(dict.fromkeys(names)) for top, names in metadata.packages_distributions().items()}


def is_importable(thing: object) -> bool:
    """Whether `thing` is what its module has under its name, so that the module's file says all of it."""
    value: object = sys.modules.get(getattr(thing, "__module__", None) or "")
    for name in str(getattr(thing, "__qualname__", None) or getattr(thing, "__name__", "")).split("."):
        value = getattr(value, name, None)
    return value is thing and value is not None
