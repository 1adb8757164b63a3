"""Jobs as they look from outside, made of the golden checkpoints that real Spark wrote."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pipelines.domain.ids import JobName, QueryName, RunId, SavepointId
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.versions import Version, version
from pipelines.savepoint import take
from pipelines.savepoint.batch_choice import BatchChoice, Newest
from pipelines.savepoint.restore import Fork, Resume
from pipelines.savepoint.source import JobSource, QueryLocation
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

    def source(self, sink: str = "parquet") -> JobSource:
        path = str(self.output / "counts") if sink == "parquet" else ""
        place = QueryLocation(QueryName("counts"), str(self.checkpoint), sink, path)
        return JobSource(JobName("job"), RunId("r-1"), VERSION, "4.3.0", (place,))

    def take(self, savepoint: str = "sp-1", choice: BatchChoice | None = None, library: Storage | None = None) -> Savepoint:
        return take.take(self.source(), choice or Newest(), library or self.library, take.Naming(SavepointId(savepoint), NOW_MS))

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
    lay_checkpoint(name, made.checkpoint)
    if (GOLDEN / name / "sink_log").exists():
        lay_output(name, made.output / "counts")
    return made


def lay_checkpoint(name: str, place: Path) -> Path:
    """The golden job's checkpoint in `place`, which is new. Its hundreds of files are small: so this takes half of what `shutil` does."""

    def write(source: str, target: str) -> None:
        Path(target).write_bytes(Path(source).read_bytes())

    return Path(shutil.copytree(GOLDEN / name / "checkpoint", place, copy_function=write))


def lay_output(name: str, sink: Path) -> None:
    """The golden job's output in `sink`: its log as if Spark had written there, and files of the sizes that the log names."""
    log = sink / "_spark_metadata"
    log.mkdir(parents=True)
    for entry in (GOLDEN / name / "sink_log").iterdir():
        if not entry.name.startswith("."):
            text = entry.read_text().replace(f"file:///tmp/tidemark-golden/{name}/output", sink.as_uri())
            (log / entry.name).write_text(text)
            for line in text.splitlines()[1:]:
                file = json.loads(line)
                data = Path(unquote(urlsplit(file["path"]).path))
                data.touch()
                os.truncate(data, file["size"])
