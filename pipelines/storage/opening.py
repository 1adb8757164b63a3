"""From an address to a storage."""

from __future__ import annotations

from urllib.parse import unquote

from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Storage
from pipelines.storage.remote import FsspecStorage


def open_storage(url: str) -> Storage:
    """The storage at `url`: a path or `file:` URL is this machine, anything else fsspec's; raises Invalid, Unsupported or Unavailable."""
    if url.startswith("file:"):
        return LocalStorage(_local_path(url))
    if "://" not in url:
        return LocalStorage(url)
    return FsspecStorage(url)


def _local_path(url: str) -> str:
    """The path of `file:/a`, `file:///a` and `file://localhost/a`, all of which Spark and people write."""
    path = url.removeprefix("file:")
    if path.startswith("//"):
        path = "/" + path[2:].partition("/")[2]
    return unquote(path)
