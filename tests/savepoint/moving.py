"""A golden job that moves on without Spark: its files appear batch by batch as Spark wrote them, and old ones are purged as Spark does."""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path

from pipelines.checkpoint.state_files import immutables
from pipelines.domain.ids import JobName, QueryName, RunId
from pipelines.savepoint.restore import Restored
from pipelines.savepoint.source import JobSource, QueryLocation
from tests.savepoint.golden import GOLDEN, VERSION, lay_output

COMPACT = 9
"""The golden jobs' file source and sink compact their logs at this batch."""
NO_MORE_SINGLE = 11
"""From this oldest batch on nothing retained reads the log entries before the compaction, not even where a batch had no data."""
NUMBERED = re.compile(r"\.?([0-9]+)(?:_[0-9a-zA-Z-]+)?(?:\.[a-z.]+)?")


class MovingJob:
    """The golden job `name` as it is after batch `newest`; `oldest` is the first batch whose log entries are still there."""

    def __init__(self, folder: Path, name: str) -> None:
        self.golden = GOLDEN / name / "checkpoint"
        self.last = max(_numbers(self.golden / "commits"))
        self.output = folder / "output"
        self.checkpoint = folder / "live" / "counts"
        self.log = self.output / "counts" / "_spark_metadata"
        self._whole_log = folder / "whole_log"
        if (GOLDEN / name / "sink_log").exists():
            lay_output(name, self.output / "counts")
            self.log.rename(self._whole_log)
        self.newest, self.oldest = -1, 0
        self.commit()

    def source(self) -> JobSource:
        sink, path = ("parquet", str(self.output / "counts")) if self._whole_log.exists() else ("console", "")
        place = QueryLocation(QueryName("counts"), str(self.checkpoint), sink, path)
        return JobSource(JobName("job"), RunId("r-1"), VERSION, "4.3.0", (place,))

    @property
    def retained(self) -> list[int]:
        """The batches that a savepoint can be taken of: a restart reads the log entries of the one before, too."""
        return [batch for batch in range(self.oldest, self.newest + 1) if batch > self.oldest or batch == 0]

    def plan(self) -> None:
        """The next batch is in the logs of offsets and sources, and nowhere else."""
        self._reveal(self.newest + 1, ("offsets", "sources"))

    def commit(self) -> None:
        """The next batch is done: its state first, then what the sink wrote, its commit last."""
        batch = self.newest + 1
        self.plan()
        self._reveal(batch, ("metadata", ".metadata", "state"))
        if self._whole_log.exists():
            for path in _of_batch(self._whole_log, batch):
                self._appear(self._whole_log / path, self.log / path)
        self._reveal(batch, ("commits",))
        self.newest = batch

    def purge(self, keep: int) -> None:
        """Spark keeps `keep` batches before the newest: log entries, and the state files that the oldest of them builds on."""
        self.oldest = max(self.oldest, self.newest - keep, 0)
        for path in self.checkpoint.rglob("*"):
            inner = path.relative_to(self.checkpoint)
            if path.is_file() and _purged(inner, self.oldest, self.golden):
                path.unlink()
        if self.oldest >= NO_MORE_SINGLE and self.log.exists():
            for path in self.log.glob("[0-9]*"):
                if int(path.name.partition(".")[0]) < COMPACT:
                    path.unlink()

    def go_on_from(self, restored: Restored, batch: int) -> None:
        """The job is resumed on a restored checkpoint: its driver brings the sink's log back to that batch."""
        self.checkpoint = Path(restored.checkpoints) / "counts"
        self.newest, self.oldest = batch, max(0, batch - 1)
        if restored.sink_logs:
            shutil.rmtree(self.log)
            shutil.copytree(restored.sink_logs[QueryName("counts")], self.log, ignore=lambda *_: {"root"})

    def _reveal(self, batch: int, tops: tuple[str, ...]) -> None:
        for path in _of_batch(self.golden, batch):
            if path.startswith(tops):
                self._appear(self.golden / path, self.checkpoint / path)

    @staticmethod
    def _appear(origin: Path, target: Path) -> None:
        """Written aside and renamed, as Hadoop does: a savepoint's hard link to an older file of that name stays what it is."""
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = target.with_name(f".{target.name}.tmp")
        shutil.copyfile(origin, aside)
        aside.rename(target)


@cache
def _of_batch(folder: Path, batch: int) -> tuple[str, ...]:
    """Files of a whole checkpoint or log that batch `batch` wrote, relative to `folder`."""
    snapshots = _first_snapshots(folder)
    paths = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    return tuple(str(path) for path in paths if _batch(path, snapshots) == batch)


def _batch(path: Path, snapshots: dict[str, int]) -> int:
    """State at version V was written by batch V-1; what has no number was there from the beginning."""
    if path.parent.name == "SSTs":
        return snapshots[path.name.removeprefix(".").removesuffix(".crc")] - 1
    number = NUMBERED.fullmatch(path.name)
    if number is None or "_metadata" in path.parts[:-1]:
        return 0
    return int(number[1]) - (1 if path.parts[0] == "state" else 0)


@cache
def _first_snapshots(folder: Path) -> dict[str, int]:
    """RocksDB file -> the first version whose snapshot names it."""
    first_versions: dict[str, int] = {}
    for path in folder.rglob("*.zip"):
        version = int(path.name.partition(".")[0].partition("_")[0])
        for file in immutables(path.name, path.read_bytes()):
            name = Path(file.path).name
            first_versions[name] = min(version, first_versions.get(name, version))
    return first_versions


def _purged(path: Path, oldest: int, golden: Path) -> bool:
    number = NUMBERED.fullmatch(path.name)
    if number is None or path.parent.name in ("SSTs", "_metadata"):
        return False
    if path.parts[0] == "sources":
        return oldest >= NO_MORE_SINGLE and int(number[1]) < COMPACT
    return int(number[1]) < (_snapshot(golden / path.parent, oldest + 1) if path.parts[0] == "state" else oldest)


@cache
def _snapshot(store: Path, version: int) -> int:
    """The newest whole version up to `version`; 0 where there is none."""
    wholes = {
        int(path.name.partition(".")[0].partition("_")[0]) for ending in ("snapshot", "zip") for path in store.glob(f"[0-9]*.{ending}")
    }
    return max((whole for whole in wholes if whole <= version), default=0)


def _numbers(folder: Path) -> list[int]:
    return [int(path.name) for path in folder.iterdir() if path.name.isdigit()]
