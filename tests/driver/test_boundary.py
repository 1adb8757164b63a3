"""A stop in each moment of a batch: what was planned is committed, and nothing more is planned."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.domain.ids import QueryName
from pipelines.driver.boundary import stop_at_boundary
from pipelines.driver.running import Running
from tests.driver.process import batches
from tests.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
GRACE_S = 120.0
MOMENTS = ("offsets", "batch")


def source(folder: str) -> Any:
    """A source of one row a batch that waits at the gates in `folder`.

    Its classes are made in a function, so that they are pickled whole: Spark's workers cannot import this module.
    """
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

    def wait(step: str) -> None:
        import time
        from pathlib import Path

        gate = Path(folder, step)
        while gate.exists():
            gate.with_suffix(".reached").touch()
            time.sleep(0.01)

    class Reader(DataSourceStreamReader):  # type: ignore[misc]
        at = 0

        def initialOffset(self) -> dict[str, int]:
            return {"at": 0}

        def latestOffset(self) -> dict[str, int]:
            wait("offsets")
            self.at += 1
            return {"at": self.at}

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Any]:
            return [InputPartition(end["at"])]

        def read(self, partition: Any) -> Iterator[tuple[int]]:
            wait("batch")
            yield (partition.value,)

    class Gated(DataSource):  # type: ignore[misc]
        @classmethod
        def name(cls) -> str:
            return "gated"

        def schema(self) -> str:
            return "at long"

        def streamReader(self, schema: Any) -> Any:
            return Reader()

    return Gated


@dataclass(frozen=True)
class Job:
    """A query of that source, and its gates: files, which let it pass once they are gone."""

    query: Any
    gates: Path
    checkpoint: Path

    def reached(self, step: str) -> bool:
        return (self.gates / f"{step}.reached").exists()

    def knows(self) -> bool:
        """Whether the stop has begun: Spark's state is set, or the stop has the progress lock, or waits for it."""
        lock = self.query._jsq.streamingQuery().awaitProgressLock()
        return not self.query.isActive or lock.hasQueuedThreads() or (lock.isLocked() and not self.reached("offsets"))

    def batches(self, log: str) -> list[int]:
        return batches(self.checkpoint, log) if (self.checkpoint / log).exists() else []

    def stop(self) -> None:
        stop_at_boundary([Running(QueryName("gated"), self.query)], GRACE_S)


@dataclass(frozen=True)
class Jobs:
    """Starts such jobs."""

    spark: SparkSession
    folder: Path

    def start(self, *closed: str, **trigger: str) -> Job:
        gates, checkpoint = self.folder / "gates", self.folder / "checkpoint"
        gates.mkdir()
        for step in closed:
            (gates / step).touch()
        self.spark.dataSource.register(source(str(gates)))
        writer = self.spark.readStream.format("gated").load().writeStream.format("noop").option("checkpointLocation", str(checkpoint))
        return Job(writer.trigger(**trigger or {"processingTime": "0 seconds"}).start(), gates, checkpoint)


@pytest.fixture
def jobs(spark: SparkSession, tmp_path: Path) -> Iterator[Jobs]:
    yield Jobs(spark, tmp_path)
    for gate in (tmp_path / "gates").iterdir():
        gate.unlink()
    for query in spark.streams.active:
        query.stop()


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_batch_that_runs_is_committed_whatever_it_is_about(jobs: Jobs, moment: str) -> None:
    job = jobs.start(moment)
    until(lambda: job.reached(moment))
    with ThreadPoolExecutor() as beside:
        stop = beside.submit(job.stop)
        until(job.knows)
        (job.gates / moment).unlink()
        stop.result()
    assert not job.query.isActive and job.query.exception() is None
    assert job.batches("offsets") == job.batches("commits") == [0]


def test_a_query_that_waits_for_its_next_trigger_stops_at_once(jobs: Jobs) -> None:
    job = jobs.start(processingTime="1000 hours")
    until(lambda: job.query.status["message"] == "Waiting for next trigger")
    job.stop()
    assert not job.query.isActive and job.query.exception() is None
    assert job.batches("offsets") == job.batches("commits") == [0]


def test_a_query_without_a_pause_between_its_batches_stops_after_one(jobs: Jobs) -> None:
    job = jobs.start()
    until(lambda: len(job.batches("commits")) > 3)
    job.stop()
    assert not job.query.isActive and job.query.exception() is None
    assert job.batches("offsets") == job.batches("commits")
