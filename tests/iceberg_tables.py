"""Iceberg tables that tests write themselves, by pyiceberg, in the layout of a Hadoop catalog: Spark and Tidemark read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.serializers import FromInputFile, ToOutputFile
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import TableRequirement, TableUpdate, update_table_metadata
from pyiceberg.types import IntegerType, NestedField, StringType, TimestamptzType

EVENTS = Schema(
    NestedField(1, "k", StringType(), required=False),
    NestedField(2, "ts", TimestamptzType(), required=False),
    NestedField(3, "n", IntegerType(), required=False),
)
ROWS = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("n", pa.int32())])


class Folders(NoopCatalog):
    """Commits metadata under the next number, as Iceberg's `HadoopTableOperations` does."""

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        for requirement in requirements:
            requirement.validate(table.metadata)
        changed = update_table_metadata(table.metadata, updates, metadata_location=table.metadata_location)
        path = _written(Path(changed.location), _number(table) + 1, changed)
        return CommitTableResponse.model_construct(metadata=changed, metadata_location=path)


def create(folder: Path, schema: Schema = EVENTS, **properties: str) -> Any:
    """An empty table in `folder`, as pyiceberg has it: `append`, `overwrite`, `delete`, `maintenance.expire_snapshots()` commit to it."""
    metadata = new_table_metadata(schema, UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, str(folder), properties)
    (folder / "metadata").mkdir(parents=True)
    return Table(("db", folder.name), metadata, _written(folder, 1, metadata), PyArrowFileIO(), Folders("lake"))


def reopened(folder: Path) -> Any:
    """The table as its newest metadata has it: others may have committed since."""
    newest = max((folder / "metadata").glob("v*.metadata.json"), key=lambda path: int(path.name.split(".")[0][1:]))
    metadata = FromInputFile.table_metadata(PyArrowFileIO().new_input(str(newest)))
    return Table(("db", folder.name), metadata, str(newest), PyArrowFileIO(), Folders("lake"))


def append(table: Any, rows: list[dict[str, Any]]) -> int:
    """Adds the rows in one file; answers with the snapshot."""
    table.append(pa.Table.from_pylist(rows, schema=ROWS))
    return newest(table)


def expire(table: Any, *snapshots: int) -> None:
    """Takes snapshots away as Iceberg's `expire_snapshots` does: those that came after them still name them, which pyiceberg's do not."""
    left = [snapshot for snapshot in table.metadata.snapshots if snapshot.snapshot_id not in snapshots]
    log = [entry for entry in table.metadata.snapshot_log if entry.snapshot_id not in snapshots]
    table.metadata = table.metadata.model_copy(update={"snapshots": left, "snapshot_log": log})
    table.metadata_location = _written(Path(table.location()), _number(table) + 1, table.metadata)


def newest(table: Any) -> int:
    return int(table.current_snapshot().snapshot_id)


def _number(table: Table) -> int:
    """Of the table's newest metadata."""
    return int(Path(table.metadata_location).name.split(".")[0][1:])


def _written(folder: Path, number: int, metadata: TableMetadata) -> str:
    path = str(folder / "metadata" / f"v{number}.metadata.json")
    ToOutputFile.table_metadata(metadata, PyArrowFileIO().new_output(path))
    (folder / "metadata" / "version-hint.text").write_text(str(number))
    return path
