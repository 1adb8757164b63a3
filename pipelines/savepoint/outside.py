"""Files that a version knows by their hash alone: whether they are on this machine as they were. They are never carried."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache

from pipelines.domain.errors import TidemarkError
from pipelines.domain.files import outside_changed, outside_gone
from pipelines.domain.versions import Version

KEPT = 128
"""Hashes that are remembered, each as long as its file has the same size and time of change."""


def refuse(version: Version) -> None:
    """Raises NotFound (`code.outside_gone`) or Conflict (`code.outside_changed`) for the first that is not what it was."""
    for problem in _problems(version):
        raise problem


def remarks(version: Version) -> tuple[str, ...]:
    """A sentence for each that is not what it was."""
    return tuple(f"{problem.message} No fork begins until then. {problem.hint}" for problem in _problems(version))


def _problems(version: Version) -> list[TidemarkError]:
    found = (_problem(path, digest) for path, digest in version.outside.items())
    return [problem for problem in found if problem is not None]


def _problem(path: str, digest: str) -> TidemarkError | None:
    try:
        there = os.stat(path)
        found = _digest(path, there.st_size, there.st_mtime_ns)
    except OSError:
        return outside_gone(path, digest)
    return None if found == digest else outside_changed(path, found, digest)


@lru_cache(KEPT)
def _digest(path: str, size: int, modified_ns: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
