"""A Kinesis stream as a source that can be read again: copy this file beside a job (PySpark 4.2 or newer, botocore in its requirements).

    spark.dataSource.register(Kinesis)
    rows = spark.readStream.format("kinesis_records").option("stream", "views").load()

`http_log.py` says what a source promises; here it is kept so: (1) the offset has of each shard the sequence number of the last record
that was read, and how many were read; (2) `latestOffset` reads on from there, and names records that it has seen; (3) a part is what lies
between two offsets of one shard; (4) it ends with the right record, as the right one in number, or fails: Kinesis drops what is older
than it keeps, without a word; (6) with availableNow records that arrived later wait for the next time. (7) Nobody can say what is the
oldest number that can be read on from; the source says how long records are kept, and refuses to go on where some may be gone. Shards
that are split or merged are read to their end before those that come of them begin: the records of a key keep their order.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, MutableMapping
from datetime import UTC, datetime, timedelta
from typing import Any

import botocore.session
from botocore.config import Config
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

MOST, LEAST_KEPT = 10_000, timedelta(hours=24)
"""Records in an answer, at most, and how long a stream keeps them, at least: both are Kinesis's own."""
ANYBODY = ("anonymous", "anonymous")
Place = dict[str, Any]
Offset = dict[str, Place]
BEGINNING: Place = {"after": "", "rows": 0, "ended": False, "at_ms": 0}
"""Of a shard: the sequence number of the last record read, how many were read, whether that was all, and when the last one arrived."""


class Kinesis(DataSource):
    """Options: `stream`; `endpoint`, `region` and credentials are AWS's usual ones, but for an endpoint and a region that are given;
    `anonymous` for one that looks at no credentials; `maxRowsPerBatch` (10000), over all shards."""

    @classmethod
    def name(cls) -> str:
        return "kinesis_records"

    def schema(self) -> str:
        return "shard STRING, number STRING, key STRING, at TIMESTAMP, data STRING"

    def streamReader(self, schema: StructType) -> KinesisReader:
        return KinesisReader(self.options)


class Records(InputPartition):
    """The `rows` records of a shard that come after the one with the number `after`, up to the one with the number `last`."""

    def __init__(self, shard: str, after: str, last: str, rows: int) -> None:
        self.shard, self.after, self.last, self.rows = shard, after, last, rows


class KinesisReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        self.stream, self.most = options["stream"], int(options.get("maxRowsPerBatch", str(MOST)))
        self.place = {"endpoint_url": options.get("endpoint"), "region_name": options.get("region")}
        self.is_anonymous = options.get("anonymous", "false").lower() == "true"
        self.until: datetime | None = None
        self.drained: dict[str, datetime] = {}
        """When a shard had nothing more to read."""

    def initialOffset(self) -> Offset:
        there = self.shards(self.client())
        return {name: dict(BEGINNING) for name in there if begins(name, {}, there)}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self.most)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        client = self.client()
        there = self.shards(client)
        begun = {name: dict(BEGINNING) for name in there if name not in start and begins(name, start, there)}
        places = {name: place for name, place in sorted({**start, **begun}.items()) if name in there or not place["ended"]}
        to_read = [name for name, place in places.items() if not place["ended"]]
        most = max(1, limit.max_rows // max(1, len(to_read))) if isinstance(limit, ReadMaxRows) else sys.maxsize
        return {**places, **{name: self.read_on(client, name, places[name], there.get(name), most) for name in to_read}}  # 2

    def reportLatestOffset(self) -> dict[str, Any]:
        return {"keeps_ms": self.retention(self.client()) // timedelta(milliseconds=1)}  # 7

    def prepareForTriggerAvailableNow(self) -> None:
        self.until = datetime.now(UTC)

    def partitions(self, start: Offset, end: Offset) -> list[Records]:
        ends = [(name, start.get(name, BEGINNING), place) for name, place in sorted(end.items())]
        parts = (Records(name, at["after"], to["after"], to["rows"] - at["rows"]) for name, at, to in ends)  # 3
        return [part for part in parts if part.rows]

    def read(self, partition: Records) -> Iterator[tuple[Any, ...]]:  # type: ignore[override]
        rows, last = 0, partition.after
        for record, _ in self.records(self.client(), partition.shard, partition.after):
            if record is None or rows == partition.rows:
                break
            rows, last = rows + 1, record["SequenceNumber"]
            yield partition.shard, last, record["PartitionKey"], arrival(record), record["Data"].decode()
        if (rows, last) != (partition.rows, partition.last):  # 4
            raise ValueError(f"{self.stream}, {partition.shard}: of {partition.rows} records after {partition.after!r} some are gone")

    def commit(self, end: Offset) -> None:
        """(5) Nothing: Kinesis keeps records by their age."""

    def read_on(self, client: Any, shard: str, place: Place, seen: Any, most: int) -> Place:
        """Where the shard has been read to once at most `most` more of its records were."""
        self.refuse_gap(client, shard, place, seen)
        new, asked = dict(place), datetime.now(UTC)
        for record, is_end in self.records(client, shard, place["after"]):
            if record is None:
                self.drained[shard] = asked
                return {**new, "ended": is_end or "EndingSequenceNumber" in seen["SequenceNumberRange"]}
            if new["rows"] - place["rows"] == most or (self.until and arrival(record) > self.until):  # 6
                break
            at_ms = int(arrival(record).timestamp() * 1000)
            new = {**new, "after": record["SequenceNumber"], "rows": new["rows"] + 1, "at_ms": at_ms}
        return new

    def refuse_gap(self, client: Any, shard: str, place: Place, seen: Any) -> None:
        """ValueError where records after `place` may be gone: the last one read is older than what the stream keeps, and gone itself."""
        if seen is None:
            raise ValueError(f"{self.stream} has no {shard} any more, of which {place['rows']} records were read, and not all")
        last = max(datetime.fromtimestamp(place["at_ms"] / 1000, UTC), self.drained.get(shard, datetime.min.replace(tzinfo=UTC)))
        if not place["after"] or datetime.now(UTC) - last < LEAST_KEPT:
            return
        kept = self.retention(client)
        first, _ = next(self.records(client, shard, place["after"], "AT_SEQUENCE_NUMBER"))
        if datetime.now(UTC) - last > kept and (first is None or first["SequenceNumber"] != place["after"]):
            gap = f"what came after record {place['after']}, of {last:%Y-%m-%d %H:%M} UTC, may be gone"
            raise ValueError(f"{self.stream}, {shard}: {gap}: the stream keeps records for {kept // timedelta(hours=1)} hours")

    def records(self, client: Any, shard: str, after: str, kind: str = "AFTER_SEQUENCE_NUMBER") -> Iterator[tuple[Any, bool]]:
        """The records, then None: all that there are now. Beside that None, whether the shard has ended."""
        place = {"ShardIteratorType": kind, "StartingSequenceNumber": after} if after else {"ShardIteratorType": "TRIM_HORIZON"}
        at = client.get_shard_iterator(StreamName=self.stream, ShardId=shard, **place)["ShardIterator"]
        while at:
            answer = client.get_records(ShardIterator=at, Limit=MOST)
            yield from ((record, False) for record in answer["Records"])
            at = answer.get("NextShardIterator")
            if not answer["Records"] and not answer["MillisBehindLatest"]:
                break
        yield None, not at

    def retention(self, client: Any) -> timedelta:
        told = client.describe_stream_summary(StreamName=self.stream)["StreamDescriptionSummary"]
        return timedelta(hours=told["RetentionPeriodHours"])

    def shards(self, client: Any) -> dict[str, Any]:
        """Those that have records, by name: also closed ones, until their last record is too old."""
        pages = client.get_paginator("list_shards").paginate(StreamName=self.stream)
        return {shard["ShardId"]: shard for page in pages for shard in page["Shards"]}

    def client(self) -> Any:
        """With the retries of AWS's own library: throttling, errors of the server, broken connections."""
        config = Config(retries={"mode": "standard", "total_max_attempts": 8})
        session = botocore.session.get_session()
        if self.is_anonymous:
            session.set_credentials(*ANYBODY)
        return session.create_client("kinesis", config=config, **self.place)


def begins(name: str, start: Offset, there: Mapping[str, Any]) -> bool:
    """Whether a new shard may be read: those that it came from are read to their end, or gone long ago."""
    parents = [there[name][key] for key in ("ParentShardId", "AdjacentParentShardId") if key in there[name]]
    return all(start[parent]["ended"] if parent in start else parent not in there for parent in parents)


def arrival(record: Any) -> datetime:
    return record["ApproximateArrivalTimestamp"].astimezone(UTC)


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # Python workers need not find this file
