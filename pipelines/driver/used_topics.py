"""Refuses to add a new fork's rows to those of a former job with its name: a topic of its own is there, and has rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pipelines.domain import kafka
from pipelines.domain.errors import Conflict, Unavailable
from pipelines.domain.kafka_sign_ins import PREFIX
from pipelines.domain.run_specs import RunSpec
from pipelines.driver import connected_topics
from pipelines.driver.records import Records

PATIENCE_MS = 10_000
SERVERS = "kafka.bootstrap.servers"
_SEEN: set[tuple[str, str]] = set()
"""Topics of its own that were looked at in this run, with their servers: rows that come now are the fork's. `BY_ROW` for all of them."""


def refuse(spec: RunSpec, records: Records, query: str, writer: Any, options: Mapping[str, str], own: str) -> None:
    """Raises Conflict (`sink.taken`) where the first run of a fork would write to the topic `own`, or without one to any that each row
    names, which has rows. The broker is asked by Kafka's own client, with what the writer was told; on a Connect server, by its
    connector."""
    servers = options.get(SERVERS, "")
    seen = {topic for asked, topic in _SEEN if asked == servers}
    if not spec.is_new_fork or records.has_started(query) or seen & {own or kafka.BY_ROW, kafka.BY_ROW}:
        return
    rows = _of_jvm if hasattr(writer, "_jwrite") else connected_topics.rows
    try:
        taken = rows(writer, options, own, kafka.own_tail(spec.job), seen)
    except Unavailable as error:
        records.event("topic.unknown", f"Whether its own topic has rows of a former job is not known: {error.message}", query)
        return
    for topic, count in taken.items():
        message = f"Query {query} would write to the topic {topic}, which has rows already ({count}), of another job called {spec.job}"
        raise Conflict("sink.taken", message, "Give the fork another name, or delete the topic; to add to it, resume the fork.")
    _SEEN.add((servers, own or kafka.BY_ROW))


def _of_jvm(writer: Any, options: Mapping[str, str], own: str, tail: str, seen: Collection[str]) -> dict[str, str]:
    from py4j.protocol import Py4JJavaError

    try:
        rows = _rows(writer._spark._jvm, _client(options), own, tail)
    except Py4JJavaError as error:
        raise Unavailable("topic.unknown", str(error.java_exception.toString())) from error
    return {topic: str(count) for topic, count in rows.items() if count and topic not in seen}


def _client(options: Mapping[str, str]) -> dict[str, str]:
    given = {name.removeprefix(PREFIX): value for name, value in options.items() if name.startswith(PREFIX)}
    return {**given, "default.api.timeout.ms": str(PATIENCE_MS), "request.timeout.ms": str(PATIENCE_MS)}


def _rows(jvm: Any, conf: Mapping[str, str], own: str, tail: str) -> dict[str, int]:
    """Topic -> how many rows it has; without `own` of each whose name is another topic's with the tail behind it."""
    properties = jvm.java.util.Properties()
    for name, value in conf.items():
        properties.setProperty(name, value)
    admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
    try:
        there = set(admin.listTopics().names().get())
        asked = {own} & there if own else {name for name in there if name.endswith(tail) and name.removesuffix(tail) in there}
        return {topic: _count(jvm, admin, topic) for topic in sorted(asked)}
    finally:
        admin.close()


def _count(jvm: Any, admin: Any, topic: str) -> int:
    (described,) = admin.describeTopics([topic]).allTopicNames().get().values()
    places = [jvm.org.apache.kafka.common.TopicPartition(topic, part.partition()) for part in described.partitions()]
    spec = jvm.org.apache.kafka.clients.admin.OffsetSpec
    return _offsets(admin, places, spec.latest()) - _offsets(admin, places, spec.earliest())


def _offsets(admin: Any, places: Iterable[Any], spec: Any) -> int:
    answers = admin.listOffsets(dict.fromkeys(places, spec)).all().get()
    return sum(answer.offset() for answer in answers.values())
