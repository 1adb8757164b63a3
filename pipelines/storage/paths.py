"""Relative paths: what one may look like, and how parts make one."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence

from pipelines.domain.errors import Invalid

TEMPORARY_PREFIX = ".tmp-"


def relative(path: str) -> str:
    """`path` itself; raises Invalid where it could leave the root it is meant for (`/a`, `a/../b`, `a//b`, empty)."""
    framed = f"/{path}/"
    if "//" in framed or "/./" in framed or "/../" in framed or "\0" in framed:
        hint = "Use parts joined by single '/', without '.', '..' or a leading '/'."
        raise Invalid("storage.path", f"{path!r} is not a relative path", hint)
    return path


def all_relative(candidates: Sequence[str]) -> Sequence[str]:
    """`candidates` itself; raises like `relative` for the first that is no relative path. Checks all at once: there can be 50,000."""
    framed = "/" + "/\n/".join(candidates) + "/"
    if "//" in framed or "/./" in framed or "/../" in framed or "\0" in framed:
        for path in candidates:
            relative(path)
    return candidates


def join(*parts: str) -> str:
    """The relative path that the non-empty `parts` make; raises Invalid like `relative`."""
    return relative("/".join(part for part in parts if part))


def parent(path: str) -> str:
    """The folder of `path`, empty for one at the root."""
    return path.rpartition("/")[0]


def name(path: str) -> str:
    """The last part of `path`."""
    return path.rpartition("/")[2]


def temporary(path: str) -> str:
    """A fresh name beside `path`, so that a rename within one folder publishes what was written there."""
    fresh = TEMPORARY_PREFIX + secrets.token_hex(8)
    return f"{parent(path)}/{fresh}" if "/" in path else fresh


def is_temporary(path: str) -> bool:
    """Whether `path` is an unfinished write: never listed, never read."""
    return name(path).startswith(TEMPORARY_PREFIX)


def ancestors(path: str) -> Iterator[str]:
    """The folders that `path` is in, innermost first."""
    folder = parent(path)
    while folder:
        yield folder
        folder = parent(folder)
