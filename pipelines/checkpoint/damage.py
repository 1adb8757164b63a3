"""The errors of a checkpoint that cannot be read: each names the file and the next step."""

from __future__ import annotations

from pipelines.domain.errors import Conflict, Corrupt, NotFound, Unsupported

MISSING = "checkpoint.missing_file"
NOT_COMMITTED = "checkpoint.not_committed"


class DamagedFile(Corrupt):
    """Corrupt, with the file that is broken or missing: a path below the checkpoint, or a pattern where its whole name is unknown."""

    def __init__(self, path: str, code: str, message: str, hint: str) -> None:
        super().__init__(code, message, hint)
        self.path = path


def malformed(path: str, why: str) -> DamagedFile:
    """The error of a file at `path` that is not what Spark writes."""
    hint = "Restore it from a backup, or use another batch or savepoint."
    return DamagedFile(path, "checkpoint.malformed", f"{path} is damaged: {why}", hint)


def missing(path: str, why: str) -> DamagedFile:
    """The error of a file at `path` that is needed and not there."""
    return DamagedFile(path, MISSING, f"{path} is missing: {why}", "Spark may have purged it: use a newer batch, or another savepoint.")


def newer_format(path: str, version: str, newest: str) -> Unsupported:
    """The error of a file at `path` that a Spark wrote which is newer than Tidemark knows."""
    return Unsupported(
        "checkpoint.newer_format", f"{path} has format {version}, the newest known is {newest}", "Update Tidemark to read it."
    )


def not_supported(path: str, what: str) -> Unsupported:
    """The error of a file at `path` with a feature that Tidemark does not support."""
    return Unsupported("checkpoint.not_supported", f"{path}: {what}", "Only Spark's HDFS-backed and RocksDB state stores are supported.")


def not_a_checkpoint(url: str) -> NotFound:
    """The error of a folder without the `metadata` file, with which every checkpoint begins."""
    why = f"{url} is no checkpoint: it has no metadata file"
    return NotFound("checkpoint.not_found", why, "Give the directory that holds offsets/ and commits/.")


def not_committed(batch: int, newest: int | None) -> Conflict:
    """The error of a batch that is not in the commit log."""
    known = "none is" if newest is None else f"the newest is {newest}"
    why = f"batch {batch} is not committed: {known}"
    return Conflict(NOT_COMMITTED, why, "Choose a batch that is retained, or wait for the commit.")
