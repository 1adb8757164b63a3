"""A fork whose source goes on from elsewhere, with real Spark: files that are skipped are not in its state, those read again are twice."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pipelines.domain.errors import Invalid, TidemarkError
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog, ShowJob
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from tests.driver.process import CONF
from tests.waiting import until
from tests.workspace.serving import Server, serving

BEGAN_S = time.time() - 3_600
"""File n was changed n minutes later."""
CODE = """
import json, sys
from pathlib import Path
from pyspark.sql import SparkSession

events, output = sys.argv[1], sys.argv[2].removeprefix("file:")
spark = SparkSession.builder.getOrCreate()


def start(name):
    def write(frame, batch):
        with open(f"{output}/{name}.jsonl", "a") as file:
            file.write("".join(f"{json.dumps([row['file'], row['count']])}\\n" for row in frame.collect()))

    files = spark.readStream.schema("file STRING").option("maxFilesPerTrigger", 1).json(events)
    counts = files.groupBy("file").count().writeStream.queryName(name).outputMode("update")
    counts.trigger(processingTime="200 milliseconds").foreachBatch(write).start()


Path(output).mkdir(exist_ok=True)
start("hdfs")
spark.conf.set(
    "spark.sql.streaming.stateStore.providerClass", "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
)
start("rocksdb")
"""
QUERIES = ("hdfs", "rocksdb")
"""One on each kind of store."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "workspace") as running:
        yield running


def write(events: Path, *numbers: int) -> None:
    """Each file names itself three times."""
    folder = events / "day=a b (ä) #1"
    folder.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        aside = folder / f".{number}"
        aside.write_text(f"{json.dumps({'file': f'f{number}'})}\n" * 3)
        os.utime(aside, (BEGAN_S + 60 * number,) * 2)
        aside.rename(folder / f"{number} (of ü).json")


def totals(server: Server, job: str) -> list[dict[str, int]]:
    """How often each file was counted, by the newest row of each, by query."""
    newest = server.newest(job)
    assert not newest.state.has_failed, server.face.ask(ReadLog(job)).text
    return [counted(server.face.layout.output(newest.job) / f"{query}.jsonl") for query in QUERIES]


def counted(lines: Path) -> dict[str, int]:
    return {file: count // 3 for file, count in map(json.loads, lines.read_text().splitlines())} if lines.exists() else {}


def by_all(files: dict[str, int]) -> list[dict[str, int]]:
    """What every query has counted."""
    return [files] * len(QUERIES)


def files(once: range, twice: range = range(0)) -> dict[str, int]:
    return {**{f"f{number}": 1 for number in once}, **{f"f{number}": 2 for number in twice}}


def changed(number: int) -> str:
    """The moment just before file `number` was changed, as somebody writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(BEGAN_S + 60 * number - 20))


def begun(server: Server, events: Path) -> Savepoint:
    """Of a job that has read three files; it goes on, and has read six."""
    write(events, 0, 1, 2)
    do(server.face, RunScript(name="main", script="counts.py", code=CODE, args=(str(events), "{output}"), conf=CONF))
    commits = [Path(server.newest("main").checkpoints) / query / "commits" / "2" for query in QUERIES]
    until(lambda: totals(server, "main") == by_all(files(range(3))) and all(commit.is_file() for commit in commits))
    savepoint = do(server.face, Take("main"))
    write(events, 3, 4, 5)
    until(lambda: totals(server, "main") == by_all(files(range(6))))
    return savepoint


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_files_are_skipped_and_read_again(server: Server, tmp_path: Path) -> None:
    savepoint = begun(server, events := tmp_path / "events")
    expected: Mapping[str, tuple[str, tuple[int, int], dict[str, int]]] = {
        "skips": (changed(4), (1, 0), dict.fromkeys(("f4", "f5", "f6"), 1)),
        "again": (changed(1), (0, 2), {**files(range(3, 7), range(1, 3))}),
        "newest": ("latest", (3, 0), {"f6": 1}),
    }
    for name, (position, amounts, _) in expected.items():
        fork = Fork(savepoint.id, name=name, offsets={f"{query}.0": position for query in QUERIES})
        moved = server.face.plan(fork).moved
        assert [(move.query, move.skipped, move.again, move.unit) for move in moved] == [(query, *amounts, "files") for query in QUERIES], (
            moved
        )
        do(server.face, fork)
        origin = server.face.ask(ShowJob(name)).summary.job.origin
        assert origin is not None and origin.moved == moved
    write(events, 6)
    for name, (*_, counted) in expected.items():
        until(lambda name=name, counted=counted: totals(server, name) == by_all(counted))  # type: ignore[misc]
    for wrong, code in (("7", "offsets.source"), ("hdfs.7", "offsets.source"), ("0", "offsets.source")):
        refused(server, Fork(savepoint.id, name="no", offsets={wrong: "latest"}), code)
    refused(server, Fork(savepoint.id, name="no", offsets={"hdfs.0": "some day"}), "time.invalid")
    refused(server, Fork(savepoint.id, name="no", offsets={"hdfs.0": '{"logOffset":1}'}), "offsets.position")
    refused(server, Fork(savepoint.id, name="no", offsets={"hdfs.0": "latest"}, lock_step=True), "offsets.lock_step")


def refused(server: Server, fork: Fork, code: str) -> None:
    with pytest.raises(TidemarkError) as error:
        server.face.plan(fork)
    assert isinstance(error.value, Invalid) and error.value.code == code
