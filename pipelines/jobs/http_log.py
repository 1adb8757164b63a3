"""A log over HTTP as a source that can be read again: copy this file beside a job (PySpark 4.2 or newer, urllib3 in its requirements).

    spark.dataSource.register(HttpLog)
    rows = spark.readStream.format("http_log").option("url", "https://…/views").load()

The server numbers its rows. `GET url?from=N&limit=M` answers `{"first": F, "end": E, "rows": [{"n": N, …}, …]}`: it holds the rows F to
before E. Savepoints, forks and rewinds are exact because a source promises this, and each promise is kept where its number stands below:
(1) an offset is a place in what can be read again, never a page, a token or a time; (2) `latestOffset` never goes back, and what it names
can be read; (3) partitions follow from start, end and options alone; (4) a partition gives each row of its range once, in order, or
fails; (5) `commit` deletes nothing: a savepoint may need it; (6) with availableNow nothing is read that came later; (7) in `holds` the
source says the oldest offset that can be read on from: Tidemark then says of each savepoint whether it can be used.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, MutableMapping
from typing import Any

import urllib3
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

TRIES, STATUSES = 10, (429, 500, 502, 503, 504)
"""How often in a row an answer may be of no use; what a server answers that should be asked again, after `Retry-After` if it says so."""
Offset = dict[str, Any]


class HttpLog(DataSource):
    """Options: `url`; `maxRowsPerBatch` (10000), `rowsPerPartition` (1000), `timeout` in seconds (10), of one answer."""

    @classmethod
    def name(cls) -> str:
        return "http_log"

    def schema(self) -> str:
        return "n BIGINT, row STRING"

    def streamReader(self, schema: StructType) -> HttpLogReader:
        return HttpLogReader(self.options)


class Rows(InputPartition):
    def __init__(self, first: int, end: int) -> None:
        self.first, self.end = first, end


class HttpLogReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        self.url, self.timeout = options["url"], float(options.get("timeout", "10"))
        self.most, self.part = int(options.get("maxRowsPerBatch", "10000")), int(options.get("rowsPerPartition", "1000"))
        self.until: int | None = None

    def initialOffset(self) -> Offset:
        return {"next": self.ends()["first"]}  # 1

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self.most)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        end = self.ends()["end"]
        end = end if self.until is None else min(end, self.until)  # 6
        end = min(end, start["next"] + limit.max_rows) if isinstance(limit, ReadMaxRows) else end
        return {"next": max(start["next"], end)}  # 2

    def prepareForTriggerAvailableNow(self) -> None:
        self.until = self.ends()["end"]

    def reportLatestOffset(self) -> Offset:
        told = self.ends()
        return {"next": told["end"], "holds": {"next": told["first"]}}  # 7

    def partitions(self, start: Offset, end: Offset) -> list[Rows]:
        return [Rows(at, min(at + self.part, end["next"])) for at in range(start["next"], end["next"], self.part)]  # 3

    def read(self, partition: Rows) -> Iterator[tuple[int, str]]:  # type: ignore[override]
        """(4) Whatever an answer has twice, of other rows, or not yet: each row by its number."""
        client, at, useless = patient(self.timeout), partition.first, 0
        while at < partition.end:
            told = ask(client, self.url, **{"from": at, "limit": partition.end - at})
            if told["first"] > at:
                raise ValueError(f"{self.url} has lost rows {at} to {told['first'] - 1}: it begins at {told['first']}")
            came, before = {row["n"]: row for row in told["rows"]}, at
            while at in came and at < partition.end:
                yield at, json.dumps(came[at])
                at += 1
            useless = 0 if at > before else useless + 1
            if useless == TRIES:
                raise ValueError(f"{self.url} has not given row {at} in {TRIES} answers")

    def commit(self, end: Offset) -> None:
        """(5) Nothing: what the log no longer holds is its owner's decision."""

    def ends(self) -> Any:
        """The first row that the log holds, and the end."""
        return ask(patient(self.timeout), self.url, limit=0)


def patient(timeout_s: float = 10) -> urllib3.PoolManager:
    """A client with the retries of a library: of a connection, a body that is cut off, and a status of `STATUSES`."""
    retries = urllib3.Retry(TRIES, backoff_factor=0.1, backoff_max=10, status_forcelist=STATUSES)
    return urllib3.PoolManager(maxsize=10, timeout=timeout_s, retries=retries)


def ask(client: urllib3.PoolManager, url: str, **fields: str | int) -> Any:
    """One whole answer; a body that ends too early is no JSON where no length tells. ValueError for any other answer than 200."""
    for _ in range(TRIES):
        answer = client.request("GET", url, fields={name: str(value) for name, value in fields.items()})
        if answer.status != 200:
            raise ValueError(f"{url} answers {answer.status}: {answer.data[:200]!r}")
        try:
            return json.loads(answer.data)
        except ValueError:
            continue
    raise ValueError(f"{url} has not given a whole answer in {TRIES}")


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # Python workers need not find this file
