"""A source that takes its files away is told to a run that begins from a savepoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.driver import inputs
from tests.driver.process import Drivers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_it_is_found_however_it_was_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    reader = spark.readStream.schema("x INT")
    a = reader.option("cleanSource", "DELETE").json(f"{tmp_path}/a")
    archived = {"CLEANSOURCE": "archive", "sourceArchiveDir": f"{tmp_path}/away"}
    b = spark.readStream.schema("x INT").format("parquet").load(f"{tmp_path}/b", **archived)
    c = spark.readStream.schema("x INT").option("cleanSource", "off").csv(f"{tmp_path}/c")
    rate = spark.readStream.format("rate").load().selectExpr("cast(value as int) x")
    a.createOrReplaceTempView("a")
    frame = spark.table("a").where("x > 1").union(b).union(c).union(rate)
    assert list(inputs.cleaned(frame)) == [(f"{tmp_path}/a", "delete"), (f"{tmp_path}/b", "archive")]


CLEANING = """
import sys
from pyspark.sql import SparkSession

rows = SparkSession.builder.getOrCreate().readStream.schema("x INT").option("cleanSource", "delete").json(sys.argv[1])
rows.writeStream.queryName("q").format("noop").trigger(availableNow=True).start().awaitTermination()
"""


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_a_run_from_a_savepoint_is_warned(drivers: Drivers) -> None:
    (drivers.folder / "in").mkdir()
    driver = drivers.start("run-1", CLEANING, str(drivers.folder / "in"), told={"from_savepoint": "sp-1"})
    assert driver.wait() == 0, driver.log
    (event,) = driver.events
    assert (event["kind"], event["query"]) == ("source.cleans", "q")
    assert f"{drivers.folder}/in" in event["message"] and "cleanSource=delete" in event["message"]
