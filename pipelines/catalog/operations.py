"""Operations in the catalog."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.catalog.connection import Reader, Writer
from pipelines.catalog.tables import TEXT, WHOLE, document, first, read, replace
from pipelines.domain.errors import NotFound
from pipelines.domain.operations import Operation, OperationState

_COLUMNS = {"id": TEXT, "job": TEXT, "state": TEXT, "created_ms": WHOLE, "document": TEXT}


def save(writer: Writer, operations: Sequence[Operation]) -> None:
    """Add `operations`, or replace those of the same id."""
    replace(writer, "operations", _COLUMNS, ["id"], [(o.id, o.job, o.state, o.created_ms, document(o)) for o in operations])


def running(reader: Reader, job: str = "") -> list[Operation]:
    """Operations still under way, of a job or of all, oldest first."""
    sql = "SELECT document FROM operations WHERE state = ? AND ? IN ('', job) ORDER BY created_ms, id"
    return read(Operation, reader.execute(sql, [OperationState.RUNNING, job]).fetchall(), "operation")


def newest(reader: Reader, limit: int = 100) -> list[Operation]:
    """Operations of any state, newest first."""
    sql = "SELECT document FROM operations ORDER BY created_ms DESC, id DESC LIMIT ?"
    return read(Operation, reader.execute(sql, [limit]).fetchall(), "operation")


def get(reader: Reader, operation_id: str) -> Operation:
    """The operation of that id; NotFound (`operation.not_found`) if there is none."""
    operation = first(Operation, reader, "SELECT document FROM operations WHERE id = ?", [operation_id], "operation")
    if operation is None:
        raise NotFound(
            "operation.not_found", f"There is no operation {operation_id!r}", "Operations are not kept when a catalog is rebuilt."
        )
    return operation
