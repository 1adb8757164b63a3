"""The key of a workspace: a random text in a file that its owner alone reads. Whoever has it is the owner."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from pipelines.domain.errors import NotFound
from pipelines.storage.errors import typed_errors
from pipelines.storage.rights import NOBODY_ELSE

KEY_BYTES = 32


def kept_key(path: Path) -> str:
    """The key in the file at `path`. It is made where there is none, and made anew where others may have read it or wrote it."""
    with typed_errors(path.name):
        return _private_text(path) or _made(path)


def read_key(path: Path) -> str:
    """The key in the file at `path`, empty where there is none; Unavailable where it is another user's."""
    try:
        with typed_errors(path.name):
            return path.read_text("ascii", "replace").strip()
    except NotFound:
        return ""


def _private_text(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return ""
    except OSError:
        if path.is_symlink():
            return ""
        raise
    with open(descriptor, encoding="ascii", errors="replace") as file:
        status = os.fstat(descriptor)
        is_private = status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & NOBODY_ELSE
        return file.read().strip() if is_private else ""


def _made(path: Path) -> str:
    """Written under another name first: a reader sees a whole key or none."""
    key, aside = secrets.token_urlsafe(KEY_BYTES), path.with_suffix(".tmp")
    aside.unlink(missing_ok=True)
    with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(key + "\n")
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    return key
