"""Files by their names in a folder that somebody else made: nothing else of it is looked at, since beside them may be anything."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.storage import paths
from pipelines.storage.errors import typed_errors
from pipelines.storage.folders import local
from pipelines.storage.protocol import Storage


@dataclass(frozen=True)
class NamedFiles:
    """What is there of them."""

    sizes: Mapping[str, int]
    """Path -> bytes."""
    irregular: Sequence[str] = ()
    """Paths of what is no plain file, or no plain folder that one of them is in: links, devices."""


def look(storage: Storage, folder: str, files: Iterable[str]) -> NamedFiles:
    """The files by their paths in `folder`. Only a local disk can have irregular ones, and links that lead out of the folder."""
    if not local(storage):
        return NamedFiles({entry.path[len(folder) + 1 :]: entry.bytes for entry in storage.list(folder)})
    file_paths = dict.fromkeys(files)
    inner = dict.fromkeys(above for path in file_paths for above in paths.ancestors(path))
    with typed_errors(folder):
        states = {path: _state(f"{storage.url}/{paths.relative(paths.join(folder, path))}") for path in (*inner, *file_paths)}
    irregular = [
        path for path, state in states.items() if state and not (stat.S_ISREG if path in file_paths else stat.S_ISDIR)(state.st_mode)
    ]
    return NamedFiles({path: state.st_size for path in file_paths if (state := states[path])}, irregular)


def _state(path: str) -> os.stat_result | None:
    """Links are not followed; None where nothing is."""
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
