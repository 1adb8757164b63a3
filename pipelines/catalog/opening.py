"""Opening the catalog: its file is made or migrated before anybody reads it."""

from __future__ import annotations

from pathlib import Path

from pipelines.catalog.connection import Catalog, connect
from pipelines.catalog.migrations import migrate

_STORAGE_VERSION = "v1.5.0"
_THREADS = 1
"""Threads of one query. Queries of the catalog take milliseconds: a second thread makes none of them faster and costs a third more
processor time, and pages query side by side anyway."""


def open_catalog(path: Path, *, memory_limit: str = "1GB") -> Catalog:
    """The catalog at `path`, made or migrated to today's schema.

    Unavailable (`catalog.locked`) while another process has it open, Corrupt (`catalog.damaged`) for a file that is no catalog,
    Unsupported (`catalog.newer`) for one that a later Tidemark wrote.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    root = connect(str(path), memory_limit, storage_compatibility_version=_STORAGE_VERSION, threads=_THREADS)
    return _migrated(Catalog(path, root))


def open_in_memory(path: Path) -> Catalog:
    """An empty catalog that is in no file, in place of the one at `path`, for a disk that takes nothing any more."""
    return _migrated(Catalog(path, connect(":memory:", "1GB", threads=_THREADS, temp_directory="")))


def _migrated(catalog: Catalog) -> Catalog:
    try:
        migrate(catalog)
    except BaseException:
        catalog.close()
        raise
    return catalog
