"""A fork whose source goes on from elsewhere, with real Spark: files that are skipped are not in its state, those read again are twice."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pipelines.domain.errors import Invalid, TidemarkError
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog, ShowJob
from pipelines.verbs.resume import ResumeJobs
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.stop import StopJobs
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
OWN = """
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition


class Numbers(DataSource):
    @classmethod
    def name(cls):
        return "numbers"

    def schema(self):
        return "file STRING"

    def streamReader(self, schema):
        return Reader(self.options["path"])


class Reader(DataSourceStreamReader):
    def __init__(self, path):
        self.path = path

    def initialOffset(self):
        return {"next": 0}

    def latestOffset(self):
        return {"next": len(list(Path(self.path).glob("*/*.json")))}

    def partitions(self, start, end):
        return [InputPartition(number) for number in range(start["next"], end["next"])]

    def read(self, partition):
        yield from [(f"f{partition.value}",)] * 3


def numbers():
    spark.dataSource.register(Numbers)
    return spark.readStream.format("numbers").load(events)


"""
"""A data source in Python, whose offset is the number of the next file."""
BOTH = CODE.replace("\n\ndef start(name):", f"\n\n{OWN.strip()}\n\n\ndef start(name, of=None):").replace(
    "files.groupBy", "(files if of is None else of()).groupBy"
)
CODE_OF_ALL = f'{BOTH}start("own", numbers)\n'
ALL = (*QUERIES, "own")


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


def totals(server: Server, job: str, queries: tuple[str, ...] = QUERIES) -> list[dict[str, int]]:
    """How often each file was counted, by the newest row of each, by query."""
    newest = server.newest(job)
    assert not newest.state.has_failed, server.face.ask(ReadLog(job)).text
    return [counted(server.face.layout.output(newest.job) / f"{query}.jsonl") for query in queries]


def await_totals(server: Server, job: str, files: dict[str, int]) -> None:
    """Of every query, with its newest batch committed."""
    until(lambda: totals(server, job, ALL) == [files] * len(ALL) and all(is_committed(server, job, query) for query in ALL))


def is_committed(server: Server, job: str, query: str) -> bool:
    checkpoint = Path(server.newest(job).checkpoints) / query
    planned, committed = ({path.name for path in (checkpoint / log).glob("[0-9]*")} for log in ("offsets", "commits"))
    return planned == committed


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
    do(server.face, RunScript(name="main", script="counts.py", code=CODE_OF_ALL, args=(str(events), "{output}"), conf=CONF))
    await_totals(server, "main", files(range(3)))
    savepoint = do(server.face, Take("main"))
    write(events, 3, 4, 5)
    await_totals(server, "main", files(range(6)))
    return savepoint


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_files_are_skipped_and_read_again(server: Server, tmp_path: Path) -> None:
    savepoint = begun(server, events := tmp_path / "events")
    expected: Mapping[str, tuple[str, int, tuple[int, int], dict[str, int]]] = {
        "skips": (changed(4), 4, (1, 0), dict.fromkeys(("f4", "f5", "f6"), 1)),
        "again": (changed(1), 1, (0, 2), {**files(range(3, 7), range(1, 3))}),
        "newest": ("latest", 6, (3, 0), {"f6": 1}),
    }
    for name, (position, number, amounts, _) in expected.items():
        fork = Fork(savepoint.id, name=name, offsets={**{f"{query}.0": position for query in QUERIES}, "own.0": f'{{"next":{number}}}'})
        moved = server.face.plan(fork).moved
        of_files, own = moved[: len(QUERIES)], moved[-1]
        assert [(move.query, move.skipped, move.again) for move in of_files] == [(query, *amounts) for query in QUERIES], moved
        assert (own.query, own.before, own.is_counted) == ("own", '{"next": 3}', False)
        do(server.face, fork)
        origin = server.face.ask(ShowJob(name)).summary.job.origin
        assert origin is not None and origin.moved == moved
    write(events, 6)
    for name, (*_, counted) in expected.items():
        await_totals(server, name, counted)
    a_group_is_paused_and_goes_on(server, events, {name: counted for name, (*_, counted) in expected.items() if name != "newest"})
    for wrong, code in (("7", "offsets.source"), ("hdfs.7", "offsets.source"), ("0", "offsets.source")):
        refused(server, Fork(savepoint.id, name="no", offsets={wrong: "latest"}), code)
    refused(server, Fork(savepoint.id, name="no", offsets={"hdfs.0": "some day"}), "time.invalid")
    refused(server, Fork(savepoint.id, name="no", offsets={"hdfs.0": '{"logOffset":1}'}), "offsets.position")
    refused(server, Fork(savepoint.id, name="no", offsets={"hdfs.0": "latest"}, lock_step=True), "offsets.lock_step")


def a_group_is_paused_and_goes_on(server: Server, events: Path, counted: Mapping[str, dict[str, int]]) -> None:
    """Each has what it had and what came while nothing ran, once: as `main`, which nobody stops."""
    names = tuple(counted)
    stopped = do(server.face, StopJobs(names))
    assert [outcome.refusal for outcome in stopped.outcomes] == [None] * len(names)
    until(lambda: all(server.newest(name).state is RunState.STOPPED for name in names))
    write(events, 7)
    await_totals(server, "main", files(range(8)))
    assert [totals(server, name, ALL) for name in names] == [[rows] * len(ALL) for rows in counted.values()], "they are paused"
    begun = do(server.face, ResumeJobs(names))
    assert [outcome.run is not None for outcome in begun.outcomes] == [True] * len(names)
    for name, rows in counted.items():
        await_totals(server, name, {**rows, "f7": 1})
    assert {saved.job for saved in server.face.ask(ListSavepoints()) if saved.reason is Reason.STOP} == set(names)


def refused(server: Server, fork: Fork, code: str) -> None:
    with pytest.raises(TidemarkError) as error:
        server.face.plan(fork)
    assert isinstance(error.value, Invalid) and error.value.code == code
