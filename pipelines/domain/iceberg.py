"""Iceberg tables: the snapshots of their branches, which query and batch wrote each, and names with a branch (Iceberg's table spec)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.domain.errors import Unsupported

ICEBERG = "iceberg"
"""Spark's name of the sink."""
MAIN = "main"
QUERY_ID, EPOCH_ID = "spark.sql.streaming.queryId", "spark.sql.streaming.epochId"
"""What a streaming write of Spark's notes in the summary of its snapshot (Iceberg's `SparkWrite`)."""
APPEND, REPLACE, DELETE, OVERWRITE = "append", "replace", "delete", "overwrite"
"""Operations of snapshots: one has the rows of its parent in other files, as of a compaction; the last two lack rows of it."""
_NAMED = re.compile(r"(.+)\.`?branch_((?:[^.`]|``)+)`?")
_PATH = re.compile(r"(.+)#branch_([^,#]+)")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Snapshot:
    """A state of a table. `query_id` and `batch`: of the streaming query that wrote it; empty and -1 for any other writer."""

    id: int
    parent: int | None
    query_id: str = ""
    batch: int = -1
    operation: str = APPEND
    at_ms: int = 0
    """When it was made (epoch ms)."""
    added_files: int = 0

    @property
    def keeps_rows(self) -> bool:
        """Whether its rows are those of its parent."""
        return self.operation == REPLACE


@dataclass(frozen=True)
class Table:
    """A table as its newest metadata says it."""

    uuid: str
    location: str
    snapshots: Mapping[int, Snapshot] = field(default_factory=dict)
    branches: Mapping[str, int] = field(default_factory=dict)
    """Name -> the newest snapshot."""
    tags: Mapping[str, int] = field(default_factory=dict)
    """Name -> the snapshot that it keeps."""
    properties: Mapping[str, str] = field(default_factory=dict)
    kept_ms: str = ""
    """How long snapshots of `main` are kept, and how many of them at least, where the branch itself says it."""
    kept_snapshots: str = ""

    def line(self, head: int | None) -> Iterator[Snapshot]:
        """The snapshot `head` and those that it came from, newest first, as far as the table still has them."""
        while head is not None and head in self.snapshots:
            yield self.snapshots[head]
            head = self.snapshots[head].parent

    def of_branch(self, branch: str) -> Iterator[Snapshot]:
        return self.line(self.branches.get(branch))


def table_of(metadata: Mapping[str, Any]) -> Table:
    """The table of a metadata file; ValueError where it is none."""
    try:
        snapshots = {raw["snapshot-id"]: _snapshot(raw) for raw in metadata.get("snapshots") or ()}
        refs = metadata.get("refs") or {}
        branches, tags = ({name: ref["snapshot-id"] for name, ref in refs.items() if ref["type"] == kind} for kind in ("branch", "tag"))
        current = metadata.get("current-snapshot-id")
        if current is not None and current != -1:
            branches.setdefault(MAIN, current)
        properties = {str(name): str(value) for name, value in (metadata.get("properties") or {}).items()}
        kept_ms, kept_snapshots = _kept(refs.get(MAIN) or {})
        uuid, location = str(metadata["table-uuid"]), str(metadata["location"])
        return Table(uuid, location, snapshots, branches, tags, properties, kept_ms, kept_snapshots)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no metadata of an Iceberg table: {error!r}") from error


def _kept(branch: Mapping[str, Any]) -> tuple[str, str]:
    return str(branch.get("max-snapshot-age-ms") or ""), str(branch.get("min-snapshots-to-keep") or "")


def _snapshot(raw: Mapping[str, Any]) -> Snapshot:
    summary = raw.get("summary") or {}
    is_of_a_query = QUERY_ID in summary and EPOCH_ID in summary
    parent = raw.get("parent-snapshot-id")
    if not isinstance(raw["snapshot-id"], int) or not isinstance(parent, int | None):
        raise TypeError("a snapshot's id is no number")
    query_id, batch = (str(summary[QUERY_ID]), int(summary[EPOCH_ID])) if is_of_a_query else ("", -1)
    at_ms, files = int(raw.get("timestamp-ms") or 0), int(summary.get("added-data-files") or 0)
    return Snapshot(raw["snapshot-id"], parent, query_id, batch, str(summary.get("operation", "")), at_ms, files)


def of_batch(table: Table, branch: str, query_id: str, batch: int) -> int | None:
    """The snapshot of the branch that has what the query wrote up to `batch`, and none of its later batches; None where it had none then.
    Raises Unsupported (`iceberg.expired`) where the table does not have it any more."""
    later: Snapshot | None = None
    oldest: Snapshot | None = None
    for oldest in table.of_branch(branch):
        if oldest.query_id == query_id and oldest.batch <= batch:
            return oldest.id
        later = oldest if oldest.query_id == query_id else later
    begins_here = oldest is None or oldest.parent is None
    if later is None:
        if begins_here:
            return table.branches.get(branch)
        raise _expired(f"the snapshots of branch {branch} that are left do not say which has batch {batch}")
    if later.parent is not None and (later.parent not in table.snapshots or not (begins_here or later.batch == batch + 1)):
        raise _expired(f"its snapshot of batch {batch} has expired")
    return later.parent


def _expired(why: str) -> Unsupported:
    hint = "Fork with the sink fresh, or keep the table's snapshots for longer (history.expire.max-snapshot-age-ms)."
    return Unsupported("iceberg.expired", f"The Iceberg table cannot be taken back there: {why}", hint)


def newest_batch(table: Table, branch: str, query_id: str) -> int:
    """The newest batch of the query that the branch has; -1 for none."""
    return next((snapshot.batch for snapshot in table.of_branch(branch) if snapshot.query_id == query_id), -1)


def changed_by_others(table: Table, head: int | None, since: int, query_id: str) -> str:
    """Who but the query changed rows after the snapshot `since` on the way to `head`, in words; empty for nobody."""
    for snapshot in table.line(head):
        if snapshot.id == since:
            return ""
        if snapshot.query_id != query_id and not snapshot.keeps_rows:
            return f"others changed its rows in snapshot {snapshot.id}"
    return f"its snapshots do not say any more who wrote after snapshot {since}"


def split(name: str) -> tuple[str, str]:
    """The table and the branch that a name or a path means."""
    match = (_PATH if "/" in name else _NAMED).fullmatch(name)
    return (match[1], match[2].replace("``", "`")) if match else (name, MAIN)


def on_branch(table: str, branch: str) -> str:
    """The name or path of a branch, as `split` takes it apart."""
    if branch == MAIN:
        return table
    if "/" in table:
        return f"{table}#branch_{branch}"
    selector = f"branch_{branch}"
    return f"{table}.{selector}" if _PLAIN.fullmatch(selector) else f"{table}.`{selector.replace('`', '``')}`"
