"""Sources of a fork moved to a time, to an end, or to offsets: what is asked is read, and what that skips or reads twice is told."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from pipelines.checkpoint import offsets as offset_log
from pipelines.checkpoint import source_log
from pipelines.domain import delta, iceberg_offsets, kafka
from pipelines.domain.errors import Invalid, NotFound, Unsupported
from pipelines.domain.iceberg_offsets import Position
from pipelines.domain.ids import QueryName
from pipelines.domain.job_places import is_other_s3
from pipelines.domain.json_text import read_json
from pipelines.domain.moments import in_utc, moment_ms
from pipelines.domain.moved_sources import EARLIEST, LATEST, MOST_EXAMPLES, MovedSource
from pipelines.domain.savepoints import Manifest, QueryImage, SourceOffset
from pipelines.savepoint import held_files, held_tables, moved_delta, moved_files, moved_iceberg
from pipelines.savepoint.moved_files import MovedLog
from pipelines.storage.protocol import Storage
from pipelines.verbs.fork import Variant
from pipelines.workspace import holdings
from pipelines.workspace.context import Context
from pipelines.workspace.holdings import kafka as brokers

HINT = "Write latest, earliest, a time (2027-01-15T08:00 or -10m), or of Kafka, Delta and Iceberg the offset as JSON."


@dataclass(frozen=True)
class Move:
    """A source that is moved, and the files of its log where it is one of files."""

    moved: MovedSource
    written: Mapping[str, bytes]


def planned(context: Context, manifest: Manifest, variant: Variant) -> tuple[Move, ...]:
    """The moves that the variant asks for.

    Raises Invalid (`offsets.source`, `offsets.position`, `offsets.future`, `offsets.lock_step`, `time.invalid`), Unsupported
    (`offsets.kind`, `offsets.files`), Unavailable where a broker or a storage does not answer."""
    if not variant.offsets:
        return ()
    if variant.lock_step or variant.until or variant.until_ms is not None:
        raise Invalid(
            "offsets.lock_step", "A variant in lock-step has its leader's offsets: its sources cannot be moved", "Leave one of them out."
        )
    if variant.partitions is not None or variant.store is not None or variant.is_migrated:
        hint = "Fork with the one, then fork that with the other."
        raise Invalid("offsets.rewriting", "State is not rewritten while a source is moved", hint)
    places = _places(manifest)
    return tuple(_move(context, manifest, *_named(places, name), position.strip()) for name, position in variant.offsets.items())


def replaced(context: Context, manifest: Manifest, moves: Sequence[Move]) -> Mapping[QueryName, Mapping[str, bytes]]:
    """Of each query whose sources are moved: path in its checkpoint -> content."""
    return {image.query: written for image in manifest.begun if (written := _written(context, manifest, image, moves))}


def standing(manifest: Manifest, moves: Sequence[Move]) -> Manifest:
    """The savepoint as if sources of Kafka and of tables stood where they go on: what they hold from there on is what counts."""
    after = {(move.moved.query, move.moved.source): move.moved.after for move in moves if source_log.offset_of(move.moved.after) is None}

    def at(image: QueryImage) -> QueryImage:
        return replace(
            image, offsets=tuple(replace(offset, offset=after.get((image.query, offset.source), offset.offset)) for offset in image.offsets)
        )

    return replace(manifest, queries=tuple(map(at, manifest.queries))) if after else manifest


def _places(manifest: Manifest) -> dict[str, tuple[QueryImage, SourceOffset]]:
    """By `QUERY.SOURCE`, and by `SOURCE` alone where one query has it."""
    every = [(image, offset) for image in manifest.begun for offset in image.offsets]
    alone = {offset.source: (image, offset) for image, offset in every if [other.source for _, other in every].count(offset.source) == 1}
    return alone | {f"{image.query}.{offset.source}": (image, offset) for image, offset in every}


def _named(places: Mapping[str, tuple[QueryImage, SourceOffset]], name: str) -> tuple[QueryImage, SourceOffset]:
    if name not in places:
        raise Invalid("offsets.source", f"The savepoint has no source {name!r}", f"It has {', '.join(places) or 'none that has begun'}.")
    return places[name]


def _move(context: Context, manifest: Manifest, image: QueryImage, offset: SourceOffset, position: str) -> Move:
    end = source_log.offset_of(offset.offset)
    if end is not None:
        return _of_files(context, manifest, image, offset, end, position)
    of_kafka = kafka.offsets_of(offset.offset)
    if of_kafka is not None:
        return Move(_of_kafka(context, image, offset, of_kafka, position), {})
    of_iceberg = iceberg_offsets.position_of(offset.offset)
    if of_iceberg is not None:
        return Move(_of_iceberg(context, image, offset, of_iceberg, position), {})
    of_delta = delta.position_of(offset.offset)
    if of_delta is not None:
        return Move(_of_delta(context, image, offset, of_delta, position), {})
    return Move(_as_told(image, offset, position), {})


def _of_files(context: Context, manifest: Manifest, image: QueryImage, offset: SourceOffset, end: int, position: str) -> Move:
    checkpoint = holdings.checkpoint_in(context, manifest.id, image.query)
    others = [entry for other in holdings.others_of(context, manifest, image.query) for entry in held_files.entries(other, offset.source)]
    is_elsewhere = partial(is_other_s3, conf=manifest.version.conf, environment=os.environ)
    log: MovedLog = moved_files.moved(checkpoint, offset.source, end, _time_ms(context, position), others, is_elsewhere)
    after = json.dumps({"logOffset": log.offset}, separators=(",", ":"))
    examples = (*log.skipped, *log.again)[:MOST_EXAMPLES]
    counts = len(log.skipped), len(log.again)
    told = MovedSource(image.query, offset.source, offset.offset, after, *counts, "files", examples, at_most=bool(log.skipped))
    return Move(told, log.written)


def _time_ms(context: Context, position: str) -> float:
    if position in (EARLIEST, LATEST):
        return -math.inf if position == EARLIEST else math.inf
    if position.startswith("{"):
        raise Invalid("offsets.position", f"{position[:80]} is no place in a source of files", HINT)
    try:
        at_ms = moment_ms(position, datetime.fromtimestamp(context.now_ms() / 1000, UTC).astimezone())
    except Invalid as error:
        raise Invalid(error.code, f"{position[:80]!r} is no place that a source can go on from", HINT) from error
    if at_ms > context.now_ms():
        message = f"{in_utc(at_ms)} has not come yet: a source cannot pass over what comes until then"
        raise Invalid("offsets.future", message, "latest passes over all that is there.")
    return at_ms


def _of_kafka(context: Context, image: QueryImage, offset: SourceOffset, before: kafka.Offsets, position: str) -> MovedSource:
    asked = _asked(position) if position.startswith("{") else None
    at_ms = None if asked is not None or position in (EARLIEST, LATEST) else round(_time_ms(context, position))
    topics = brokers.topics(context, image, offset, before, at_ms)
    since = asked if asked is not None else {name: topic.partitions for name, topic in topics.items()}
    places = sorted({(topic, number) for parts_of in (before, since) for topic, parts in parts_of.items() for number in parts})

    def stands(topic: str, number: int) -> int:
        """Where Spark would go on: in a partition that came after the savepoint with its first row."""
        return before.get(topic, {}).get(number, _partition(topics, topic, number).first)

    def to(topic: str, number: int) -> int:
        there = _partition(topics, topic, number)
        if asked is None:
            return {EARLIEST: there.first, LATEST: there.end}.get(position, there.end if there.at is None else there.at)
        at = asked.get(topic, {}).get(number, stands(topic, number))
        if not there.first <= at <= there.end:
            message = f"Partition {number} of {topic} holds offsets {there.first} to {there.end}, not {at}"
            raise Invalid("offsets.position", message, "Give one of these, earliest, latest or a time.")
        return at

    after: dict[str, dict[int, int]] = {}
    for topic, number in places:
        after.setdefault(topic, {})[number] = to(topic, number)
    distances = [at - stands(topic, number) for topic, parts in after.items() for number, at in parts.items()]
    text = json.dumps(after, separators=(",", ":"))
    skipped, again = sum(max(0, rows) for rows in distances), sum(max(0, -rows) for rows in distances)
    return MovedSource(image.query, offset.source, offset.offset, text, skipped, again, "rows")


def _of_iceberg(context: Context, image: QueryImage, offset: SourceOffset, before: Position, position: str) -> MovedSource:
    table = moved_iceberg.table(held_tables.folder(image, offset))
    is_offset = position.startswith("{")
    after = moved_iceberg.asked(table, position) if is_offset else iceberg_offsets.since(table, _time_ms(context, position))
    distance = iceberg_offsets.distance(table, before, after)
    text, (skipped, again) = iceberg_offsets.offset_of(after), distance or (0, 0)
    return MovedSource(image.query, offset.source, offset.offset, text, skipped, again, "files", is_counted=distance is not None)


def _of_delta(context: Context, image: QueryImage, offset: SourceOffset, before: delta.Position, position: str) -> MovedSource:
    table = moved_delta.table(held_tables.folder(image, offset), before)
    is_offset = position.startswith("{")
    after = moved_delta.asked(table, before, position) if is_offset else moved_delta.since(table, before, _time_ms(context, position))
    distance = moved_delta.distance(table, before, after)
    skipped, again = distance or ([], [])
    examples, text = tuple([*skipped, *again][:MOST_EXAMPLES]), delta.offset_of(after)
    counts = len(skipped), len(again)
    return MovedSource(image.query, offset.source, offset.offset, text, *counts, "files", examples, is_counted=distance is not None)


def _as_told(image: QueryImage, offset: SourceOffset, position: str) -> MovedSource:
    """A source whose offsets are its own (a data source in Python, Kinesis): the offset is taken as it is, on one line and spaced as the
    source writes it, and what lies between nobody knows but the source."""
    kind = holdings.kind_of(image, offset) or "of that kind"
    named = f"Source {offset.source} of query {image.query} ({kind})"
    before, after = _object(offset.offset), _object(position)
    if before is None:
        raise Unsupported("offsets.kind", f"{named} cannot be moved", "Files, Kafka, Delta and Iceberg tables can be.")
    if after is None:
        hint = f"It stands at {offset.offset}: give another one like that."
        raise Invalid("offsets.position", f"{named} can be moved only to an offset of its own, as JSON: not to {position[:80]}", hint)
    text = json.dumps(after, separators=None if json.dumps(before) == offset.offset else (",", ":"))
    return MovedSource(image.query, offset.source, offset.offset, text, 0, 0, "rows", is_counted=False)


def _object(text: str) -> Mapping[str, object] | None:
    """A JSON object; None for any other text."""
    try:
        raw = read_json(text)
    except ValueError:
        return None
    return raw if isinstance(raw, dict) else None


def _partition(topics: Mapping[str, kafka.Topic], topic: str, number: int) -> kafka.Partition:
    if topic not in topics or number not in topics[topic].partitions:
        hint = "Name partitions that are there; if one is lost that the savepoint has read, begin the script anew."
        raise Invalid("offsets.position", f"Kafka has no partition {number} of {topic}", hint)
    return topics[topic].partitions[number]


def _asked(position: str) -> kafka.Offsets:
    asked = kafka.offsets_of(position)
    if asked is None:
        raise Invalid("offsets.position", f"{position[:80]} is no offset of Kafka", 'Write {"topic":{"0":17}}; what is not named stays.')
    return asked


def _written(context: Context, manifest: Manifest, image: QueryImage, moves: Sequence[Move]) -> Mapping[str, bytes]:
    own = [move for move in moves if move.moved.query == image.query]
    if not own:
        return {}
    path = offset_log.path(image.batch)
    checkpoint = holdings.checkpoint_in(context, manifest.id, image.query)
    anew = offset_log.with_offsets(checkpoint.read(path), {move.moved.source: move.moved.after for move in own})
    begun = _where_it_began(checkpoint, image, {move.moved.source: move.moved.after for move in own if delta.position_of(move.moved.after)})
    return {path: anew, **begun, **{name: data for move in own for name, data in move.written.items()}}


def _where_it_began(checkpoint: Storage, image: QueryImage, after: Mapping[str, str]) -> Mapping[str, bytes]:
    """The entry before the last one, with Delta sources where they go on: Spark plans their last batch once more, and that is empty."""
    path = offset_log.path(image.batch - 1)
    if not after or image.batch == 0:
        return {}
    try:
        return {path: offset_log.with_offsets(checkpoint.read(path), after)}
    except NotFound:
        return {}
