"""Attached jobs from outside: their batches as Spark's own progress, their sizes, their trouble; each told once."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.checkpoint import metadata
from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.jobs import Event, Run
from pipelines.domain.progress import epoch_ms
from pipelines.domain.runs import PROGRESS_FILE, RunState
from pipelines.storage import lines
from pipelines.supervisor import outside
from pipelines.supervisor.sizes import Sampler
from pipelines.supervisor.watcher import Pace, Watcher
from pipelines.verbs.attach import Attach
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.jobs import ListBatches, ListJobs, ShowJob
from pipelines.verbs.system import ListEvents, RebuildCatalog, ShowHealth
from pipelines.workspace.opening import open_workspace
from tests import far
from tests.driver.process import Drivers, batches
from tests.savepoint.golden import lay_checkpoint
from tests.savepoint.streaming import BRISK
from tests.supervisor.conftest import until

NEWEST = 13
AT_ONCE = Pace(0, 0, 0, 0, 0)


@dataclass
class Post:
    """A workspace with a watcher over the copy of a golden checkpoint."""

    root: Path
    checkpoint: Path

    def open(self, pace: Pace = AT_ONCE) -> Post:
        self.face = open_workspace(self.root)
        self.watcher = Watcher(self.face.context, Sampler(self.face.context), pace)
        return self

    def reopen(self) -> None:
        self.face.close()
        self.open()

    def attach(self, url: str = "") -> Run:
        return do(self.face, Attach(name="theirs", checkpoints={"counts": url or str(self.checkpoint)}))

    def look(self) -> list[int]:
        """The batches that are known after a look, oldest first."""
        self.watcher.tick()
        return [row.batch for row in self.face.ask(ListBatches("theirs", limit=10_000))][::-1]

    def progress_file(self) -> Path:
        return self.face.layout.run(JobName("theirs"), self.face.ask(ShowJob("theirs")).runs[0].id) / PROGRESS_FILE

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.progress_file().read_text().splitlines()]

    def told(self) -> list[Event]:
        """Events of the watch, oldest first."""
        return [event for event in self.face.ask(ListEvents("theirs")) if event.kind.startswith("watch.")][::-1]

    def state(self) -> RunState | None:
        return self.face.ask(ShowJob("theirs")).summary.state

    def commit(self, batch: int, like: int = NEWEST) -> None:
        """One more batch in both logs."""
        for log in ("offsets", "commits"):
            shutil.copy(self.checkpoint / log / str(like), self.checkpoint / log / str(batch))


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Post]:
    lay_checkpoint("rocksdb_format2", tmp_path / "checkpoint")
    for batch in range(NEWEST + 1):
        planned = json.loads((tmp_path / "checkpoint" / "offsets" / str(batch)).read_text().splitlines()[1])["batchTimestampMs"]
        os.utime(tmp_path / "checkpoint" / "commits" / str(batch), ns=((planned + 250) * 1_000_000,) * 2)
    here = Post(tmp_path / "ws", tmp_path / "checkpoint").open()
    yield here
    here.face.close()


def test_the_first_look_brings_all_that_is_retained(post: Post) -> None:
    post.attach()
    assert post.look() == list(range(NEWEST + 1))
    planned = json.loads((post.checkpoint / "offsets" / "5").read_text().splitlines()[1])
    row = {row.batch: row for row in post.face.ask(ListBatches("theirs"))}[5]
    assert (row.at_ms, row.batch_ms, row.watermark_ms) == (planned["batchTimestampMs"], 250, planned["batchWatermarkMs"])
    assert (row.input_rows, row.state_rows, row.query) == (None, None, "counts"), "what files' offsets do not say is not known"
    (source,) = json.loads(row.sources)
    assert (source["startOffset"], source["endOffset"]) == ({"logOffset": 4}, {"logOffset": 5})
    last = post.face.ask(ListBatches("theirs"))[0]
    assert last.input_rows == 0, "the source stood still: Spark ran that batch for the watermark alone"


def test_what_is_new_is_added_once_and_a_restart_doubles_nothing(post: Post) -> None:
    post.attach()
    post.look()
    assert post.look() == list(range(NEWEST + 1))
    post.commit(NEWEST + 1)
    assert post.look()[-1] == NEWEST + 1
    post.reopen()
    post.commit(NEWEST + 2)
    assert post.look() == list(range(NEWEST + 3))
    with post.progress_file().open("a") as file:
        file.write('{"name":"counts","batchId":99,')
    post.reopen()
    post.commit(NEWEST + 3)
    assert post.look() == list(range(NEWEST + 4))
    do(post.face, RebuildCatalog())
    assert post.look() == list(range(NEWEST + 4))
    assert post.told() == []


def test_its_summary_is_of_now_and_nothing_failed(post: Post) -> None:
    post.attach()
    post.look()
    (summary,) = post.face.ask(ListJobs())
    assert (summary.state, summary.batch, summary.queries, summary.restarts) == (RunState.WATCHED, NEWEST, 1, 0)
    assert summary.checkpoint_bytes == sum(path.stat().st_size for path in post.checkpoint.rglob("*") if path.is_file())
    assert summary.watermark_ms == post.face.ask(ListBatches("theirs"))[0].watermark_ms
    health = post.face.ask(ShowHealth())
    assert (health.jobs, health.failed) == (1, 0)


def test_a_checkpoint_that_vanishes_and_comes_back(post: Post) -> None:
    post.attach()
    post.look()
    aside = post.checkpoint.rename(post.checkpoint.with_name("aside"))
    post.look()
    post.look()
    post.reopen()
    post.look()
    assert post.state() is RunState.FAILED
    (lost,) = post.told()
    assert lost.kind == "watch.lost" and "has no metadata file" in lost.message and "Give the directory" in lost.message
    failed = post.face.ask(ShowJob("theirs")).runs[0].exit
    assert failed is not None and failed.error_class == "checkpoint.not_found"
    aside.rename(post.checkpoint)
    post.look()
    assert post.state() is RunState.WATCHED and post.face.ask(ShowJob("theirs")).runs[0].exit is None
    assert [event.kind for event in post.told()] == ["watch.lost", "watch.back"]


def test_a_checkpoint_that_is_another_querys_now(post: Post) -> None:
    post.attach()
    post.look()
    (post.checkpoint / "metadata").write_bytes(metadata.serialized(metadata.QueryMetadata("another")))
    post.commit(NEWEST + 1)
    assert post.look()[-1] == NEWEST, "another query's batches are not this job's"
    post.look()
    (lost,) = post.told()
    assert "its id is another, not" in lost.message and "attach the checkpoint again" in lost.message


def test_damage_is_told_once_and_leaves_the_job_watched(post: Post) -> None:
    post.attach()
    post.look()
    post.commit(NEWEST + 1)
    whole = (post.checkpoint / "offsets" / "14").read_bytes()
    (post.checkpoint / "offsets" / "14").write_bytes(b"nonsense")
    post.look()
    post.look()
    (failed,) = post.told()
    assert failed.kind == "watch.failed" and "offsets/14 is damaged" in failed.message
    assert post.state() is RunState.WATCHED
    (post.checkpoint / "offsets" / "14").write_bytes(whole)
    assert post.look()[-1] == NEWEST + 1


def test_a_query_that_was_taken_back_is_followed_from_there(post: Post) -> None:
    post.attach()
    post.look()
    for batch in range(9, NEWEST + 1):
        (post.checkpoint / "commits" / str(batch)).unlink()
    post.look()
    (rewound,) = post.told()
    assert rewound.kind == "watch.rewound" and "newest committed batch is 8, after 13" in rewound.message
    post.commit(9, like=8)
    post.look()
    assert [line["batchId"] for line in post.lines()] == [*range(NEWEST + 1), 9]


def test_a_batch_that_was_purged_while_it_was_read_is_left_out(post: Post) -> None:
    post.attach()
    (post.checkpoint / "offsets" / "0").unlink()
    assert post.look() == list(range(1, NEWEST + 1))
    assert post.lines()[0]["sources"][0]["startOffset"] is None and "numInputRows" not in post.lines()[0]


def test_a_remote_storage_delays_nobody(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    filesystem = far.filesystem()
    filesystem.put(str(post.checkpoint), "/watched/checkpoint", recursive=True)
    answering = threading.Event()
    real = outside.look

    def slow(*asked: Any) -> outside.Batches:
        assert answering.wait(60)
        return real(*asked)

    monkeypatch.setattr(outside, "look", slow)
    try:
        post.watcher = Watcher(post.face.context, Sampler(post.face.context), Pace(0, 0, 0, 0, 0, stalled_ms=0))
        post.attach("far://watched/checkpoint")
        assert post.look() == post.look() == []
        (stalled,) = post.told()
        assert "far://watched/checkpoint has not answered" in stalled.message
        answering.set()
        until(lambda: post.look() == list(range(NEWEST + 1)))
        until(lambda: post.look() and post.face.ask(ListJobs())[0].checkpoint_bytes)
        assert len(post.lines()) == NEWEST + 1
        shutil.rmtree(post.checkpoint)
        filesystem.rm("/watched", recursive=True)
        until(lambda: post.look() and post.state() is RunState.FAILED)
    finally:
        answering.set()
        if filesystem.exists("/watched"):
            filesystem.rm("/watched", recursive=True)


def test_a_job_that_is_forgotten_while_it_is_looked_at_stays_forgotten(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    real, face = outside.look, post.face

    def forgotten_meanwhile(*asked: Any) -> outside.Batches:
        do(face, Forget("theirs"))
        return real(*asked)

    monkeypatch.setattr(outside, "look", forgotten_meanwhile)
    post.attach()
    post.watcher.tick()
    assert face.ask(ListJobs()) == [] and list(face.layout.jobs.iterdir()) == []


KAFKA = '{"clicks":{"0":100,"1":40},"views":{"0":7}}'
ROWS: dict[str, tuple[str | None, str | None, int | None]] = {
    "kafka": (KAFKA, '{"clicks":{"0":130,"1":41},"views":{"0":7}}', 31),
    "kafka, a new partition": (KAFKA, '{"clicks":{"0":130,"1":41,"2":5},"views":{"0":7}}', None),
    "kafka, a new topic": (KAFKA, '{"clicks":{"0":100,"1":40},"views":{"0":7},"more":{"0":1}}', None),
    "kafka, the first batch": (None, KAFKA, None),
    "rows a batch": ('{"offset":1000,"timestamp":1}', '{"offset":1500,"timestamp":2}', 500),
    "rows a batch, the first": (None, '{"offset":500,"timestamp":2}', 500),
    "seconds": ("3", "5", None),
    "files": ('{"logOffset":3}', '{"logOffset":4}', None),
    "of a Python source": ('{"at":{"0":"x"}}', '{"at":{"0":"y"}}', None),
    "an empty one": ("{}", '{"offset":1}', None),
    "one that stands still": ('{"logOffset":3}', '{"logOffset":3}', 0),
    "text": ("a", "b", None),
}


@pytest.mark.parametrize("case", ROWS)
def test_rows_between_two_offsets(case: str) -> None:
    begun, ended, rows = ROWS[case]
    assert outside.input_rows(begun, ended) == rows


def test_the_last_batches_are_found_from_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c = (QueryName(name) for name in "abc")
    assert outside.last_batches(tmp_path, [a]) == {a: -1}
    written = [{"name": "b", "batchId": 3}, *({"name": "a", "batchId": batch, "filling": "x" * 500} for batch in range(400))]
    (tmp_path / PROGRESS_FILE).write_text("".join(json.dumps(event) + "\n" for event in written) + '{"name":"a","batchId":400}')
    monkeypatch.setattr(lines, "CHUNK_BYTES", 65_536)
    assert (tmp_path / PROGRESS_FILE).stat().st_size > 2 * lines.CHUNK_BYTES
    assert outside.last_batches(tmp_path, [a, b, c]) == {a: 399, b: 3, c: -1}


RATED = """
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 40).option("advanceMillisPerBatch", 10000).load()
counts = rows.withWatermark("timestamp", "5 seconds").groupBy(F.window("timestamp", "10 seconds")).count()
counts.writeStream.queryName("counts").format("noop").trigger(processingTime="100 milliseconds").start()
"""


@pytest.mark.spark
def test_what_is_seen_from_outside_is_what_spark_itself_says(post: Post, tmp_path: Path) -> None:
    drivers = Drivers(tmp_path / "elsewhere")
    try:
        driver = drivers.start("run-1", RATED, conf=BRISK)
        driver.until(lambda d: len(d.progress) >= 3)
        post.attach(str(drivers.checkpoints() / "counts"))
        post.watcher.tick()
        driver.until(lambda d: len(d.progress) >= 8)
        driver.terminate()
        assert driver.wait() == 0, driver.log
        post.watcher.tick()
    finally:
        drivers.end()
    committed = batches(drivers.checkpoints() / "counts", "commits")
    seen, reported = ({line["batchId"]: line for line in lines} for lines in (post.lines(), driver.progress))
    assert list(seen) == committed and len(post.lines()) == len(committed)
    assert set(reported) <= set(seen)
    for batch, spark in reported.items():
        ours = seen[batch]
        assert (ours["id"], ours["name"], ours["numInputRows"]) == (spark["id"], "counts", spark["numInputRows"])
        assert ours["sources"][0]["endOffset"] == spark["sources"][0]["endOffset"]
        assert ours["eventTime"].get("watermark", "1970-01-01T00:00:00.000Z") == spark["eventTime"]["watermark"]
        assert 0 <= epoch_ms(ours["timestamp"]) - epoch_ms(spark["timestamp"]) <= spark["batchDuration"]
        assert 0 < ours["batchDuration"] <= spark["batchDuration"]
    assert sum(line["numInputRows"] for line in seen.values()) == 40 * len([b for b in reported if reported[b]["numInputRows"]])
    assert post.face.ask(ListJobs())[0].input_rate
