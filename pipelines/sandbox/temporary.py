"""The temporary folder of a process with all that it starts: what a killed Spark leaves there goes with it.

Spark and its libraries put block files, artifacts, RocksDB's working folders and unpacked native libraries into the JVM's temporary
folder, and remove them as they end; a process that is killed removes nothing, and there are about 20 MB of it each time.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from pipelines.sandbox.classes import SUBMIT_OPTIONS, quoted
from pipelines.storage import handover

NAMED = "-Djava.io.tmpdir="
PREFIX = "tidemark-spark-"
OWNER = "of"
"""File in it with the folder that the process belongs to."""


def given(environ: Mapping[str, str], folder: Path) -> Mapping[str, str]:
    """`environ` for a process that belongs to `folder`, with a new temporary folder for its JVM, in the system's; one that the user has
    named stays, and is left alone."""
    options = environ.get(SUBMIT_OPTIONS, "")
    if NAMED in options:
        return environ
    made = Path(tempfile.mkdtemp(prefix=PREFIX))
    (made / OWNER).write_text(str(folder))
    handover.admit(made)
    return {**environ, SUBMIT_OPTIONS: f"{quoted(f'{NAMED}{made}')} {options}".strip()}


def remove(folder: Path) -> None:
    """Removes those of processes that belonged to `folder` or to one in it, none of which lives."""
    for path in _of(folder):
        shutil.rmtree(path, ignore_errors=True)


def _of(folder: Path) -> Iterator[Path]:
    """Another user may have made folders of this name: those are not ours."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            seen = path.lstat()
            is_ours = stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid()
            owner = (path / OWNER).read_text() if is_ours else ""
        except OSError:
            continue
        if owner and Path(owner).is_relative_to(folder):
            yield path
