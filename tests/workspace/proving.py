"""A job with an operator of each kind on each store, run by real Spark in a real workspace, to take savepoints of and prove them.

Two of its queries compute each batch more than once: a sort looks at its input first, and three actions are three executions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil

from pipelines.domain.jobs import Run
from pipelines.domain.operations import Operation
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.sandbox.requests import MARK
from pipelines.supervisor.loop import SupervisorLoop
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ReadLog, ShowJob
from pipelines.verbs.operations import ShowOperation
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from pipelines.workspace.opening import open_workspace
from tests.waiting import until

PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CONF = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "700m",
}
QUERIES = ("counts_hdfs", "counts_rocks", "joined", "distinct", "totals", "plain")
CODE = f"""
import sys
from pathlib import Path
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

events, output = sys.argv[1], Path(sys.argv[2])
spark = SparkSession.builder.getOrCreate()

class Totals(StatefulProcessor):
    def init(self, handle):
        self.total = handle.getValueState("total", "total LONG")
        self.seen = handle.getListState("seen", "n INT")
        self.times = handle.getMapState("times", "n INT", "times INT")

    def handleInputRows(self, key, rows, timers):
        total = self.total.get()[0] if self.total.exists() else 0
        for row in rows:
            total += row.n
            self.seen.appendValue((row.n,))
            self.times.updateValue((row.n % 3,), (1,))
        self.total.update((total,))
        yield Row(post=key[0], total=total)

    def close(self):
        pass

ACTIONS = {{
    "counts_rocks": (lambda batch: batch.orderBy("count").collect(),),
    "distinct": (DataFrame.count, DataFrame.collect, DataFrame.count),
}}

def read(folder=events, **more):
    return spark.readStream.schema("post STRING, ts TIMESTAMP, n INT").options(maxFilesPerTrigger=2, **more).json(folder)

def start(frame, name, mode="update"):
    def mark(batch, number):
        output.mkdir(parents=True, exist_ok=True)
        with (output / "marks").open("a") as marks:
            marks.write(f"{{name}} {{number}}\\n")
        for action in ACTIONS.get(name, (DataFrame.count,)):
            action(batch)
    writer = frame.writeStream.queryName(name).outputMode(mode).foreachBatch(mark)
    return writer.trigger(availableNow=True).start()

late = read().withWatermark("ts", "5 minutes")
counts = late.groupBy(F.window("ts", "10 minutes"), "post").count()
started = [start(counts, "counts_hdfs")]
spark.conf.set("spark.sql.streaming.stateStore.providerClass", "{PROVIDER}")
spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "2")
views, clicks = late.alias("v"), read().where("n % 2 = 0").withWatermark("ts", "5 minutes").alias("c")
near = F.expr("v.post = c.post AND c.ts BETWEEN v.ts AND v.ts + INTERVAL 5 MINUTES")
plain = read(sys.argv[3], cleanSource="delete").writeStream.queryName("plain")
started += [
    start(counts, "counts_rocks"),
    start(views.join(clicks, near).select(F.col("v.post"), F.col("c.n")), "joined", "append"),
    start(late.dropDuplicates(["post", "ts"]), "distinct", "append"),
    start(read().groupBy("post").transformWithState(Totals(), "post STRING, total LONG", "update", "none"), "totals"),
    plain.trigger(availableNow=True).start(str(output / "plain"), "parquet"),
]
for query in started:
    query.awaitTermination()
"""


def write_events(folder: Path, first: int, files: int) -> None:
    """Eight rows a file, a minute apart, their modification times a second apart so that Spark's order is fixed."""
    folder.mkdir(exist_ok=True)
    for number in range(first, first + files):
        rows = [
            f'{{"post": "p{(number + row) % 5}", "ts": "2026-01-01T09:{number * 4 + row:02d}:00Z", "n": {number * 10 + row}}}'
            for row in range(8)
        ]
        path = folder / f"{number}.json"
        path.write_text("\n".join(rows) + "\n")
        os.utime(path, (1_767_225_600 + number,) * 2)


class Stage:
    """The job, run to its end in a workspace, with more savepoints of the same batch whenever one is asked for."""

    def __init__(self, folder: Path) -> None:
        self.events = folder / "events"
        self.taken = folder / "taken"
        self.write(0, 3)
        self.face = open_workspace(folder / "ws")
        self.run()

    @property
    def output(self) -> Path:
        return self.face.layout.root / "jobs" / "job" / "output"

    def run(self) -> None:
        args = (str(self.events), "{output}", str(self.taken))
        do(self.face, RunScript(name="job", script="job.py", code=CODE, args=args, conf=CONF))
        loop = SupervisorLoop(self.face)
        loop.start()
        try:
            until(lambda: not self.newest().state.live)
        finally:
            loop.stop()
        assert self.newest().state is RunState.FINISHED, self.face.ask(ReadLog("job")).text

    def newest(self) -> Run:
        return self.face.ask(ShowJob("job")).runs[0]

    def write(self, first: int, files: int) -> None:
        """To both sources; the second deletes what it has read, as soon as it reads on."""
        for folder in (self.events, self.taken):
            write_events(folder, first, files)

    def take(self) -> Savepoint:
        return do(self.face, Take("job"))

    def marks(self) -> list[str]:
        return (self.output / "marks").read_text().splitlines()

    def await_step(self, operation: Operation, step: str) -> None:
        def there() -> bool:
            amount = self.face.ask(ShowOperation(operation.id)).amount
            return amount is not None and amount.step == step

        until(there)

    def left(self) -> list[object]:
        """Folders and processes of proofs; one that waits warm for the next one is none."""
        sandbox = self.face.layout.sandbox
        return [*(sandbox.iterdir() if sandbox.exists() else ()), *self.processes()]

    def processes(self) -> Iterator[int]:
        working = {process.pid for process in self.face.context.sparks.processes() if process.work}
        for process in psutil.process_iter():
            try:
                mark = process.environ().get(MARK, "")
                if process.status() != "zombie" and (process.pid in working or mark.startswith(str(self.face.layout.sandbox))):
                    yield process.pid
            except psutil.Error:
                continue
