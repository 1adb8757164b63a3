"""Queries of a fork that would write to its parent's Kafka topics (`tests/workspace/test_kafka.py` has one at a real broker)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter

from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.run_specs import SPEC_FORMAT, RunSpec
from pipelines.driver import intercept, topics

pytestmark = pytest.mark.spark
PARENT = ["clicks", "likes", "t" * 249]
ENDS = {"*": [".b", ".b", "t.b"], "clicks": [".b", "likes", "tt"]}


class Heard:
    """The driver's records."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def event(self, kind: str, message: str, query: str) -> None:
        self.events.append(message)


def spec(*taken: str) -> RunSpec:
    return RunSpec(SPEC_FORMAT, RunId("r-1"), JobName("b"), VersionId("v-1"), "", (), {}, "", "", "", taken_topics=taken)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers note what they are told, and start by themselves."""
    for method in ("start", "toTable", *(name for name in vars(DataStreamWriter) if not name.startswith("_"))):
        monkeypatch.setattr(DataStreamWriter, method, getattr(DataStreamWriter, method))
    intercept.wrap(DataStreamWriter, lambda writer, asked, launch: launch())


@pytest.mark.usefixtures("noted")
@pytest.mark.parametrize("taken", ENDS)
def test_rows_that_name_their_topics_go_to_others_and_all_else_stays_as_it_was_said(
    taken: str, spark: SparkSession, tmp_path: Path
) -> None:
    frame = topics_of(spark, tmp_path)
    writer = frame.writeStream.format("memory").queryName("named").outputMode("append").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    heard: Any = Heard()
    asked = intercept.Asked(format="Kafka")
    assert topics.give_own(spec(taken), heard, "named", writer, asked) == asked and len(heard.events) == 1
    query = writer.start()
    try:
        assert query.awaitTermination(60) and query.name == "named"
        rows = [row.topic for row in spark.table("named").orderBy("number").collect()]
        assert all(topic.endswith(end) and len(topic) <= 249 for topic, end in zip(rows, ENDS[taken], strict=True)), rows
        assert list((tmp_path / "checkpoint" / "commits").glob("0"))
    finally:
        query.stop()


def topics_of(spark: SparkSession, folder: Path) -> DataFrame:
    source = folder / "source"
    spark.createDataFrame(list(enumerate(PARENT)), "number INT, topic STRING").write.parquet(str(source))
    return spark.readStream.schema("number INT, topic STRING").parquet(str(source))


def test_an_option_is_replaced_where_it_names_what_is_taken() -> None:
    for taken, before, after in (("clicks", "clicks", "clicks.b"), ("*", "likes", "likes.b"), ("clicks", "likes", "likes"), ("", "a", "a")):
        heard: Any = Heard()
        options: dict[str, str] = {}
        writer: Any = type("Writer", (), {"option": lambda self, name, value, options=options: options.update({name: value})})()
        asked = intercept.Asked(format="kafka", options={"topic": before})
        given = topics.give_own(spec(*filter(None, [taken])), heard, "q", writer, asked)
        assert given.options["topic"] == options.get("topic", before) == after
        assert len(heard.events) == (after != before)


def test_a_writer_of_spark_connect_writes_what_its_frame_was_made_to() -> None:
    from pyspark.sql.connect import functions as f
    from pyspark.sql.connect.plan import Range
    from pyspark.sql.connect.streaming.readwriter import DataStreamWriter as Connected

    session: Any = type("Session", (), {"client": None})()
    writer = Connected(Range(0, 3, 1, 1), session).format("kafka").option("kafka.bootstrap.servers", "here:9092")
    intercept.write_instead(writer, lambda frame: frame.withColumn("topic", f.lit("clicks.b")))
    start = writer._write_stream.command(session.client).write_stream_operation_start
    assert (start.format, dict(start.options)) == ("kafka", {"kafka.bootstrap.servers": "here:9092"})
    assert start.input.with_columns.input.HasField("range") and start.input.with_columns.aliases[0].name == ["topic"]
