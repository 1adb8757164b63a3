"""Many savepoints of one running job from eight threads at once, while a ninth disposes of the oldest ones."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import pytest

from pipelines.checkpoint import sink_log
from pipelines.domain.errors import NotFound
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.savepoint import layout, library
from pipelines.storage import paths
from pipelines.storage.local import LocalStorage
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ListRetained, ReadLog, ShowJob
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest, ShowSavepoint
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from tests.driver.process import CONF, batches
from tests.savepoint.streaming import BRISK, ENGAGEMENT, STORES, differences, rows, write_events
from tests.waiting import until
from tests.workspace.serving import Server, serving

FILES = 12
"""One a batch: the logs are compacted three times, in batches 3, 7 and 11."""
TAKERS, SAVEPOINTS, KEPT = 8, 200, 40
JOB, REFERENCE = JobName("main"), JobName("reference")
BATCHES = {
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",  # the batches are the files, however late these come
    "spark.sql.streaming.minBatchesToRetain": "5",
    "spark.sql.streaming.fileSource.log.compactInterval": "4",
    "spark.sql.streaming.fileSink.log.compactInterval": "4",
    "spark.sql.streaming.pollingDelay": "200ms",  # it looks for the next file a hundred times a second otherwise
    "spark.driver.memory": "512m",
}
BESIDE = {layout.MANIFEST, layout.CHECKSUMS, layout.VERIFIED, layout.PROGRESS, layout.HOLDINGS}


class Crowd:
    """The job's input, handed out as savepoints are taken; and who takes and disposes of them."""

    def __init__(self, server: Server, files: list[Path], fed: Path) -> None:
        self.face, self._files, self._fed = server.face, files, fed
        self._lock = threading.Lock()
        self.begun = 0
        self.taken: list[Savepoint] = []
        self.disposed: list[SavepointId] = []
        self._old: SimpleQueue[SavepointId | None] = SimpleQueue()

    def work(self) -> None:
        """All of them at once; what one of them meets is raised."""
        with ThreadPoolExecutor(TAKERS + 1) as pool:
            disposing = pool.submit(self._dispose)
            try:
                for done in [pool.submit(self._take, number) for number in range(TAKERS)]:
                    done.result()
            finally:
                self._old.put(None)
            disposing.result()

    def _take(self, number: int) -> None:
        chance = random.Random(number)
        while self._mine():
            savepoint = self._one(chance)
            with self._lock:
                self.taken.append(savepoint)
                self._feed(len(self.taken))
            self._old.put(savepoint.id)

    def _mine(self) -> bool:
        with self._lock:
            self.begun += 1
            return self.begun <= SAVEPOINTS

    def _one(self, chance: random.Random) -> Savepoint:
        """Every other one of the newest batch, the rest of a retained one; Spark may purge that before it is taken."""
        while True:
            past = chance.choice(self.face.ask(ListRetained(JOB))).batch if chance.random() < 0.5 else None
            try:
                savepoint = do(self.face, Take(JOB, batch=past))
            except NotFound as error:
                assert past is not None and error.code == "savepoint.not_retained"
                continue
            assert past in (None, savepoint.batch)
            return savepoint

    def _feed(self, taken: int) -> None:
        """The last file comes with the last savepoint, so the job is at work all the time."""
        while self._files and taken >= SAVEPOINTS - (len(self._files) - 1) * SAVEPOINTS // FILES:
            feed(self._files, self._fed)

    def _dispose(self) -> None:
        waiting: list[SavepointId] = []
        while (savepoint := self._old.get()) is not None:
            waiting.append(savepoint)
            if len(waiting) > KEPT:
                self.disposed.append(waiting.pop(0))
                assert not do(self.face, Dispose((self.disposed[-1],))).refused


def feed(files: list[Path], fed: Path) -> None:
    file = files.pop(0)
    os.link(file, fed / file.name)


