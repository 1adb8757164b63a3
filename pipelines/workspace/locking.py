"""Opens the catalog for one process alone: by the lock on its file on one host, and by the lease of the workspace across hosts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipelines.catalog.connection import Catalog
from pipelines.catalog.opening import open_catalog
from pipelines.catalog.rebuild import remove
from pipelines.domain.errors import Unavailable
from pipelines.domain.hosts import Host, Place
from pipelines.domain.workspace_leases import LOCKED, Standing
from pipelines.storage import hosts
from pipelines.workspace.files import Files
from pipelines.workspace.lease import Lease


@dataclass(frozen=True)
class Announced:
    """What opening reads of `server.json`."""

    host: Host | None = None


def open_locked(files: Files, lease: Lease, open_it: Callable[[Path], Catalog], *, stands_by: bool) -> Catalog:
    """The catalog, and the lease taken. Raises like `open_it`, and Unavailable (`catalog.locked`) for a lease that is another's."""
    if not stands_by:
        lease.wait()
    elif (standing := lease.look()) is Standing.HELD:
        raise lease.held()
    elif standing is Standing.LAPSED:
        return _taken_over(files, lease, open_it)
    catalog = _locked(files, open_it)
    try:
        lease.take(has_lock=True)
    except BaseException:
        catalog.close()
        raise
    return catalog


def _taken_over(files: Files, lease: Lease, open_it: Callable[[Path], Catalog]) -> Catalog:
    """The catalog, from a process that may live and have it open still: then a new one is made in its place."""
    path = files.layout.catalog_file
    lease.take(has_lock=False)
    try:
        try:
            return open_it(path)
        except Unavailable as error:
            if error.code != LOCKED:
                raise
        remove(path)
        return open_catalog(path)
    except BaseException:
        lease.release()
        raise


def _locked(files: Files, open_it: Callable[[Path], Catalog]) -> Catalog:
    """Raises like `open_catalog`, without a pid where that is another host's."""
    path = files.layout.catalog_file
    try:
        return open_it(path)
    except Unavailable as error:
        announced = files.find(Announced, files.layout.server_file) if error.code == LOCKED else None
        if announced is None or announced.host is None or hosts.place(announced.host) is not Place.ELSEWHERE:
            raise
        host = announced.host.name
        message = f"The catalog {path} is open on another host: the server that has said last that it has the workspace is on {host}"
        raise Unavailable(error.code, message, f"Ask the server on {host}, or run the command there.") from error
