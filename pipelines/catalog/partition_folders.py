"""The partition columns that stand in the folders of an output's files (`kind=organic/`), as Spark's file sinks and Delta lay them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from pipelines.catalog.sql import literal

_NUMBER, _DATE = re.compile(r"0|-?[1-9][0-9]*"), re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NONE = "__HIVE_DEFAULT_PARTITION__"
"""What Spark writes for no value."""


def partitions(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names of the partition columns, as DuckDB has them: the output's own, and those of the folders above it.

    The output's root is taken to be the deepest folder over all files that is not itself a partition.
    """
    folders = [os.path.dirname(path) for path in paths]
    root = _root(folders)
    own = _names(os.path.relpath(folders[0], root))
    return own, [name for name in _names(root) if name not in own]


def options(paths: Sequence[str]) -> str:
    """Options of DuckDB's readers: a column is of numbers or dates where all of its values are written as those are, else of texts."""
    own, _ = partitions(paths)
    if not own:
        return "hive_partitioning = false"
    folders = list(dict.fromkeys(os.path.dirname(path) for path in paths))
    root = _root(folders)
    values: dict[str, set[str]] = {name: set() for name in own}
    for name, value in (pair for folder in folders for pair in _pairs(os.path.relpath(folder, root))):
        values.setdefault(name, set()).add(value)
    texts = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in own if not _is_typed(values[name] - {_NONE}))
    return "hive_partitioning = true" + (f", hive_types = {{{texts}}}" if texts else "")


def _is_typed(values: Iterable[str]) -> bool:
    return all(map(_NUMBER.fullmatch, values)) or all(map(_DATE.fullmatch, values))


def _root(folders: Sequence[str]) -> str:
    root = os.path.commonpath(folders)
    while "=" in os.path.basename(root):
        root = os.path.dirname(root)
    return root


def _names(folder: str) -> list[str]:
    return [name for name, _ in _pairs(folder)]


def _pairs(folder: str) -> list[tuple[str, str]]:
    parts = (part.partition("=") for part in folder.split(os.sep) if "=" in part)
    return [(name, unquote(value)) for name, _, value in parts]
