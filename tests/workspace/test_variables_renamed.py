"""A state variable under another name, told by `--map`, with real Spark: the fork goes on with what the variable held."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.domain.state_differences import KeyChanges
from pipelines.verbs.check import Check
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog
from pipelines.verbs.run import RunScript
from pipelines.verbs.state_difference import CompareState, QueryStateDifference, ShowStateDifference
from pipelines.verbs.state_key import LookUpKey
from pipelines.verbs.take import Take
from tests.driver.process import CONF
from tests.waiting import until
from tests.workspace.serving import Server, serving

CODE = """
import json, sys
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor

events, output = sys.argv[1:3]
spark = SparkSession.builder.getOrCreate()


class Totals(StatefulProcessor):
    def init(self, handle):
        self.handle = handle
        self.total = handle.getValueState("total", "total LONG")
        self.seen = handle.getListState("seen", "n INT")
        self.times = handle.getMapState("times", "n INT", "times INT")

    def handleInputRows(self, key, rows, timers):
        total = self.total.get()[0] if self.total.exists() else 0
        for row in rows:
            total += row.n
            self.seen.appendValue((row.n,))
            self.times.updateValue((row.n % 3,), (1,))
            self.handle.registerTimer(4_102_444_800_000 + row.n)
        self.total.update((total,))
        yield Row(post=key[0], total=total, seen=sum(1 for _ in self.seen.get()), times=sum(1 for _ in self.times.keys()))

    def close(self):
        pass


def write(frame, batch):
    with open(f"{output}.jsonl", "a") as file:
        file.write("".join(f"{json.dumps(list(row))}\\n" for row in frame.collect()))


rows = spark.readStream.schema("post STRING, n INT, at TIMESTAMP").json(events).withWatermark("at", "1 minute").groupBy("post")
totals = rows.transformWithState(Totals(), "post STRING, total LONG, seen INT, times INT", "update", "eventTime")
totals.writeStream.queryName("totals").outputMode("update").foreachBatch(write).trigger(availableNow=True).start().awaitTermination()
"""
RENAMED = CODE.replace('getValueState("total"', 'getValueState("sum"')
ROCKSDB = {"spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"}
MAP = {"totals.0.total": "totals.0.sum"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "workspace") as running:
        yield running


def rows(server: Server, job: str) -> list[list[str | int]]:
    """What the job has put out when it has ended."""
    until(lambda: not server.newest(job).state.goes_on)
    assert not server.newest(job).state.has_failed, server.face.ask(ReadLog(job)).text
    output = Path(f"{server.face.layout.output(server.newest(job).job)}.jsonl")
    return sorted(map(json.loads, output.read_text().splitlines()))


def lines(*events: tuple[str, int]) -> str:
    return "".join(json.dumps({"post": post, "n": n, "at": "2026-01-01T00:00:00Z"}) + "\n" for post, n in events)


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_what_a_variable_held_goes_on_under_its_new_name(server: Server, tmp_path: Path) -> None:
    """Planning the next batch of the changed code adds a schema of it to the copy: what the savepoint holds is that of its own batch."""
    events = tmp_path / "events"
    events.mkdir()
    (events / "0.json").write_text(lines(("a", 1), ("b", 2)))
    arguments, conf = (str(events), "{output}"), {**CONF, **ROCKSDB}
    do(server.face, RunScript(name="main", script="totals.py", code=CODE, args=arguments, conf=conf))
    assert rows(server, "main") == [["a", 1, 1, 1], ["b", 2, 1, 1]]
    savepoint = do(server.face, Take("main")).id
    (events / "1.json").write_text(lines(("a", 10), ("a", 100)))
    assert do(server.face, Check(savepoint, code=RENAMED, map=MAP)).dropped == ()
    do(server.face, Fork(savepoint, name="renamed", code=RENAMED, map=MAP))
    assert rows(server, "renamed") == [["a", 111, 3, 1]]
    differ_in_timers(server, savepoint)


def differ_in_timers(server: Server, savepoint: str) -> None:
    """Timers are one more table of a difference: a key has another where one of its timers came, went or moved."""
    compared = do(server.face, CompareState(savepoint, "renamed", variable="timers"))
    difference = server.face.ask(ShowStateDifference(compared.result or ""))
    (table,) = difference.tables
    assert (table.title, table.keys_a, table.keys_b, table.changes) == ("totals / 0 / default / timers", 2, 2, KeyChanges(0, 0, 1))
    assert [(column.name, column.kind, column.changed) for column in table.columns] == [("expires", "time", 1)]
    asked = server.face.ask(QueryStateDifference(difference.id, sql="SELECT key.post, epoch_ms(expires) - 4102444800000 FROM b ORDER BY 2"))
    assert asked.rows == (("a", 1), ("b", 2), ("a", 10), ("a", 100))
    (only,) = do(server.face, LookUpKey("renamed", {"post": "b"}, variable="timers")).rows
    assert only["expires"] == "2100-01-01T00:00:00.002000Z"
