"""A job's files as a kill at each step of a batch leaves them: made of a finished job by deleting in the reverse order of writing."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from pipelines.checkpoint.state_files import parse_name
from pipelines.storage.protocol import Entry
from tests.savepoint.matrix import Bench

_LOG_ENTRY = re.compile(r"\.?([0-9]+)(?:\.compact)?(?:\.crc)?")

STEPS = ("committed", "sink committed", "state written", "state half written", "planned", "source log written", "idle")
"""How far batch N came, the last step first."""


def leave(bench: Bench, job: str, batch: int, step: str) -> None:
    """`job` (which has gone past `batch`, and does not run) as if it had been killed when `batch` had come as far as `step`."""
    checkpoint, output = bench.checkpoint(job), bench.output(job)
    end_state_stores(bench)
    cut(checkpoint, output, batch + 1)
    for passed in STEPS[: STEPS.index(step)]:
        _UNDO[passed](checkpoint, output, batch)


def beginning(bench: Bench, job: str) -> str:
    """A digest of all that `job`, which has not started yet, begins with: its checkpoint but the query's id, and its output.

    Spark computes the same from the same bytes: of two forks that begin with them, one run tells of both.
    """
    digest = hashlib.sha256()
    for top in (bench.checkpoint(job), bench.output(job)):
        for path in sorted(str(file.relative_to(top)) for file in top.rglob("*") if file.is_file()):
            if path not in ("metadata", ".metadata.crc"):
                data = (top / path).read_bytes()
                digest.update(f"{path} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def end_state_stores(bench: Bench) -> None:
    """Spark's maintenance of queries that have ended may still write snapshots: not any more."""
    bench.spark._jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()


def cut(checkpoint: Path, output: Path, first: int) -> None:
    """Takes batch `first` and all after it back, as if they had never been."""
    for log in (checkpoint / "commits", checkpoint / "offsets", output / "_spark_metadata", *(checkpoint / "sources").glob("*")):
        _delete(_entries(log, first))
    _delete(_versions(checkpoint, first + 1))
    _delete(file for file in output.glob("[0-9]*.rows") if int(file.stem) >= first)


def _entries(log: Path, first: int) -> Iterator[Path]:
    for file in log.glob("*") if log.is_dir() else ():
        match = _LOG_ENTRY.fullmatch(file.name)
        if match and int(match[1]) >= first:
            yield file


def _versions(checkpoint: Path, first: int, partition: str = "*") -> Iterator[Path]:
    """Files of state versions `first` and later, with their checksums."""
    for file in checkpoint.glob(f"state/*/{partition}/**/*"):
        name = re.sub(r"^\.?(.*?)(\.crc)*$", r"\1", file.name)
        state_file = parse_name(Entry(name, 0, 0)) if file.is_file() else None
        if state_file and state_file.version >= first:
            yield file


def _delete(files: Iterator[Path]) -> None:
    for file in list(files):
        file.unlink()


def _uncommit(checkpoint: Path, output: Path, batch: int) -> None:
    _delete(_entries(checkpoint / "commits", batch))


def _empty_sink(checkpoint: Path, output: Path, batch: int) -> None:
    """A file sink's data files stay: they are orphans, as those of a killed batch are."""
    _delete(_entries(output / "_spark_metadata", batch))
    _delete(output.glob(f"{batch}.rows"))


def _half_of_state(checkpoint: Path, output: Path, batch: int) -> None:
    _delete(_versions(checkpoint, batch + 1, "1"))


def _all_of_state(checkpoint: Path, output: Path, batch: int) -> None:
    """Before the first batch runs there is no state folder at all."""
    _delete(_versions(checkpoint, batch + 1))
    if batch == 0:
        shutil.rmtree(checkpoint / "state")


def _unplan(checkpoint: Path, output: Path, batch: int) -> None:
    _delete(_entries(checkpoint / "offsets", batch))


def _forget_files(checkpoint: Path, output: Path, batch: int) -> None:
    for log in (checkpoint / "sources").glob("*"):
        _delete(_entries(log, batch))


_UNDO: dict[str, Callable[[Path, Path, int], None]] = dict(
    zip(STEPS, (_uncommit, _empty_sink, _half_of_state, _all_of_state, _unplan, _forget_files), strict=False)
)
"""What a step wrote, taken back."""
