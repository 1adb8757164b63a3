"""Another user than this process's for jobs' code, and a folder that it gets to."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.storage import users

NAME = "nobody"
MAY_SWITCH = os.geteuid() == 0
"""Only root begins processes of others; elsewhere the refusal is what there is to see."""


@contextmanager
def passable() -> Iterator[Path]:
    """A folder that everybody gets through, unlike pytest's; at its end jobs' code is this process's own user's again."""
    with tempfile.TemporaryDirectory(prefix="tidemark-run-as-") as folder:
        Path(folder).chmod(0o755)
        try:
            yield Path(folder)
        finally:
            users.assume(None)


@contextmanager
def workspace() -> Iterator[Path]:
    """One in such a folder, as a server makes it."""
    with passable() as folder:
        root = folder / "ws"
        root.mkdir(mode=0o700)
        yield root
