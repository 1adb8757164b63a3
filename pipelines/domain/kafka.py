"""Kafka: what a broker still holds of what comes after a savepoint's offsets, and which topic a fork has for itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipelines.domain.json_text import read_json, whole

KAFKA = "kafka"
"""Spark's name of the source and of the sink."""
TOPIC = "topic"
"""The sink's option. Without it each row names its topic, in the column of that name."""
BY_ROW = "*"
"""In place of a topic: each row names its own."""
LONGEST = 249
"""Characters of a topic's name, each of them a letter, a digit, `.`, `_` or `-` (Kafka's `Topic.validate`)."""
Offsets = Mapping[str, Mapping[int, int]]
"""Topic -> partition -> the offset that is read next."""


@dataclass(frozen=True)
class Partition:
    """What a broker has of a partition: offsets from `first` to before `end`. `next_ms` is when the row was written that is read next
    (epoch ms); None where there is none, or nobody asked."""

    first: int
    end: int
    next_ms: int | None = None
    at: int | None = None
    """The first offset at or after the time that was asked for; None where there is none, or nobody asked."""


@dataclass(frozen=True)
class Topic:
    """A topic at its broker. A row goes `retention_ms` after it was written at the earliest; None where rows never go for their age."""

    partitions: Mapping[int, Partition]
    retention_ms: int | None = None
    limits: tuple[str, ...] = ()
    """The topic's confs by which rows go besides their age (`retention.bytes`, `cleanup.policy`)."""


@dataclass(frozen=True)
class Gap:
    """What is gone of a topic, in words; `rows` is how many offsets, 0 where that is not known."""

    words: str
    rows: int = 0


def own_topic(topic: str, job: str) -> str:
    """The topic that a fork writes to in place of its parent's: `clicks.b`."""
    tail = own_tail(job)
    return topic[: LONGEST - len(tail)] + tail


def own_tail(job: str) -> str:
    """What is behind the name of each topic of a fork."""
    return "." + re.sub(r"[^A-Za-z0-9._-]", "-", job)


def taken_topics(topic: str, job: str) -> tuple[str, ...]:
    """What a fork of `job`, which writes to `topic`, must not write to: that, and what the script says where `job` is a fork itself; any
    (`BY_ROW`) where each row names its topic, or nobody knows it."""
    if topic in ("", BY_ROW):
        return (BY_ROW,)
    script_topic = topic.removesuffix(own_topic("", job))
    return (topic, script_topic) if script_topic not in ("", topic) else (topic,)


def offsets_of(offset: str) -> Offsets | None:
    """Spark's JSON of a Kafka offset (`{"clicks":{"0":17}}`, KafkaSourceOffset) as numbers; None for any other."""
    try:
        read = read_json(offset)
        if not isinstance(read, dict) or not read:
            return None
        return {topic: {int(partition): whole(at) for partition, at in parts.items()} for topic, parts in read.items()}
    except (ValueError, AttributeError):
        return None


def gaps(offsets: Offsets, seen: Mapping[str, Topic]) -> Iterator[Gap]:
    """What of the rows after `offsets` the broker has no more; a partition that came later is read from its offset 0."""
    for name in sorted(offsets):
        topic = seen.get(name)
        if topic is None:
            yield Gap(f"topic {name} is gone")
            continue
        for number in sorted(offsets[name].keys() | topic.partitions.keys()):
            yield from _gap(f"topic {name}, partition {number}", offsets[name].get(number, 0), topic.partitions.get(number))


def _gap(place: str, at: int, partition: Partition | None) -> Iterator[Gap]:
    if partition is None:
        yield Gap(f"{place} is gone")
    elif partition.first > at:
        yield Gap(f"{place}: offsets {at} to {partition.first - 1} are gone, it begins at {partition.first}", partition.first - at)
    elif partition.end < at:
        yield Gap(f"{place} ends at offset {partition.end}, before {at}: the topic was made anew")


def until_ms(seen: Mapping[str, Topic]) -> int | None:
    """When the first row that is still to be read may go for its age; None where none does."""
    ends = (
        part.next_ms + topic.retention_ms
        for topic in seen.values()
        if topic.retention_ms is not None
        for part in topic.partitions.values()
        if part.next_ms is not None
    )
    return min(ends, default=None)
