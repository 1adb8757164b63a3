"""Files outside of a version that it names: no run begins where one is not what it was."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping

from pipelines.domain.files import outside_changed, outside_gone


def check(outside: Mapping[str, str]) -> None:
    """Raises NotFound (`code.outside_gone`) or Conflict (`code.outside_changed`) for the first of `outside` (path -> SHA-256)."""
    for path, digest in outside.items():
        if not os.path.isfile(path):
            raise outside_gone(path, digest)
        with open(path, "rb") as file:
            current_digest = hashlib.file_digest(file, "sha256").hexdigest()
        if current_digest != digest:
            raise outside_changed(path, current_digest, digest)
