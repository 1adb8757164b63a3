"""Jobs as they look from outside, made of the golden checkpoints that real Spark wrote."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from pipelines.domain.ids import JobName, QueryName, RunId, SavepointId
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.versions import Version, version
from pipelines.savepoint import take
from pipelines.savepoint.choosing import Newest, Point
from pipelines.savepoint.image import JobImage, QueryPlace
from pipelines.savepoint.restore import Fork, Resume
from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Storage

GOLDEN = Path(__file__).parents[1] / "golden"
NEWEST = 13
NOW_MS = 1_800_000_000_000
VERSION = version("job.py", "print('a job')\n", args=("--output", "{output}"))


@dataclass(frozen=True)
class Bench:
    """A folder with a job's live checkpoint and output, and its savepoints."""

    folder: Path
    name: str = "rocksdb_format2"

    @property
    def checkpoint(self) -> Path:
        return self.folder / "live" / "counts"

    @property
    def output(self) -> Path:
        return self.folder / "output"

    @property
    def library(self) -> LocalStorage:
        return LocalStorage(self.folder / "savepoints")

    def image(self, sink: str = "parquet") -> JobImage:
        path = str(self.output / "counts") if sink == "parquet" else ""
        place = QueryPlace(QueryName("counts"), str(self.checkpoint), sink, path)
        return JobImage(JobName("job"), RunId("r-1"), VERSION, "4.3.0", (place,))

    def take(self, savepoint: str = "sp-1", wanted: Point | None = None, library: Storage | None = None) -> Savepoint:
        return take.take(self.image(), wanted or Newest(), library or self.library, take.Naming(SavepointId(savepoint), NOW_MS))

    def fork(self, name: str = "fork", running: Version = VERSION) -> Fork:
        return Fork(JobName(name), str(self.folder / "forks" / name), running, str(self.output), lambda: "a-new-id")

    def resume(self) -> Resume:
        return Resume(JobName("job"), str(self.folder / "forks" / "again"))

    def files(self, folder: Path | None = None) -> set[str]:
        """Every file below (of the savepoints), and every folder that is empty: what a clean folder does not have."""
        top = folder or self.folder / "savepoints"
        return {str(path.relative_to(top)) for path in top.rglob("*") if path.is_file() or not any(path.iterdir())}


def bench(folder: Path, name: str = "rocksdb_format2") -> Bench:
    """The golden job `name`, copied into `folder`."""
    made = Bench(folder, name)
    shutil.copytree(GOLDEN / name / "checkpoint", made.checkpoint)
    if (GOLDEN / name / "sink_log").exists():
        shutil.copytree(GOLDEN / name / "sink_log", made.output / "counts" / "_spark_metadata")
    return made
