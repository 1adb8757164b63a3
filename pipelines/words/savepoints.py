"""A savepoint in words: why it was taken, what was taken, what it takes on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pipelines.domain.savepoints import QueryImage, Reason, Savepoint, SnapshotImage
from pipelines.words import formats, trust

ORIGINS: Mapping[Reason, str] = {
    Reason.MANUAL: "by hand",
    Reason.STOP: "stop",
    Reason.BEFORE_RESUME: "before a resume",
    Reason.BEFORE_UPGRADE: "before an upgrade",
    Reason.REWIND: "rewind",
    Reason.SCHEDULED: "scheduled",
    Reason.IMPORTED: "imported",
}
"""Why a savepoint was taken, as lists say it."""
ORIGIN_HINTS: Mapping[Reason, str] = {
    Reason.MANUAL: "Somebody, or a command, asked for it",
    Reason.STOP: "Taken when the job was stopped",
    Reason.BEFORE_RESUME: "The point that a resume left, kept so that nothing is lost",
    Reason.BEFORE_UPGRADE: "The last point of the version that an upgrade left",
    Reason.REWIND: "The batch that a resume went back to",
    Reason.SCHEDULED: "Taken by a schedule",
    Reason.IMPORTED: "Brought in from elsewhere; its manifest says why it was taken there",
}
BRIEFLY = 3
"""So many batches stand in a cell."""
FULL, NEW, FREES, SHARED, ON_DISK = "Full size", "New bytes", "Frees if deleted", "Shared", "On disk"
"""Titles of what savepoints take, the same on every page."""
SIZE_HINTS: Mapping[str, str] = {
    FULL: "All bytes of its files, also those that it shares: what a copy of it alone would take",
    NEW: "What taking it added to the disk: its other files are hard links to files that were there, or were kept already",
    FREES: "What disposing of it alone gives back",
    SHARED: "Bytes of it that other savepoints or a live checkpoint hold too",
    ON_DISK: "What all savepoints take together: bytes that several of them share are counted once",
}


def taken(savepoint: Savepoint, took_ms: float = 0) -> str:
    """`batch 9, 12 files, 2.0 MB, 4.1 kB new on disk, in 34 ms`; `took_ms` where the caller waited longer."""
    return ", ".join(
        [
            points(savepoint),
            formats.files(savepoint.files, savepoint.bytes),
            f"{formats.size(savepoint.new_bytes)} new on disk",
            f"in {formats.duration(took_ms or savepoint.took_ms)}",
        ]
    )


def points(savepoint: Savepoint) -> str:
    """`batch 9`; of several queries each by its name: `batch 9 of counts, batch 4 of clicks, waiting not begun`."""
    if len(savepoint.queries) == 1:
        return f"batch {savepoint.batch:,}"
    return ", ".join(
        f"batch {image.batch:,} of {image.query}" if image.begun else f"{image.query} not begun" for image in savepoint.queries
    )


def tables(images: Iterable[QueryImage]) -> tuple[str, ...]:
    """Each Delta table with its version: `sums: version 5 of /lake/sums`, and why the savepoint does not hold it."""
    return tuple(
        f"{image.query}: version {image.table.version:,} of {image.sink_table or image.sink_path}"
        + (f", which it does not hold: {image.table.left}" if image.table.left else "")
        for image in images
        if image.table is not None
    )


def snapshots(images: Iterable[QueryImage]) -> tuple[str, ...]:
    """Each Iceberg table with its snapshot: `sums: snapshot 42 of branch main of lake.db.sums`, and why it is not known."""
    return tuple(f"{image.query}: {_snapshot(image, image.snapshot)}" for image in images if image.snapshot is not None)


def _snapshot(image: QueryImage, noted: SnapshotImage) -> str:
    from pipelines.domain import iceberg

    which = f"branch {noted.branch} of {iceberg.split(image.sink_table)[0] or image.sink_path}"
    if noted.left:
        return f"a snapshot that is not known, of {which}: {noted.left}"
    return f"{f'snapshot {noted.snapshot}' if noted.snapshot is not None else 'no snapshot yet'} of {which}"


def left_tables(images: Iterable[QueryImage]) -> tuple[str, ...]:
    """What somebody should know who takes a savepoint without one of its Delta or Iceberg tables."""
    images = tuple(images)
    left = tables(image for image in images if image.table is not None and image.table.left)
    unknown = [image for image in images if image.snapshot is not None and image.snapshot.left]
    fresh = snapshots(image for image in unknown if image.snapshot is not None and image.snapshot.table)
    unread = snapshots(image for image in unknown if image.snapshot is not None and not image.snapshot.table)
    return (
        *(f"{table}. A fork begins with this sink fresh." for table in (*left, *fresh)),
        *(f"{table}. A fork needs another table in its arguments." for table in unread),
    )


def batches(newest: Mapping[str, int]) -> str:
    """`9`; of several queries each by its name: `9 of counts, 4 of clicks`. Empty for none."""
    if len(newest) == 1:
        return f"{next(iter(newest.values())):,}"
    return ", ".join(f"{batch:,} of {query}" for query, batch in newest.items())


def column(savepoint: Savepoint) -> str:
    """Its batches in a list: `9`, or `9 of counts, 4 of clicks`; a dash where no query had begun."""
    return batches({image.query: image.batch for image in savepoint.queries if image.begun}) or formats.MISSING


def numbers(savepoint: Savepoint) -> str:
    """Its batches by themselves, where there is little room: `9`, or `9 · 4`; of many queries those of the first three: `9 · 4 · 7 · …`."""
    begun = [f"{image.batch:,}" for image in savepoint.queries if image.begun]
    return " · ".join([*begun[:BRIEFLY], *(["…"] if len(begun) > BRIEFLY else [])]) or formats.MISSING


def choice(savepoint: Savepoint, now_ms: float) -> str:
    """A savepoint in one line, to choose it by."""
    parts = [
        formats.short_id(savepoint.id),
        points(savepoint),
        formats.ago(savepoint.created_ms, now_ms),
        trust.best(savepoint),
        savepoint.label,
    ]
    return " · ".join(filter(None, parts))
