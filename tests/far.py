"""`far://`: another storage by URL, for tests. It lies in this process, whose memory is refused by its own name."""

from __future__ import annotations

from typing import Any

import fsspec
from fsspec.implementations.memory import MemoryFileSystem

SCHEME = "far"


class Far(MemoryFileSystem):
    """fsspec's storage in memory by another name."""

    protocol = SCHEME
    store: dict[str, Any] = {}
    pseudo_dirs = [""]

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return super()._strip_protocol(str(path).removeprefix(f"{SCHEME}://"))


fsspec.register_implementation(SCHEME, Far, clobber=True)


def filesystem() -> Any:
    """The storage behind all its URLs."""
    return fsspec.filesystem(SCHEME)
