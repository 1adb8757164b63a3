"""The Iceberg table that a query writes to: the snapshot of its branch that a batch made, and what stands against going on from there.

A savepoint notes the snapshot and holds no file of it: the table keeps those, as long as it has the savepoint's tag (`iceberg_tags`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipelines.checkpoint import iceberg_metadata
from pipelines.domain import iceberg, iceberg_turns
from pipelines.domain.errors import Corrupt, Unsupported
from pipelines.domain.iceberg import ICEBERG, Table
from pipelines.domain.iceberg_turns import TURN_FORMAT, Kind, Turn
from pipelines.domain.savepoints import QueryImage, SnapshotImage
from pipelines.domain.texts import first_line
from pipelines.savepoint.sink_places import plain
from pipelines.savepoint.source import QueryLocation
from pipelines.storage.addresses import open_storage


def folder(sink: str, sink_path: str) -> str:
    """The local folder of the Iceberg table that a query writes to; empty for another sink, and a table elsewhere."""
    place = plain(sink_path) if sink_path and sink.lower() == ICEBERG else ""
    return place if place.startswith("/") else ""


def is_table(image: QueryImage) -> bool:
    """Whether the sink is an Iceberg table whose snapshot the savepoint notes."""
    return image.snapshot is not None


def of(place: QueryLocation, query_id: str, batch: int) -> SnapshotImage | None:
    """The snapshot that `batch` of the query made; None where the query writes to none, or its table is not there yet."""
    home = folder(place.sink, place.sink_path)
    if not home:
        return None
    branch, uuid = iceberg.split(place.sink_table)[1], ""
    try:
        table = iceberg_metadata.read(open_storage(home))
        if table is None:
            return None
        uuid = table.uuid
        return SnapshotImage(uuid, branch, iceberg.of_batch(table, branch, query_id, batch))
    except (Corrupt, Unsupported) as error:
        return SnapshotImage(uuid, branch, None, error.message)


def now(image: QueryImage) -> Table | str:
    """The image's table as it is now, or why it cannot be read."""
    try:
        table = iceberg_metadata.read(open_storage(folder(image.sink, image.sink_path)))
    except (Corrupt, Unsupported) as unreadable:
        return unreadable.message
    return table if table is not None else f"no table is in {image.sink_path} any more"


def fork(image: QueryImage, job: str, *, fresh: bool) -> Turn | str:
    """How a fork's branch begins, or why it cannot."""
    table, noted = now(image), image.snapshot
    if isinstance(table, str) or noted is None:
        return table if isinstance(table, str) else "the savepoint does not note its snapshot"
    begins = None if fresh else noted.snapshot
    kind = Kind.FRESH if begins is None else Kind.FORK
    begins = table.branches.get(noted.branch) if begins is None else begins
    turn = Turn(TURN_FORMAT, kind, noted.table or table.uuid, job, begins)
    return (noted.left if not fresh else "") or iceberg_turns.hindrance(table, turn) or turn


def back(image: QueryImage) -> Turn | str:
    """How the query's own branch goes back to what it was after the image's batch, or why it cannot."""
    table, noted = now(image), image.snapshot
    if isinstance(table, str) or noted is None or noted.left:
        return table if isinstance(table, str) else noted.left if noted else "the savepoint does not note its snapshot"
    turn = Turn(
        TURN_FORMAT, Kind.BACK, noted.table, noted.branch, noted.snapshot, image.query_id, image.batch, noted.snapshot
    )  # fmt: skip
    return iceberg_turns.hindrance(table, turn) or turn


def adopt(image: QueryImage, home: str, branch: str, query_id: str, since: int | None) -> Turn | str:
    """How the parent's `branch` becomes what the variant's `image` has: they parted at snapshot `since`. Or why it cannot."""
    table, noted = now(image), image.snapshot
    if isinstance(table, str) or noted is None or noted.left:
        return table if isinstance(table, str) else noted.left if noted else "the savepoint does not note the variant's snapshot"
    if plain(home) != folder(image.sink, image.sink_path) or branch == noted.branch:
        return "the variant writes to another table" if branch != noted.branch else f"the variant writes to its branch {branch}, too"
    if since is None:
        return "the savepoint at which they parted did not note its snapshot"
    turn = Turn(TURN_FORMAT, Kind.ADOPT, noted.table, branch, noted.snapshot, query_id, image.batch, since)
    return iceberg_turns.hindrance(table, turn) or turn


def files(home: str, sink_table: str) -> tuple[str, ...]:
    """The data files that a reader of the branch sees now; Unsupported where they are not all of what it sees."""
    storage = open_storage(home)
    table = iceberg_metadata.read(storage)
    head = table.branches.get(iceberg.split(sink_table)[1]) if table is not None else None
    path = iceberg_metadata.newest(storage) if head is not None else None
    return _planned(f"{storage.url.rstrip('/')}/{path}", head) if path is not None else ()


def _planned(metadata: str, snapshot: int | None) -> tuple[str, ...]:
    from pyiceberg.exceptions import ValidationError
    from pyiceberg.table import StaticTable

    read: Callable[[str], Any] = StaticTable.from_metadata
    try:
        table = read(metadata)
    except ValidationError as error:
        reason = next((line.strip() for line in str(error).splitlines() if "Unsupported field type" in line), first_line(error))
        raise _not_compared(f"pyiceberg does not read it ({reason.partition(' [')[0]})") from error
    if len({(field.field_id, field.name) for schema in table.metadata.schemas for field in schema.fields}) > _columns(table):
        raise _not_compared("columns of it were renamed: its files have other names for them")
    tasks = list(table.scan(snapshot_id=snapshot).plan_files())
    if any(task.delete_files for task in tasks):
        raise _not_compared("rows of its files are deleted in other files")
    if any(str(task.file.file_format).rpartition(".")[2].lower() != "parquet" for task in tasks):
        raise _not_compared("its files are no Parquet")
    return tuple(plain(task.file.file_path) for task in tasks)


def _columns(table: Any) -> int:
    """How many columns the table ever had, whatever their names."""
    return len({field.field_id for schema in table.metadata.schemas for field in schema.fields})


def _not_compared(why: str) -> Unsupported:
    return Unsupported("compare.sink", f"This Iceberg table cannot be compared from its files: {why}", "Compare the tables with Spark.")
