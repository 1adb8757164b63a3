"""Empties the catalog for a rebuild; the workspace fills it again from its files."""

from __future__ import annotations

from pathlib import Path

from pipelines.catalog.connection import Catalog, Reader, Writer
from pipelines.catalog.migrations import apply, steps, tables
from pipelines.catalog.opening import open_catalog
from pipelines.catalog.tables import row
from pipelines.domain.errors import Corrupt, Unsupported


def reset(writer: Writer) -> None:
    """Drop all tables and make them again, in the writer's transaction: readers see the old index until it is committed."""
    for table in tables(writer):
        writer.execute(f'DROP TABLE "{table}"')
    apply(writer, steps(), len(steps()))


def reopen(path: Path) -> Catalog:
    """The catalog at `path`; a damaged or newer file is deleted first. Unavailable while another process has it open."""
    try:
        return open_catalog(path)
    except (Corrupt, Unsupported):
        remove(path)
    return open_catalog(path)


def remove(path: Path) -> None:
    """Deletes the catalog at `path`, which nobody has open."""
    for file in (path, path.with_name(f"{path.name}.wal")):
        file.unlink(missing_ok=True)


def counts(reader: Reader) -> dict[str, int]:
    """Rows by table."""
    rows_by_table = {}
    for table in tables(reader):
        counted = row(reader, f'SELECT count(*) FROM "{table}"')
        rows_by_table[table] = int(counted[0]) if counted else 0
    return rows_by_table