def begin(server: Server, job: str, events: Path, *more: str) -> None:
    args = ("--events", str(events), "--output", "{output}", "--window", "10 seconds", "--delay", "15 seconds", "--trigger", "0 seconds")
    conf = {**CONF, **BRISK, **STORES["rocksdb_format2"], **BATCHES}
    do(server.face, RunScript(name=job, script=ENGAGEMENT.name, code=ENGAGEMENT.read_text(), args=(*args, *more), conf=conf))


def committed(server: Server, job: JobName) -> int:
    """The newest committed batch; -1 before the first."""
    assert not server.newest(job).state.has_failed, server.face.ask(ReadLog(job)).text
    logged = Path(server.newest(job).checkpoints) / "engagement"
    return max(batches(logged, "commits"), default=-1) if (logged / "commits").is_dir() else -1


def output(server: Server, job: JobName) -> list[str]:
    """The files that a reader of the job's output sees."""
    storage = LocalStorage(server.face.layout.output(job) / "engagement")
    log = sink_log.read(storage, FILES - 1, sink_log.FOLDER)
    return [file.path.removeprefix("file://") for file in sink_log.live_files(log, FILES - 1)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "ws") as running:
        yield running


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_two_hundred_savepoints_of_a_running_job(server: Server, tmp_path: Path) -> None:
    files = sorted(write_events(tmp_path / "events", FILES).glob("events-*.json"))
    assert len(files) == FILES
    fed = tmp_path / "fed"
    fed.mkdir()
    feed(files, fed)
    begin(server, JOB, fed)
    begin(server, REFERENCE, tmp_path / "events", "--available-now")
    until(lambda: committed(server, JOB) == 0)

    crowd = Crowd(server, files, fed)
    crowd.work()

    assert len(crowd.taken) == len({savepoint.id for savepoint in crowd.taken}) == SAVEPOINTS
    assert len(crowd.disposed) == SAVEPOINTS - KEPT
    assert len({savepoint.batch for savepoint in crowd.taken}) > 5, "they are of many batches"
    assert_kept(server, {savepoint.id for savepoint in crowd.taken} - set(crowd.disposed))
    assert_unharmed(server)


def assert_kept(server: Server, kept: set[SavepointId]) -> None:
    """Catalog, disk and events say the same, each savepoint is intact, and there is nothing else in the library."""
    shelf = library.shelf(server.face.context.library)
    assert {savepoint.id for savepoint in shelf.savepoints} == {savepoint.id for savepoint in server.face.ask(ListSavepoints())} == kept
    assert shelf.unreadable == ()
    for savepoint in kept:
        verification = do(server.face, Verify(savepoint, Trust.INTACT))
        assert (verification.reached, verification.damages) == (Trust.INTACT, ())
        assert server.face.ask(ShowSavepoint(savepoint)).trust is Trust.INTACT
    server.face.background = False
    folder = server.face.layout.savepoints
    assert {path.name for path in folder.iterdir()} == kept
    for savepoint in kept:
        files = {str(path.relative_to(folder / savepoint)) for path in (folder / savepoint).rglob("*") if path.is_file()}
        written = {path for path in files - BESIDE if not path.startswith(paths.TEMPORARY_PREFIX)}  # the server may be writing beside them
        assert written == {file.path for file in server.face.ask(ReadManifest(savepoint)).files}
    kinds = [event.kind for event in server.face.ask(ListEvents(JOB, limit=10 * SAVEPOINTS))]
    assert kinds.count("savepoint.taken") == SAVEPOINTS
    assert kinds.count("savepoint.disposed") == SAVEPOINTS - KEPT


def assert_unharmed(server: Server) -> None:
    """The job is the one run that it was, and gave what it gives when nobody takes a savepoint."""
    until(lambda: committed(server, JOB) == FILES - 1 == committed(server, REFERENCE))
    until(lambda: server.newest(REFERENCE).state is RunState.FINISHED)
    assert [run.state for run in server.face.ask(ShowJob(JOB)).runs] == [RunState.RUNNING]
    server.stop(JOB, savepoint=False)
    ours = output(server, JOB)
    assert rows(ours) > 20
    assert differences(ours, output(server, REFERENCE)) == []
