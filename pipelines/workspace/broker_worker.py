"""Asks a Kafka broker what it holds, in a process of its own: its client is a library in C, and a broker may never answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pipelines.domain.errors import Unavailable
from pipelines.domain.kafka import Offsets, Partition, Topic
from pipelines.workers.child import Caller, serve
from pipelines.workers.pool import Pool
from pipelines.workers.task import Task

if TYPE_CHECKING:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

ANSWER_S = 5.0
"""So long a broker may take for one question."""
FIRST_S = 3.0
"""So long reading the next row of every partition may take."""
TASK = Task(
    module="pipelines.workspace.broker_worker",
    code="kafka",
    title="The broker",
    hint="Look whether it is up, and reached from this machine under that address.",
    seconds=6 * ANSWER_S,
)
AGE, SIZE, POLICY = "retention.ms", "retention.bytes", "cleanup.policy"
FOREVER = "-1"
SIGN_IN = "uthentication"
"""In what the client says of a sign-in that failed, and only by the way: to who asked it is a broker that does not answer."""


def ask(pool: Pool, servers: str, offsets: Offsets, at_ms: int | None = None, sign_in: Mapping[str, str] | None = None) -> dict[str, Topic]:
    """The topics of `offsets` as the broker at `servers` (`host:port,…`) has them, those that it has; with the offsets at a time (epoch
    ms) where one is given. `sign_in`: the client's confs for it, with their secrets.

    Raises Unavailable: `kafka.away`, `kafka.client` (the Python package is missing), `kafka.timeout`.
    """
    answer = pool.do({"conf": {"bootstrap.servers": servers, **(sign_in or {})}, "offsets": offsets, "at_ms": at_ms})
    return {name: _topic(raw) for name, raw in answer.items()}


def _topic(raw: dict[str, Any]) -> Topic:
    partitions = {int(number): Partition(**part) for number, part in raw["partitions"].items()}
    return Topic(partitions, raw["retention_ms"], tuple(raw["limits"]))


def _answer(request: dict[str, Any], _: Caller) -> dict[str, Any]:
    try:
        from confluent_kafka import KafkaException
    except ImportError as missing:
        hint = "Install it where the server runs: python3 -m pip install confluent-kafka"
        raise Unavailable("kafka.client", "The Python package confluent-kafka is not there, which asks Kafka brokers", hint) from missing
    offsets = {name: {int(number): at for number, at in parts.items()} for name, parts in request["offsets"].items()}
    try:
        return {name: asdict(topic) for name, topic in _seen(request["conf"], offsets, request["at_ms"]).items()}
    except (KafkaException, TimeoutError) as error:
        servers = request["conf"]["bootstrap.servers"]
        raise Unavailable("kafka.away", f"Kafka at {servers} does not answer: {error}", TASK.hint) from error


def _seen(conf: Mapping[str, Any], offsets: Offsets, at_ms: int | None) -> dict[str, Topic]:
    from confluent_kafka import KafkaException, TopicPartition
    from confluent_kafka.admin import AdminClient, OffsetSpec

    conf, told = {**conf, "log_level": 0}, list[str]()
    admin = AdminClient({**conf, "socket.timeout.ms": int(ANSWER_S * 1000), "error_cb": lambda error: told.append(error.str())})
    try:
        there = admin.list_topics(timeout=ANSWER_S).topics
    except KafkaException as error:
        admin.poll(0)
        raise TimeoutError(next((text for text in told if SIGN_IN in text), str(error))) from error
    places = [TopicPartition(name, number) for name in offsets if name in there for number in there[name].partitions]
    if not places:
        return {}
    firsts, ends = (_offsets(admin, places, spec) for spec in (OffsetSpec.earliest(), OffsetSpec.latest()))
    topic_confs = {name: _confs(admin, name) for name in offsets if name in there}
    next_at = {place: max(firsts[place], offsets[place[0]].get(place[1], 0)) for place in firsts}
    aging = {place: at for place, at in next_at.items() if at < ends[place] and topic_confs[place[0]][AGE] != FOREVER}
    times = _times_ms(conf, aging) if aging else {}
    at = _offsets(admin, places, OffsetSpec.for_timestamp(at_ms)) if at_ms is not None else {}
    parts = {place: Partition(firsts[place], ends[place], times.get(place), _there(at.get(place))) for place in firsts}
    return {name: _made({n: part for (of, n), part in parts.items() if of == name}, limits) for name, limits in topic_confs.items()}


def _there(offset: int | None) -> int | None:
    """Below zero a broker says that it has no row since then."""
    return offset if offset is not None and offset >= 0 else None


def _made(partitions: Mapping[int, Partition], conf: Mapping[str, str]) -> Topic:
    limits = tuple(name for name, harmless in ((SIZE, FOREVER), (POLICY, "delete")) if conf[name] != harmless)
    return Topic(partitions, None if conf[AGE] == FOREVER else int(conf[AGE]), limits)


def _offsets(admin: AdminClient, places: list[TopicPartition], spec: Any) -> dict[tuple[str, int], int]:
    answers = admin.list_offsets(dict.fromkeys(places, spec), request_timeout=ANSWER_S)
    return {(place.topic, place.partition): answer.result(ANSWER_S).offset for place, answer in answers.items()}


def _confs(admin: AdminClient, topic: str) -> dict[str, str]:
    from confluent_kafka.admin import ConfigResource

    (answer,) = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, topic)], request_timeout=ANSWER_S).values()
    entries = answer.result(ANSWER_S)
    return {name: str(entries[name].value) for name in (AGE, SIZE, POLICY)}


def _times_ms(conf: Mapping[str, Any], places: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    """When the row at each place's offset was written, as far as the broker gives them in time."""
    import time

    from confluent_kafka import Consumer, TopicPartition

    reader = Consumer({**conf, "group.id": "tidemark", "enable.auto.commit": False})
    times: dict[tuple[str, int], int] = {}
    end = time.monotonic() + FIRST_S
    try:
        reader.assign([TopicPartition(topic, number, at) for (topic, number), at in places.items()])
        while len(times) < len(places) and (left := end - time.monotonic()) > 0:
            row = reader.poll(left)
            if row is not None and row.error() is None:
                times.setdefault((str(row.topic()), int(row.partition() or 0)), row.timestamp()[1])
    finally:
        reader.close()
    return times


if __name__ == "__main__":
    serve(_answer)
