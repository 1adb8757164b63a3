"""Readings that are unlike what their sensor reported lately: a model that is scored as it learns, and forgets.

The story: mean and variance of each sensor are its model, kept by Welford's method. A reading is scored by the model as it was before
it, then the model learns it. There is no training apart from the stream, so a fork goes on with what was learned."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StatefulProcessor

READINGS = "sensor STRING, at TIMESTAMP, celsius DOUBLE"
SCORES = "sensor STRING, at TIMESTAMP, celsius DOUBLE, score DOUBLE"
ENOUGH, FAR = 10, 4.0
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class MeanAndVariance(StatefulProcessor):
    """Puts out readings more than `FAR` standard deviations from the mean, once the model has seen `ENOUGH`."""

    def init(self, handle: Any) -> None:
        self.model = handle.getValueState("model", "readings LONG, mean DOUBLE, squares DOUBLE")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timers: Any) -> Iterator[Row]:
        readings, mean, squares = self.model.get() if self.model.exists() else (0, 0.0, 0.0)
        for row in sorted(rows, key=lambda row: row.at):
            off = row.celsius - mean
            if readings >= ENOUGH and abs(off) > FAR * math.sqrt(squares / (readings - 1)):
                yield Row(sensor=key[0], at=row.at, celsius=row.celsius, score=off / math.sqrt(squares / (readings - 1)))
            readings = min(readings + 1, 50)
            squares *= 0.98
            mean += off / readings
            squares += off * (row.celsius - mean)
        self.model.update((readings, mean, squares))

    def close(self) -> None:
        pass


def scores(readings: DataFrame) -> DataFrame:
    return readings.groupBy("sensor").transformWithState(MeanAndVariance(), SCORES, "append", "none")


def queries(spark: SparkSession, args: argparse.Namespace) -> list[DataStreamWriter]:
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)  # transformWithState keeps its state there alone
    readings = spark.readStream.schema(READINGS).option("maxFilesPerTrigger", 1).json(args.readings)
    return [scores(readings).writeStream.queryName("scores").format("parquet").option("path", f"{args.output}/scores")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readings", required=True, help="directory of JSON files: readings")
    parser.add_argument("--output", required=True, help="directory to write to")
    parser.add_argument("--available-now", action="store_true", help="take what is there, then end")
    args = parser.parse_args()
    trigger = {"availableNow": True} if args.available_now else {"processingTime": "1 second"}
    for query in [writer.trigger(**trigger).start() for writer in queries(SparkSession.builder.getOrCreate(), args)]:
        query.awaitTermination()


if __name__ == "__main__":
    main()
