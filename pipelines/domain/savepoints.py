"""A savepoint: an immutable, self-contained, relocatable image of a job at committed batches. Its plans, and how far to trust it.

On disk (`data/README.md` specifies it): `savepoints/<id>/manifest.json` (a `Manifest`, written last: it publishes), beside
`code/<script>`, `queries/<query>/checkpoint/…` (Spark's files) and `queries/<query>/sink/…` (the file sink's log, cut to the batch).
`queries/<query>/table/…` holds its Delta table. `verified.json`, `checksums.json` and `annotation.json` come later, written once or whole.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.domain.bounds import Batch, Count, Format, Long, Moment, Took
from pipelines.domain.holdings import Holdings
from pipelines.domain.ids import JobName, QueryName, RunId, SavepointId, VersionId
from pipelines.domain.installed import Installed
from pipelines.domain.trust import Trust
from pipelines.domain.versions import Version

MANIFEST_FORMAT = 2


class Reason(enum.StrEnum):
    """Why a savepoint was taken."""

    MANUAL = "manual"
    STOP = "stop"
    BEFORE_RESUME = "before-resume"
    BEFORE_UPGRADE = "before-upgrade"
    """Of the last point of the version that an upgrade leaves."""
    REWIND = "rewind"
    """Of the retained batch that a resume goes back to."""
    SCHEDULED = "scheduled"
    """By the supervisor, at a time of the job's schedule: the only ones that retention disposes of."""
    IMPORTED = "imported"
    """It came from elsewhere; its manifest, which is that of there, says why it was taken. In no manifest."""


@dataclass(frozen=True)
class SourceOffset:
    """Where a source stands: `source` is its name or index, `offset` Spark's own JSON text (`null` before the first)."""

    source: str
    offset: str


@dataclass(frozen=True)
class Operator:
    """A stateful operator of a query."""

    id: Count
    name: str
    partitions: Count
    stores: tuple[str, ...]


@dataclass(frozen=True)
class TableImage:
    """A Delta table at a query's batch: its version, and why the savepoint does not hold its files; empty where it holds them."""

    version: Batch
    left: str = ""


@dataclass(frozen=True)
class SnapshotImage:
    """An Iceberg table at a query's batch: its uuid, the branch that the query writes to, the snapshot there (None where it had none yet),
    and why that is not known; empty where it is."""

    table: str
    branch: str
    snapshot: Long | None
    left: str = ""


NOT_BEGUN = -1
"""The batch of a query that had committed none: a fork begins it at its start."""


@dataclass(frozen=True)
class QueryImage:
    """One query of a savepoint, at one committed batch, or not begun."""

    query: QueryName
    query_id: str
    batch: Batch
    """`NOT_BEGUN` where it had committed none; such a query stands after those that had."""
    batch_timestamp_ms: Long
    watermark_ms: Long
    """Event time in epoch ms; 0 without a watermark."""
    offsets: tuple[SourceOffset, ...]
    provider: str
    """`hdfs`, `rocksdb` or `none` (no state)."""
    state_format: Count
    """Spark's state checkpoint format version, 0 without state."""
    operators: tuple[Operator, ...]
    conf: Mapping[str, str]
    """Spark confs that the offset log pins."""
    sink: str
    sink_path: str
    files: Count
    bytes: Count
    sink_table: str = ""
    """As `QueryStarted.sink_table`."""
    sources: tuple[str, ...] = ()
    """Spark's names of its sources (`kafka`, `rate`, `json`), in the order of its plan; none where no driver of ours started it."""
    location: str = ""
    """The checkpoint location that the script gave it, with `{output}` for the job's own directory; empty where it gave none."""
    brokers: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    removals: tuple[str, ...] = ()
    """These as in `QueryStarted`; no `removals` in a savepoint of before they were recorded."""
    table: TableImage | None = None
    """Of a Delta table in a folder of this machine; None for any other sink, and in a savepoint that an earlier Tidemark took."""
    snapshot: SnapshotImage | None = None
    """Of an Iceberg table in a folder of this machine, as `table`."""

    @property
    def begun(self) -> bool:
        return self.batch != NOT_BEGUN


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file of a savepoint, path relative to the savepoint's root."""

    path: str
    bytes: Count


