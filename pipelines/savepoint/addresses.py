"""Addresses outside of the workspace: where savepoints are exported to and imported from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from pipelines.domain.errors import Invalid
from pipelines.storage import paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage

Open = Callable[[str], Storage]
HINT = "Give a path, or a URL of at least a bucket and a name: /backup/sp-1, s3://bucket/sp-1.tar.zst."


@dataclass(frozen=True)
class Address:
    """A directory or file by its name in the storage that it is in."""

    parent: Storage
    name: str

    @property
    def url(self) -> str:
        """Absolute path or URL."""
        return f"{self.parent.url.rstrip('/')}/{self.name}"


def address(url: str, open_at: Open = open_storage) -> Address:
    """`url` (a path, made absolute, or any URL of fsspec's) as an address; Invalid for one without a name, or with a password in it."""
    if not url.strip():
        raise Invalid("address.name", "An empty address names no file or directory", HINT)
    whole = url.rstrip("/") if "://" in url else open_at(url).url
    if "://" in whole and urlsplit(whole).password is not None:
        hint = "Give credentials in the environment, as the storage's client reads them."
        raise Invalid("address.password", "The URL holds a password, which would be kept with the operation", hint)
    parent, _, name = whole.rpartition("/")
    if not name or parent.endswith(("/", ":")):
        raise Invalid("address.name", f"{url!r} names no file or directory", HINT)
    return Address(open_at(parent or "/"), paths.relative(name))
