"""A path that is not there, and that a script wrote as a relative one: where it was looked for."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from pipelines.domain.runs import Exit

CLASSES = ("FileNotFoundError", "FileNotFoundException", "PATH_NOT_FOUND", "NoSuchFileException")
_PATHS = (
    re.compile(r"No such file or directory: '(.+?)'"),
    re.compile(r"(?:does not exist:?|doesn't exist:?|File) (?:file:(?://)?)?(/\S+?)[.,;]?(?:\s|$)"),
)
"""How Python and Spark name it; Spark has made it absolute by then."""


def advised(ending: Exit, folder: str) -> Exit:
    """The exit of a run in the working directory `folder`, with the advice in its message where it failed of such a path."""
    if ending.error_class not in CLASSES or not any(_is_relative(path, folder) for path in _paths(ending.message)):
        return ending
    where = f"A job's relative paths begin in the working directory of its driver, which is its output folder where that is local: {folder}"
    return replace(ending, message=f"{ending.message}\n{where}. Give the whole path, or pass it as an argument.")


def _paths(message: str) -> list[str]:
    return [match[1] for pattern in _PATHS for match in pattern.finditer(message)]


def _is_relative(path: str, folder: str) -> bool:
    """Whether it was written so, or begins in the folder where relative ones do."""
    return "://" not in path and (not os.path.isabs(path) or path.startswith(f"{folder}{os.sep}"))
