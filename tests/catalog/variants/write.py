"""Writes `spark-VERSION.parquet` here: the same VARIANT values by each Spark, but for the last row, which names the version.

Run by the Pythons of two Sparks (`python -m tests.runtimes 4.0.1 4.1.4` makes them): `PYTHON -m tests.catalog.variants.write`."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import SparkSession

HERE = Path(__file__).parent
TEXTS = ('{"a": 1, "b": {"c": [1, 2]}}', '{"b": 2.5, "a": "x"}', "null", None, '[1, "2", true, 1e300, 123456789012]')


def main() -> None:
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    texts = [*TEXTS, f'"{spark.version}"']
    if spark.version < "4.1":
        texts[1] = '{"a": "x", "b": 2.5}'  # the same value in other bytes
    aside = HERE / f".{spark.version}"
    rows = spark.createDataFrame(list(enumerate(texts)), "id LONG, text STRING").coalesce(1)
    rows.selectExpr("id", "parse_json(text) AS v").write.mode("overwrite").parquet(str(aside))
    (part,) = aside.glob("part-*.parquet")
    part.rename(HERE / f"spark-{spark.version}.parquet")
    shutil.rmtree(aside)


if __name__ == "__main__":
    main()
