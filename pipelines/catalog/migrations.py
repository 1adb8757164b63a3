"""The catalog's schema: numbered SQL files, each applied once, in order, all in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources

from pipelines.catalog.connection import Catalog, Reader, Writer
from pipelines.catalog.errors import newer
from pipelines.catalog.tables import row


@cache
def steps() -> tuple[str, ...]:
    """The SQL of every migration; the one at index N brings format N to N+1."""
    folder = resources.files("pipelines.catalog").joinpath("schema")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return tuple(file.read_text(encoding="utf-8") for file in files)


def migrate(catalog: Catalog, migrations: Sequence[str] | None = None) -> None:
    """Bring the catalog to the newest format, or leave it as it was; Unsupported (`catalog.newer`) if it is beyond that."""
    known = steps() if migrations is None else migrations
    with catalog.writing() as writer:
        version = format_of(writer)
        if version > len(known):
            raise newer(str(catalog.path), version, len(known))
        if version < len(known):
            apply(writer, known[version:], len(known))


def apply(writer: Writer, migrations: Sequence[str], reached: int) -> None:
    """Run `migrations` and note that the format is `reached` now."""
    for sql in migrations:
        writer.execute(sql)
    writer.execute("CREATE TABLE IF NOT EXISTS catalog_format (version BIGINT NOT NULL)")
    writer.execute("DELETE FROM catalog_format")
    writer.execute("INSERT INTO catalog_format VALUES (?)", [reached])


def format_of(reader: Reader) -> int:
    """The format of the open catalog; 0 for a new file."""
    if "catalog_format" not in tables(reader):
        return 0
    version_row = row(reader, "SELECT version FROM catalog_format")
    return int(version_row[0]) if version_row else 0


def tables(reader: Reader) -> list[str]:
    """Names of the catalog's tables."""
    rows = reader.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary ORDER BY 1").fetchall()
    return [name for (name,) in rows]
