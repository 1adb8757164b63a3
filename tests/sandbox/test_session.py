"""The Spark that tests share works, and is quiet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_the_shared_spark_counts(spark: SparkSession) -> None:
    assert spark.range(10).groupBy().count().collect()[0][0] == 10