@dataclass(frozen=True)
class Savepoint:
    """A savepoint as lists and pages show it."""

    id: SavepointId
    job: JobName
    version: VersionId
    run: RunId | None
    created_ms: int
    reason: Reason
    label: str
    spark_version: str
    queries: tuple[QueryImage, ...]
    files: int
    bytes: int
    new_bytes: int
    """Bytes that taking it added to the storage (nothing for a hard-linked file)."""
    took_ms: float
    path: str
    """Absolute path or URL of its root."""
    trust: Trust = Trust.COMPLETE
    verified_ms: int | None = None
    damaged_files: int = 0
    """That the last verification found; such a savepoint is not restored."""
    levels: Mapping[Trust, int] = field(default_factory=dict)
    """Each level of trust that it reached, with when (epoch ms)."""
    note: str = ""
    best_before_ms: int | None = None
    """After this moment (epoch ms) it may be disposed of; nothing does it by itself. None: it is kept."""
    imported_ms: int | None = None
    imported_from: str = ""
    """Where an import brought it from."""
    holdings: Holdings | None = None
    """What its sources still held when they were last asked; None before that."""

    @property
    def batch(self) -> int:
        """The batch of its first query: what a job with one query calls *the* batch."""
        return self.queries[0].batch


@dataclass(frozen=True)
class Manifest:
    """All that is needed to restore, in the savepoint itself. Paths inside are relative."""

    format: Format
    id: SavepointId
    job: JobName
    version: Version
    run: RunId | None
    created_ms: Moment
    reason: Reason
    label: str
    spark_version: str
    queries: tuple[QueryImage, ...]
    files: tuple[StoredFile, ...]
    new_bytes: Count
    took_ms: Took
    how: Mapping[str, Count]
    """Files by the way they were cloned (`link`, `copy`, …, `written`)."""
    installed: Installed | None = None
    """What the run stood on; None where no driver of ours noted it."""
    objects: Mapping[str, str] = field(default_factory=dict)
    """Path -> name in the content store of its home, of the files that are there and not in the savepoint's folder."""

    @property
    def begun(self) -> tuple[QueryImage, ...]:
        """The queries that had committed a batch."""
        return tuple(image for image in self.queries if image.begun)


@dataclass(frozen=True)
class RetainedBatch:
    """A committed batch that Spark still keeps, so that a savepoint or fork can start from it: when it was planned, and committed."""

    query: QueryName
    batch: int
    timestamp_ms: int
    watermark_ms: int
    committed_ms: int


@dataclass(frozen=True)
class TakePlan:
    """What taking a savepoint will do. `server_bytes` are those of the new ones that the server itself copies or writes."""

    job: JobName
    batches: Mapping[str, int]
    """Query -> batch."""
    files: int
    bytes: int
    new_bytes: int
    how: str
    to: str = ""
    """The URL that it is exported to; empty where it is kept."""
    home: str = ""
    """Where it is kept; empty for the workspace."""
    not_begun: tuple[QueryName, ...] = ()
    """Queries that have committed no batch yet: a fork begins them at their start."""
    warnings: tuple[str, ...] = ()
    """What a fork of it could not do: sources that cannot give their rows again, Delta tables that it does not hold."""
    server_bytes: int = 0


@dataclass(frozen=True)
class ExportPlan:
    """What exporting a savepoint will do. `bytes` is what is read; a `.tar.zst` usually takes less there."""

    savepoint: SavepointId
    url: str
    archive: bool
    files: int
    bytes: int
    how: str
    disposes: bool
    job: JobName
    left: tuple[str, ...] = ()
    """Large files of its version that it does not carry, because an earlier Tidemark took it: they stay where they are."""
