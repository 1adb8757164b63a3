"""Workspaces whose jobs have run, without any Spark: their checkpoints are golden ones, their drivers' files written by hand."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain.ids import JobName
from pipelines.domain.installed import INSTALLED_FILE
from pipelines.domain.jobs import Run
from pipelines.domain.operations import Operation
from pipelines.domain.processes import PROCESS_FILE
from pipelines.domain.runs import EXIT_FILE, PROGRESS_FILE, QUERIES_FILE, RunState
from pipelines.domain.runtimes import OWN
from pipelines.sandbox import installed
from pipelines.storage import documents
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.run import RunScript
from pipelines.verbs.stop import Stop
from pipelines.workspace import ingestion, operations, rebuild, runs, stops
from pipelines.workspace.opening import open_workspace
from pipelines.workspace.workspace import Workspace
from tests.savepoint.golden import lay_checkpoint, lay_output

GOLDEN = Path(__file__).parents[1] / "golden"
NEWEST = 13
"""The newest committed batch of the golden checkpoints."""
CODE = "spark.readStream.load().writeStream.start()\n"


class Ticking:
    """A clock that goes on by a millisecond each time it is read."""

    def __init__(self, now_ms: int = 1_800_000_000_000) -> None:
        self._times = itertools.count(now_ms)

    def __call__(self) -> int:
        return next(self._times)

    def pass_ms(self, more_ms: int) -> None:
        self._times = itertools.count(self() + more_ms)


class Counting:
    """Bytes that never repeat."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def __call__(self, count: int) -> bytes:
        return next(self._numbers).to_bytes(count, "big")


class House:
    """A workspace that can be closed and opened again, as after a crash."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock, self.entropy = Ticking(), Counting()
        self.open()

    def open(self) -> Workspace:
        self.face = open_workspace(self.root, clock=self.clock, entropy=self.entropy)
        return self.face

    def reopen(self) -> Workspace:
        self.face.close()
        return self.open()

    def folder(self, run: Run) -> Path:
        return self.face.layout.run(run.job, run.id)

    def begin(self, name: str = "a", args: tuple[str, ...] = ("--output", "{output}")) -> Run:
        return do(self.face, RunScript(name=name, script="job.py", code=CODE, args=args))

    def stands(self, run: Run, files: Mapping[str, str] | None = None, variables: Mapping[str, str] | None = None, **others: str) -> None:
        """The driver noted what it stands on: what is installed here, with `others` in other versions, and `files` and `variables` that its
        script read."""
        now = installed.of(OWN)
        assert now is not None
        then = replace(now, packages={**now.packages, **others}, files=files or {}, variables=variables or {})
        (self.folder(run) / INSTALLED_FILE).write_bytes(documents.encode(then))

    def ran(self, name: str = "a", golden: str = "rocksdb_format2", state: RunState = RunState.STOPPED) -> Run:
        """A job with a golden checkpoint, whose run is in `state`."""
        return self.lay(self.begin(name), golden, state)

    def lay(self, run: Run, golden: str = "rocksdb_format2", state: RunState = RunState.STOPPED) -> Run:
        """What a run with a golden checkpoint leaves."""
        checkpoint, sink = Path(run.checkpoints) / "counts", self.face.layout.output(run.job) / "counts"
        lay_checkpoint(golden, checkpoint)
        lay_output(golden, sink)
        self.append(run, QUERIES_FILE, query_line(str(checkpoint), str(sink)))
        self.see(run, state)
        return run

    def see(self, run: Run, state: RunState) -> None:
        """What the supervisor would have seen."""
        (self.folder(run) / PROCESS_FILE).write_text('{"pid": 1, "started": 1.0}')
        if not state.live:
            ending = {"reason": state.value, "code": 0, "error_class": "", "message": "", "at_ms": self.clock()}
            (self.folder(run) / EXIT_FILE).write_text(json.dumps(ending))
        seen = rebuild.seen_run(self.face.context, run.job, run.id)
        runs.update(
            self.face.context, run.id, state=state, started_ms=seen.started_ms, pid=seen.pid, exit=seen.exit, ended_ms=seen.ended_ms
        )
        ingestion.follow(self.face.context, ingestion.of_run(self.face.context, run.job, run.id))

    def stop(self, job: str = "a") -> Operation:
        """Asks for it; the operation under way, which here no supervisor carries out."""
        operation = self.face.begin(Stop(job)).operation
        assert operation is not None
        return operation

    def append(self, run: Run, name: str, line: str) -> None:
        with (self.folder(run) / name).open("a") as file:
            file.write(line)

    def progress(self, run: Run, batch: int, watermark: str = "2026-11-20T09:00:00.000Z", late: int = 0) -> str:
        line = progress_line(batch, watermark, late)
        self.append(run, PROGRESS_FILE, line)
        return line


def newest(house: House, job: str) -> Run:
    return house.face.ask(ShowJob(job)).runs[0]


def stop_as_the_supervisor_would(house: House, job: str) -> None:
    """Once the stop is wanted, the run ends and the stop is finished with its savepoint."""
    end = time.monotonic() + 30
    run = newest(house, job)
    while (asked := house.face.context.files.wanted(run.job).stop) is None:
        assert time.monotonic() < end, "nobody asked for a stop"
        time.sleep(0.02)
    house.see(run, RunState.STOPPED)
    stops.finish(house.face.context, run.job, asked, with_savepoint=asked.savepoint)


def query_line(checkpoint: str, sink_path: str) -> str:
    record = {"query": "counts", "query_id": "q-1", "run_id": "s-1", "checkpoint": checkpoint, "sink": "parquet", "sink_path": sink_path}
    return json.dumps({**record, "ui_url": "", "spark_version": "4.3.0", "at_ms": 1}) + "\n"


def progress_line(batch: int, watermark: str, late: int = 0) -> str:
    at = f"2026-11-20T10:00:{batch:02d}.000Z"
    progress = {"id": "q-1", "runId": "s-1", "name": "counts", "timestamp": at, "batchId": batch, "batchDuration": 100, "numInputRows": 5}
    source = {"description": "files", "startOffset": None, "endOffset": {"logOffset": batch}, "numInputRows": 5}
    dropped = {"stateOperators": [{"operatorName": "stateStoreSave", "numRowsDroppedByWatermark": late}]} if late else {}
    return json.dumps({**progress, "eventTime": {"watermark": watermark}, "sources": [source], **dropped}) + "\n"


def job(name: str) -> JobName:
    return JobName(name)


@pytest.fixture(autouse=True)
def noticed_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine, what mostly takes no time is no operation unless a test makes it one."""
    monkeypatch.setattr(operations, "NOTICED_S", 600)
    monkeypatch.setattr(operations, "AT_ONCE_S", 600)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    here = House(tmp_path / "ws")
    yield here
    here.face.close()
