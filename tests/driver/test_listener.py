"""What the listener writes down is Spark's own progress, and costs the batch next to nothing."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.driver.listener import Listening, drain
from pipelines.driver.records import Records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
FILES = 3
CALLS_A_BATCH = 1
"""The JSON of its progress."""
CALLS_OF_A_QUERY = 4
"""At its end its id, its error, and whether there is one."""


def pyspark_listener(lines: list[str], batches: list[tuple[str, int, int]]) -> Any:
    """PySpark's own, for comparison."""
    from pyspark.sql.streaming import StreamingQueryListener

    class Own(StreamingQueryListener):  # type: ignore[misc]
        def onQueryStarted(self, event: Any) -> None:
            pass

        def onQueryProgress(self, event: Any) -> None:
            lines.append(event.progress.json)
            batches.append((str(event.progress.runId), event.progress.batchId, event.progress.numInputRows))

        def onQueryTerminated(self, event: Any) -> None:
            pass

    return Own()


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """A session of the test's own: its listeners are nobody else's."""
    return spark.newSession()


@pytest.fixture
def calls(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Calls from Python to the JVM, by thread; that py4j lets go of an object is none."""
    from py4j.protocol import MEMORY_COMMAND_NAME

    client = spark._sc._gateway._gateway_client
    counter: Counter[str] = Counter()
    send = client.send_command

    def counting(command: str, *args: Any, **kwargs: Any) -> Any:
        counter[threading.current_thread().name] += not command.startswith(MEMORY_COMMAND_NAME)
        return send(command, *args, **kwargs)

    monkeypatch.setattr(client, "send_command", counting)
    yield counter


def count_posts(spark: SparkSession, folder: Path) -> None:
    """Runs an aggregation of a file a batch to its end."""
    (folder / "in").mkdir()
    for number in range(FILES):
        (folder / "in" / f"{number}.json").write_text(f'{{"post": {number}}}\n' * 10)
    posts = spark.readStream.schema("post long").option("maxFilesPerTrigger", 1).json(str(folder / "in"))
    writer = posts.groupBy("post").count().writeStream.outputMode("update").format("noop").trigger(availableNow=True)
    writer.start(checkpointLocation=str(folder / "checkpoint")).awaitTermination()
    drain()


def test_progress_is_written_as_pyspark_tells_it(session: SparkSession, tmp_path: Path) -> None:
    batches: list[tuple[str, int, int]] = []
    told: list[str] = []
    told_batches: list[tuple[str, int, int]] = []
    listening = Listening(Records(tmp_path, lambda: 0), lambda *batch: batches.append(batch), lambda: None)
    listening.attach(session)
    listening.attach(session)
    session.streams.addListener(pyspark_listener(told, told_batches))
    count_posts(session, tmp_path)
    assert (tmp_path / "progress.jsonl").read_text().splitlines() == told
    assert batches == told_batches and [rows for _, _, rows in batches] == [10] * FILES
    assert '"at_ms":0' in (tmp_path / "idle.jsonl").read_text(), "a query that has ended by itself has nothing left"


def test_a_batch_costs_a_few_calls_to_the_jvm(session: SparkSession, tmp_path: Path, calls: Counter[str]) -> None:
    Listening(Records(tmp_path, lambda: 0), lambda *batch: None, lambda: None).attach(session)
    count_posts(session, tmp_path)
    beside = sum(count for thread, count in calls.items() if thread != threading.main_thread().name)
    assert beside == CALLS_A_BATCH * FILES + CALLS_OF_A_QUERY


def test_a_query_that_fails_is_noticed(session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failures: list[bool] = []
    Listening(Records(tmp_path, lambda: 0), lambda *batch: None, lambda: failures.append(True)).attach(session)
    broken = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load().selectExpr("raise_error('broken') AS x")
    query = broken.writeStream.format("noop").start(checkpointLocation=str(tmp_path / "checkpoint"))
    with pytest.raises(Exception, match="broken"):
        query.awaitTermination()
    drain()
    assert failures == [True] and not (tmp_path / "idle.jsonl").exists()
    assert f"query {query.id} failed" in capsys.readouterr().out
