"""What a client asks of its queries on a server: each batch's progress is written once, and a failure is told."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from pipelines.domain.ids import QueryName
from pipelines.driver.connect.watching import Watching
from pipelines.driver.records import Records
from pipelines.driver.running import Running
from tests.waiting import until


@dataclass
class Progress:
    batchId: int

    @property
    def json(self) -> str:
        sources = [{"numInputRows": rows, "inputRowsPerSecond": math.nan} for rows in (2, 3)]
        seen = {"values": [7, None], "schema": {"type": "struct", "fields": [{"name": "n"}, {"name": "most"}]}}
        return json.dumps({"batchId": self.batchId, "sources": sources, "observedMetrics": {"seen": seen}})


@dataclass
class Query:
    """A `StreamingQuery` of a Connect client."""

    batches: list[int] = field(default_factory=list)
    isActive: bool = True
    error: Exception | None = None
    asked: Exception | None = None
    whole: int = 0
    id: str = "q"

    @property
    def status(self) -> dict[str, Any]:
        return {"isTriggerActive": False, "isDataAvailable": False, "message": ""}

    @property
    def lastProgress(self) -> Progress | None:
        if self.asked is not None:
            raise self.asked
        return Progress(self.batches[-1]) if self.batches else None

    @property
    def recentProgress(self) -> list[Progress]:
        self.whole += 1
        return [Progress(batch) for batch in self.batches]

    def exception(self) -> Exception | None:
        return self.error


class Followed:
    def __init__(self, folder: Path, query: Query) -> None:
        self.failures = 0
        self.query = query
        self.records = Records(folder, lambda: 1_700_000_000_000)
        self.watching = Watching(self.records, self.failed)
        self.watching.watch(Running(QueryName("q"), query))

    def failed(self) -> None:
        self.failures += 1

    def written(self) -> list[int]:
        path = self.records.folder / "progress.jsonl"
        return [json.loads(line)["batchId"] for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def followed(tmp_path: Path) -> Followed:
    return Followed(tmp_path, Query([0]))


def test_each_batch_is_written_once(followed: Followed) -> None:
    until(lambda: followed.written() == [0])
    followed.query.batches.append(1)
    until(lambda: followed.written() == [0, 1])
    assert followed.query.whole == 0, "one batch more is what the last progress says"
    followed.query.batches += [2, 3, 4]
    until(lambda: followed.written() == [0, 1, 2, 3, 4])
    followed.query.batches.append(5)
    followed.watching.close()
    assert followed.written() == [0, 1, 2, 3, 4, 5] and not followed.failures
    first = json.loads((followed.records.folder / "progress.jsonl").read_text().splitlines()[0])
    assert first["numInputRows"] == 5 and "inputRowsPerSecond" not in first
    assert first["observedMetrics"] == {"seen": {"n": 7, "most": None}}
    assert (followed.records.folder / "idle.jsonl").read_text().count("\n") == 1


def test_a_query_that_has_failed_ends_the_run(followed: Followed) -> None:
    followed.query.error, followed.query.isActive = ValueError("no"), False
    until(lambda: followed.failures == 1)
    followed.watching.close()
    assert followed.failures == 1 and followed.written() == [0]


def test_so_does_a_server_that_is_gone(followed: Followed, capsys: pytest.CaptureFixture[str]) -> None:
    followed.query.asked = PySparkException("the channel is closed\nand more")
    until(lambda: followed.failures == 1)
    followed.watching.close()
    assert "the Connect server could not be asked: the channel is closed\n" in capsys.readouterr().out
