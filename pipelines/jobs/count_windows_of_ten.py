"""The mean of each ten readings of a sensor: a window that counts rows, not seconds.

The story: a sensor reports when it can, so a mean over time would sometimes stand on one reading. Spark has no such window:
`transformWithState` keeps the readings that are not five yet."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StatefulProcessor

READINGS = "sensor STRING, at TIMESTAMP, celsius DOUBLE"
MEANS = "sensor STRING, last TIMESTAMP, mean DOUBLE"
SIZE = 10
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class CountWindow(StatefulProcessor):
    """Puts out a mean where a sensor's readings are `SIZE`, and begins the next window."""

    def init(self, handle: Any) -> None:
        self.waiting = handle.getListState("waiting", "celsius DOUBLE")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timers: Any) -> Iterator[Row]:
        waiting = [celsius for (celsius,) in self.waiting.get()] if self.waiting.exists() else []
        for row in sorted(rows, key=lambda row: row.at):
            waiting.append(row.celsius)
            if len(waiting) == SIZE:
                yield Row(sensor=key[0], last=row.at, mean=sum(waiting) / SIZE)
                waiting.clear()
        self.waiting.clear()
        if waiting:
            self.waiting.put([(celsius,) for celsius in waiting])

    def close(self) -> None:
        pass


def means(readings: DataFrame) -> DataFrame:
    return readings.groupBy("sensor").transformWithState(CountWindow(), MEANS, "append", "none")


def queries(spark: SparkSession, args: argparse.Namespace) -> list[DataStreamWriter]:
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)  # transformWithState keeps its state there alone
    readings = spark.readStream.schema(READINGS).option("maxFilesPerTrigger", 1).json(args.readings)
    return [means(readings).writeStream.queryName("means").format("parquet").option("path", f"{args.output}/means")]


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
