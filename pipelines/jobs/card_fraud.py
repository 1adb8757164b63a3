"""Cards that are tried with a small sum and used for a large one within a minute.

The story: a sequence with a time limit, which is what complex event processing looks for. State holds, of each card, when it was tried
last; a later payment either completes the sequence, or comes too late."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StatefulProcessor

PAYMENTS = "card STRING, at TIMESTAMP, amount DOUBLE"
ALARMS = "card STRING, after_s DOUBLE, used TIMESTAMP, amount DOUBLE"
SMALL, LARGE, LIMIT_S = 1.0, 500.0, 60
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class SmallThenLarge(StatefulProcessor):
    """Keeps when a card was tried, until it is used, or tried again."""

    def init(self, handle: Any) -> None:
        self.tried = handle.getValueState("tried", "ms LONG")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timers: Any) -> Iterator[Row]:
        for row in sorted(rows, key=lambda row: row.at):
            if row.amount <= SMALL:
                self.tried.update((ms(row.at),))
            elif row.amount >= LARGE and self.tried.exists():
                tried = self.tried.get()[0]
                self.tried.clear()
                if ms(row.at) - tried <= LIMIT_S * 1000:
                    yield Row(card=key[0], after_s=(ms(row.at) - tried) / 1000, used=row.at, amount=row.amount)

    def close(self) -> None:
        pass


def ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def alarms(payments: DataFrame) -> DataFrame:
    return payments.groupBy("card").transformWithState(SmallThenLarge(), ALARMS, "append", "none")


def queries(spark: SparkSession, args: argparse.Namespace) -> list[DataStreamWriter]:
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)  # transformWithState keeps its state there alone
    payments = spark.readStream.schema(PAYMENTS).option("maxFilesPerTrigger", 1).json(args.payments)
    return [alarms(payments).writeStream.queryName("alarms").format("parquet").option("path", f"{args.output}/alarms")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--payments", required=True, help="directory of JSON files: payments")
    parser.add_argument("--output", required=True, help="directory to write to")
    parser.add_argument("--available-now", action="store_true", help="take what is there, then end")
    args = parser.parse_args()
    trigger = {"availableNow": True} if args.available_now else {"processingTime": "1 second"}
    for query in [writer.trigger(**trigger).start() for writer in queries(SparkSession.builder.getOrCreate(), args)]:
        query.awaitTermination()


if __name__ == "__main__":
    main()
