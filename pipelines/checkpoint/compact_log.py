"""Logs that are compacted every few batches (CompactibleFileStreamLog): `N.compact` holds all entries up to N, others their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.checkpoint import damage, logs
from pipelines.storage import parallel, paths
from pipelines.storage.protocol import Storage

COMPACT = ".compact"
NEWEST = 1
READERS = 8


@dataclass(frozen=True)
class LogNames:
    """The batches that a log's folder has files of; a batch may have both kinds."""

    singles: frozenset[int]
    compacts: frozenset[int]

    @property
    def newest(self) -> int | None:
        return max(self.singles | self.compacts, default=None)


@dataclass(frozen=True)
class LogBatch:
    """One file of the log. `lines` are its entries as they are written; a compact one's are those of all batches up to it."""

    id: int
    compact: bool
    lines: tuple[str, ...]


def names(files: Iterable[str]) -> LogNames:
    """The batches that a log folder's file names stand for; other files are ignored."""
    file_names = list(files)
    compacts = (name.removesuffix(COMPACT) for name in file_names if name.endswith(COMPACT))
    return LogNames(frozenset(logs.batch_ids(file_names)), frozenset(logs.batch_ids(compacts)))


def name(batch: int, compact: bool) -> str:
    return f"{batch}{COMPACT}" if compact else str(batch)


def serialized(lines: Sequence[str]) -> bytes:
    """A file of the log, as Spark writes it."""
    return "\n".join((f"v{NEWEST}", *lines)).encode()


def read_batch(storage: Storage, folder: str, batch: int, compact: bool) -> LogBatch:
    """One file of the log in `folder` of `storage`; raises Corrupt, Unsupported, NotFound."""
    path = paths.join(folder, name(batch, compact))
    file = logs.parse(path, storage.read(path), NEWEST)
    return LogBatch(batch, compact, tuple(line for line in file.lines if line))


def read_batches(storage: Storage, folder: str, files: Iterable[tuple[int, bool]]) -> list[LogBatch]:
    """Several of them (batch, whether compact), in the order of `files`, at once where one takes long; raises what `read_batch` raises."""
    return parallel.each(lambda file: read_batch(storage, folder, *file), files, READERS, brief=True)


def chain(log_names: LogNames, batch: int, folder: str) -> tuple[tuple[int, bool], ...]:
    """The files that hold every entry up to `batch`, oldest first: the newest compact one and the singles after it.

    Raises Corrupt where one is missing.
    """
    base = max((compact for compact in log_names.compacts if compact <= batch), default=-1)
    singles = range(base + 1, batch + 1)
    gap = next((single for single in reversed(singles) if single not in log_names.singles), None)
    if gap is not None:
        raise damage.missing(paths.join(folder, str(gap)), f"the log up to {batch} needs it")
    return (*(((base, True),) if base >= 0 else ()), *((single, False) for single in singles))


def interval(compacts: Iterable[int], up_to: int) -> int | None:
    """How many batches lie between two compact files, None where there is none yet; the two newest up to `up_to` decide."""
    ordered = sorted(compacts)
    before = [compact for compact in ordered if compact <= up_to]
    pair = before[-2:] if len(before) >= 2 else ordered[:2]
    if len(pair) == 2:
        return pair[1] - pair[0]
    return pair[0] + 1 if pair else None


def files(batches: Mapping[str, Sequence[str]]) -> dict[str, bytes]:
    """File name -> bytes for name -> lines."""
    return {file: serialized(lines) for file, lines in batches.items()}
