"""Which sensors have not been heard of for five seconds.

The story: what does not come is what matters. Each reading sets the sensor's timer anew; a timer that the watermark passes is a
message. Nothing is put out for a sensor that goes on reporting."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StatefulProcessor

READINGS = "sensor STRING, at TIMESTAMP, celsius DOUBLE"
SILENCES = "sensor STRING, last TIMESTAMP, noticed TIMESTAMP"
PATIENCE_S = 5
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class Watch(StatefulProcessor):
    """Keeps the newest reading's time, and one timer for it."""

    def init(self, handle: Any) -> None:
        self.handle = handle
        self.last = handle.getValueState("last", "ms LONG")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        newest = max(int(row.at.timestamp() * 1000) for row in rows)
        if self.last.exists():
            newest = max(newest, self.last.get()[0])
        for timer in list(self.handle.listTimers()):
            self.handle.deleteTimer(timer)
        self.last.update((newest,))
        self.handle.registerTimer(newest + PATIENCE_S * 1000)
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        yield Row(sensor=key[0], last=moment(self.last.get()[0]), noticed=moment(expiredTimerInfo.getExpiryTimeInMs()))
        self.last.clear()

    def close(self) -> None:
        pass


def moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, timezone.utc)


def silences(readings: DataFrame) -> DataFrame:
    timed = readings.withWatermark("at", "1 second")
    return timed.groupBy("sensor").transformWithState(Watch(), SILENCES, "append", "eventTime")


def queries(spark: SparkSession, args: argparse.Namespace) -> list[DataStreamWriter]:
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)  # transformWithState keeps its state there alone
    readings = spark.readStream.schema(READINGS).option("maxFilesPerTrigger", 1).json(args.readings)
    return [silences(readings).writeStream.queryName("silences").format("parquet").option("path", f"{args.output}/silences")]


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
