"""Views of each author and how long they took, minute by minute; who wrote a page is asked of an external store while the rows come.

The story: the store is somebody else's, too large and too young to be joined. A task has several requests under way at once, each page's
once a chunk. The store says since when an answer holds, and a row is given that of its own time: a batch that is done again, and a fork,
get the answers that the first one got, whatever the store has learned since.
"""

from __future__ import annotations

import argparse
from bisect import bisect
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pandas as pd
import urllib3
from http_log import TRIES, HttpLog, ask, patient
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

VIEW = "view STRING, at TIMESTAMP, page STRING, reader STRING, seconds DOUBLE"
UNDER_WAY = 8
"""Requests of one task at a time."""
Chunks = Iterator[pd.DataFrame]


def authors(store: str) -> Callable[[Chunks], Chunks]:
    """For mapInPandas: adds `author` to rows with `page` and `micros`."""

    def look_up(chunks: Chunks) -> Chunks:
        client = patient()
        with ThreadPoolExecutor(UNDER_WAY) as pool:
            for views in chunks:
                newest = views.groupby("page")["micros"].max()
                histories = dict(zip(newest.index, pool.map(partial(history, client, store), newest.index, newest), strict=True))
                yield views.assign(author=[then(histories[page], at) for page, at in zip(views["page"], views["micros"], strict=True)])

    return look_up


def history(client: urllib3.PoolManager, store: str, page: str, until: int) -> list[tuple[int, str]]:
    """Who wrote the page since when, of a store that knows that far: a copy that is behind is asked again."""
    for _ in range(TRIES):
        told = ask(client, store, page=page)
        if told["until"] >= until:
            return [(since, author) for since, author in told["authors"]]
    raise ValueError(f"{store} does not know who wrote {page} at {until}, in {TRIES} answers")


def then(history: list[tuple[int, str]], at: int) -> str:
    return history[max(0, bisect(history, at, key=lambda since: since[0]) - 1)][1]


def reading(rows: DataFrame, store: str) -> DataFrame:
    views = rows.select(F.from_json("row", VIEW).alias("it")).select("it.*").where("page IS NOT NULL")
    asked = views.select("page", "at", "seconds", F.unix_micros("at").alias("micros"))
    written = asked.mapInPandas(authors(store), "page STRING, at TIMESTAMP, seconds DOUBLE, micros LONG, author STRING")
    minutes = written.withWatermark("at", "20 seconds").groupBy(F.window("at", "1 minute"), "author")
    figures = (F.count("*").alias("views"), F.round(F.sum("seconds"), 1).alias("seconds"))
    return minutes.agg(*figures).select("window.start", "author", "views", "seconds")


def queries(spark: SparkSession, args: argparse.Namespace) -> list[DataStreamWriter]:
    spark.dataSource.register(HttpLog)
    rows = spark.readStream.format("http_log").option("url", f"{args.partner}/views").option("maxRowsPerBatch", args.rows).load()
    authored = reading(rows, f"{args.partner}/authors")
    return [authored.writeStream.queryName("authored").format("parquet").option("path", f"{args.output}/authored")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partner", required=True, help="URL of the partner's server: the feed and the store")
    parser.add_argument("--output", required=True, help="directory to write to")
    parser.add_argument("--rows", type=int, default=1000, help="of a batch, at most")
    parser.add_argument("--available-now", action="store_true", help="take what is there, then end")
    args = parser.parse_args()
    trigger = {"availableNow": True} if args.available_now else {"processingTime": "1 second"}
    for query in [writer.trigger(**trigger).start() for writer in queries(SparkSession.builder.getOrCreate(), args)]:
        query.awaitTermination()


if __name__ == "__main__":
    main()
