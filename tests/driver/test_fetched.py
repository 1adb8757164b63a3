"""What the rows come from that a script fetches to make its queries of is noted: files by their bytes, all else by its name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.installed import INSTALLED_FILE, Installed
from pipelines.driver import fetched, hearing, opened
from pipelines.storage import documents
from tests.driver.process import Drivers


class Frames:
    """A frame as PySpark has it: each answer with rows is one of few methods'."""

    def collect(self) -> list[int]:
        return [1]

    def first(self) -> int:
        return self.collect()[0]

    def isEmpty(self) -> bool:
        raise ValueError

    @property
    def schema(self) -> str:
        return "v int"

    @property
    def columns(self) -> list[str]:
        return self.schema.split()[:1]


def test_each_frame_is_noted_that_the_script_fetches_rows_of() -> None:
    told: list[Any] = []
    inferred: list[Any] = []
    for _ in range(2):
        hearing.listen(Frames, ("collect", "isEmpty"), told.append, inferred.append)
    frame = Frames()
    assert frame.columns == ["v"] and (told, inferred) == ([], [frame])
    assert frame.first() == 1 and told == [frame]
    with pytest.raises(ValueError):
        frame.isEmpty()
    assert told == [frame], "of what failed there are no rows"


class Members:
    """A method in the JVM as py4j has it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, answer: int) -> int:
        return answer


def test_what_the_script_asks_files_and_services_in_the_jvm_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(opened, "noted", lambda _, others: asked.extend(others))
    for _ in range(2):
        hearing.listen_to_members(Members, fetched.note_member)
    assert (Members("set")(1), Members("exists")(2)) == (1, 2)
    assert asked == ["Spark's JVM (exists)"]


@pytest.mark.spark
def test_rows_come_from_files_from_the_code_or_from_elsewhere(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[str] = []
    asked: list[str] = []

    def note(files: Iterable[str], others: Iterable[str]) -> None:
        noted.extend(files)
        asked.extend(others)

    monkeypatch.setattr(opened, "noted", note)
    (tmp_path / "a b.csv").write_text("a,1\n")
    rates = spark.read.schema("k string, r int").csv(str(tmp_path))
    made = spark.createDataFrame([("a", 1)], "k string, r int")
    counted = spark.sparkContext.parallelize([1]).map(lambda v: (v,)).toDF("v int")
    for frame in (made, counted, spark.range(3), spark.sql("SELECT * FROM VALUES (1) AS t(v)")):
        fetched.note(frame)
    assert (noted, asked) == ([], []), "the code says these itself"
    positive = rates.where("r > 0").cache()
    fetched.note(positive.join(made, "k").groupBy("k").count())
    positive.unpersist()
    assert (noted, asked) == ([str(tmp_path / "a b.csv")], [])
    fetched.note(spark.sparkContext.textFile(str(tmp_path)).map(lambda line: (line,)).toDF("line string"))
    fetched.note(spark.sql("SHOW TABLES"))
    assert asked == ["Spark for rows of an RDD", "Spark for rows of a list of tables"]
    inferred = spark.read.csv(str(tmp_path), inferSchema=True)
    for frame in (inferred, inferred, spark.readStream.schema("k string").csv(str(tmp_path)), spark.sql("SHOW TABLES")):
        fetched.note_inferred(frame)
    assert (noted[1:], asked[2:]) == ([str(tmp_path / "a b.csv")], []), "once, and nothing of a stream"
    fetched.note_tables(spark.catalog)
    assert asked[2:] == [], "these tables are in the driver's memory"
    other = spark.newSession()
    other.conf.set("spark.sql.catalog.lake", "of.a.Lake")
    fetched.note_tables(other.catalog)
    assert asked.pop() == "Spark's catalog for what is there"
    for rdd in (spark.sparkContext.parallelize([1]).map(str), spark.range(3).rdd, made.rdd, spark.sparkContext.emptyRDD()):
        fetched.note_rows(rdd)
    fetched.note_rows(spark.sparkContext.textFile(str(tmp_path)).map(len))
    assert (noted[2:], asked[2:]) == ([str(tmp_path / "a b.csv")], [])
    fetched.note_rows(spark.sparkContext.wholeTextFiles(str(tmp_path)))
    assert (noted.pop(), asked.pop()) == (str(tmp_path / "a b.csv"), "Spark for rows of a WholeTextFileRDD")
    monkeypatch.setattr(fetched, "MOST_FILES", 0)
    fetched.note(rates)
    assert len(noted) == 2 and asked[2:] == ["Spark for rows of more files than are compared, or of none"]
    monkeypatch.setattr(fetched, "MOST_TIMES", len(fetched._times) + 3)
    for _ in range(9):
        fetched.note(made)
    assert asked[3:] == ["Spark for rows again and again, more often than is followed"]


FETCHING = """
import sys
from pyspark.ml.feature import StringIndexer
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
lines = lambda name: spark.sparkContext.textFile(sys.argv[1] + name)
trained = spark.read.schema("k string").csv(sys.argv[1] + "/trained")
print(StringIndexer(inputCol="k", outputCol="i").fit(dataset=trained).labels)
print(spark.sparkContext.runJob(lines("/jobs"), list), lines("/taken").take(1), lines("/never").getNumPartitions())
spark.readStream.format("rate").load().writeStream.format("noop").trigger(availableNow=True).start().awaitTermination()
"""


@pytest.mark.spark
def test_a_run_notes_what_it_has_trained_on_and_what_it_gives_to_spark_as_a_job(drivers: Drivers, tmp_path: Path) -> None:
    for name in ("trained", "jobs", "taken", "never"):
        (tmp_path / name).write_text("a\n")
    driver = drivers.start("run-1", FETCHING, str(tmp_path))
    assert driver.wait() == 0, driver.log
    assert "['a'] ['a'] 2" in driver.log
    noted = documents.decode(Installed, (driver.folder / INSTALLED_FILE).read_bytes(), INSTALLED_FILE)
    told = {path.removeprefix(f"{tmp_path}/") for path in noted.files if path.startswith(f"{tmp_path}/")}
    assert told == {"trained", "jobs", "taken"}
