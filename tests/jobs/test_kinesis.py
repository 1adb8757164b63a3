"""The source of Kinesis against moto's server: every record once, parents before their children, and no gap without a word."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pipelines.domain import reported
from tests.jobs import kinesis_server
from tests.jobs.kinesis_server import Kinesis
from tests.jobs.loading import script

SOURCE = script("kinesis")
ALL = SOURCE["ReadLimit"]()
FIRST, SECOND, THIRD, FOURTH = (f"shardId-{number:012d}" for number in range(4))
Batch = dict[str, list[str]]


@pytest.fixture
def kinesis() -> Iterator[Kinesis]:
    with kinesis_server.serving(2) as served:
        yield served


def batches(source: Any, start: Any, limit: Any = ALL) -> Iterator[tuple[Batch, Any]]:
    """What each batch reads of each shard, and its end, until nothing is left."""
    while (end := source.latestOffset(start, limit)) != start:
        assert source.partitions(end, end) == []
        yield {part.shard: [row[1] for row in source.read(part)] for part in source.partitions(start, end)}, end
        start = end


def test_each_record_of_each_shard_is_read_once_and_again(kinesis: Kinesis) -> None:
    kinesis.feed(0, 3)
    source = kinesis.reader()
    start = source.initialOffset()
    read = list(batches(source, start, SOURCE["ReadMaxRows"](40)))
    assert len(read) > 3 and all(len(numbers) <= 20 for batch, _ in read for numbers in batch.values())
    whole = {shard: [number for batch, _ in read for number in batch.get(shard, [])] for shard in (FIRST, SECOND)}
    assert whole == {shard: kinesis.rows(shard) for shard in whole}
    again = kinesis.reader()
    assert [batch for batch, _ in batches(again, start, SOURCE["ReadMaxRows"](40))] == [batch for batch, _ in read]
    (_, _, key, at, data), *_ = again.read(again.partitions(start, read[0][1])[0])
    assert key.startswith("reader-") and at.tzinfo is not None and '"view"' in data


def test_shards_that_are_split_and_merged_are_read_before_those_that_come_of_them(kinesis: Kinesis) -> None:
    kinesis.feed(0, 1)
    source = kinesis.reader()
    start = source.initialOffset()
    kinesis.split(FIRST)
    kinesis.feed(1, 2)
    read = [batch for batch, _ in batches(source, start)]
    assert set(read[0]) == {FIRST, SECOND} and set(read[1]) & {THIRD, FOURTH}
    there = {shard: rows for shard in (FIRST, SECOND, THIRD, FOURTH) if (rows := kinesis.rows(shard))}
    assert {shard: numbers for batch in read for shard, numbers in batch.items()} == there
    *_, (_, end) = batches(kinesis.reader(), start)
    assert [shard for shard, place in end.items() if place["ended"]] == [FIRST]
    kinesis.merge(THIRD, FOURTH)
    kinesis.feed(2, 3)
    (last, _), *_ = [(batch, end) for batch, end in batches(source, end) if set(batch) - {SECOND}]
    (merged,) = set(last) - {SECOND}
    assert last[merged] == kinesis.rows(merged) != []


def test_what_came_later_is_left_for_the_next_time(kinesis: Kinesis) -> None:
    kinesis.feed(0, 1)
    source = kinesis.reader()
    source.prepareForTriggerAvailableNow()
    kinesis.feed(1, 2)
    read = sum(len(numbers) for batch, _ in batches(source, source.initialOffset()) for numbers in batch.values())
    there = sum(len(kinesis.rows(shard)) for shard in (FIRST, SECOND))
    assert 0 < read < there


def test_no_gap_is_passed_over(kinesis: Kinesis) -> None:
    kinesis.feed(0, 1)
    source = kinesis.reader()
    start = source.initialOffset()
    half, whole = source.latestOffset(start, SOURCE["ReadMaxRows"](20)), source.latestOffset(start, ALL)
    told = source.reportLatestOffset()
    assert told == {"keeps_ms": 24 * 3_600_000}
    until_ms = reported.until_ms(json.dumps(half), json.dumps(told))
    assert until_ms == min(place["at_ms"] for place in half.values()) + told["keeps_ms"]
    kinesis.age(23)
    kinesis.feed(1, 2)
    assert source.latestOffset(half, ALL)[FIRST]["rows"] > half[FIRST]["rows"]
    kinesis.age(2)
    part = source.partitions(half, whole)[0]
    with pytest.raises(ValueError, match=rf"{FIRST}: of {part.rows} records after '{half[FIRST]['after']}' some are gone"):
        list(source.read(part))
    old = {shard: place | {"at_ms": place["at_ms"] - 25 * 3_600_000} for shard, place in half.items()}
    with pytest.raises(ValueError, match=rf"{FIRST}: what came after record 10, .* may be gone: the stream keeps records for 24 hours"):
        kinesis.reader().latestOffset(old, ALL)
    with pytest.raises(ValueError, match=r"has no shardId-x any more, of which 3 records were read, and not all"):
        source.latestOffset({"shardId-x": {"after": "3", "rows": 3, "ended": False, "at_ms": 0}}, ALL)


def test_a_shard_that_was_quiet_for_long_goes_on(kinesis: Kinesis) -> None:
    kinesis.feed(0, 1)
    source = kinesis.reader()
    end = source.latestOffset(source.initialOffset(), ALL)
    quiet = {shard: place | {"at_ms": place["at_ms"] - 25 * 3_600_000} for shard, place in end.items()}
    kinesis.age(25)
    assert source.latestOffset(quiet, ALL) == quiet, "this reader has seen that there was nothing more"
    with pytest.raises(ValueError, match="may be gone"):
        kinesis.reader().latestOffset(quiet, ALL)
