"""A real Kafka broker for tests (KRaft, one process, no ZooKeeper), on ports of its own, and Spark's connector for it."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.domain import connectors
from pipelines.sandbox.java import java_home
from tests import maven
from tests.waiting import until

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

BROKER, CONNECTOR = "kafka_broker", "kafka_connector"
SMALL = ("-Xmx256m", "-Xss256k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
ANSWER_S = 60.0
SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{signed},SSL://127.0.0.1:{tls},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{signed},SSL://127.0.0.1:{tls}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT
ssl.client.auth=required
ssl.keystore.type=PEM
ssl.keystore.location={certificates}/broker.pem
ssl.truststore.type=PEM
ssl.truststore.location={certificates}/reader.crt
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config={plain} required user_{user}="{password}";
log.dirs={folder}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
num.network.threads=1
num.io.threads=2
background.threads=1
log.cleaner.enable=false
"""
USER, PASSWORD = "reader", "a-password-of-tests"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
Row = tuple[int, str]
"""Partition and value."""


def connector(spark: str = "") -> str:
    """The list of jars for a PySpark; without one for ours."""
    return f"{CONNECTOR}_{connectors.release(spark)}" if spark else CONNECTOR


def missing(spark: str = "") -> str:
    """Which jars were not fetched, and how to get them; empty where all are there."""
    names = [name for name in (BROKER, connector(spark)) if not maven.jars(name)]
    return f"needs the jars of {' and '.join(names)}, from Maven's repository; to get them: {maven.HOW}" if names else ""


def conf(spark: str = "") -> dict[str, str]:
    """What gives a job on a PySpark Spark's connector."""
    return {"spark.jars": ",".join(map(str, maven.jars(connector(spark))))}


@dataclass
class Broker:
    """A running broker; `servers` is what clients are told, `signed` what those are that sign in (SASL_PLAINTEXT, PLAIN), `tls` what those
    are that do by a certificate (SSL)."""

    servers: str
    signed: str
    tls: str
    certificates: Path
    """`broker.crt` is what clients trust; `reader.key`, which `PASSWORD` opens, and `reader.crt` sign in, and are both in `reader.pem`."""
    process: subprocess.Popen[bytes]

    @cached_property
    def admin(self) -> AdminClient:
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    def create(self, topic: str, partitions: int = 1, conf: Mapping[str, str] | None = None) -> None:
        from confluent_kafka.admin import NewTopic

        _done(self.admin.create_topics([NewTopic(topic, partitions, 1, config=dict(conf or {}))]))

    def grow(self, topic: str, partitions: int) -> None:
        """Partitions are added until there are so many."""
        from confluent_kafka.admin import NewPartitions

        _done(self.admin.create_partitions([NewPartitions(topic, partitions)]))

    def delete(self, topic: str) -> None:
        """The topic is gone for every client when this returns."""
        _done(self.admin.delete_topics([topic]))
        until(lambda: topic not in self.admin.list_topics(timeout=ANSWER_S).topics)

    def write(self, topic: str, rows: Iterable[Row], times_ms: Iterable[int] = repeat(0)) -> None:
        """`times_ms`: those that the messages have (epoch ms), 0 for now."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 0, "log_level": 0})
        for (partition, value), time_ms in zip(rows, times_ms, strict=False):
            producer.produce(topic, value=value.encode(), partition=partition, timestamp=time_ms)
        assert producer.flush(ANSWER_S) == 0

    def read(self, topic: str) -> list[str]:
        """The values of all rows of a topic."""
        from confluent_kafka import Consumer, TopicPartition

        reader = Consumer({"bootstrap.servers": self.servers, "group.id": "tests", "enable.auto.commit": False, "log_level": 0})
        with closing(reader):
            places = [TopicPartition(topic, number, 0) for number in self.admin.list_topics(timeout=ANSWER_S).topics[topic].partitions]
            due = sum(reader.get_watermark_offsets(place, timeout=ANSWER_S)[1] for place in places)
            reader.assign(places)
            rows: list[Any] = []
            until(lambda: len(rows) == due or rows.extend(reader.consume(due - len(rows), timeout=1)), every=0)
        assert all(row.error() is None for row in rows)
        return [row.value().decode() for row in rows]

    def forget(self, topic: str, before: Mapping[int, int]) -> None:
        """What retention does: of each partition the rows before an offset are gone."""
        from confluent_kafka import TopicPartition

        _done(self.admin.delete_records([TopicPartition(topic, number, at) for number, at in before.items()]))


def _done(answers: Mapping[Any, Any]) -> None:
    for answer in answers.values():
        answer.result(ANSWER_S)


def free_ports(count: int) -> Sequence[int]:
    with _bound(count) as ports:
        return ports


@contextmanager
def _bound(count: int) -> Iterator[list[int]]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        yield [sock.getsockname()[1] for sock in sockets]
    finally:
        for sock in sockets:
            sock.close()


@contextmanager
def serving(folder: Path) -> Iterator[Broker]:
    """A broker that keeps its topics in `folder`, until the block ends."""
    if lacks := missing():
        pytest.skip(lacks)
    port, signed, tls, controller = free_ports(4)
    settings, log = folder / "server.properties", folder / "log"
    log.mkdir(parents=True)
    certify(folder, "broker")
    certify(folder, "reader", PASSWORD)
    (log / "meta.properties").write_text("version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=1\n")
    named = {"port": port, "signed": signed, "tls": tls, "controller": controller, "folder": log, "certificates": folder}
    settings.write_text(SETTINGS.format(**named, plain=PLAIN, user=USER, password=PASSWORD))
    java = java_home().path / "bin" / "java"
    command = [str(java), *SMALL, "-cp", f"{maven.folder(BROKER)}{os.sep}*", "kafka.Kafka", str(settings)]
    with (folder / "broker.log").open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    broker = Broker(f"127.0.0.1:{port}", f"127.0.0.1:{signed}", f"127.0.0.1:{tls}", folder, process)
    try:
        until(lambda: _answers(broker), what="the broker did not answer")
        yield broker
    finally:
        process.kill()
        process.wait()


def certify(folder: Path, name: str, password: str = "") -> None:
    """A certificate that its holder has signed, of this machine, and its key, which the password opens."""
    key, certificate = folder / f"{name}.key", folder / f"{name}.crt"
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2", "-subj", f"/CN={name}"]
    secret = ["-passout", f"pass:{password}"] if password else ["-nodes"]
    places = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    subprocess.run(["openssl", "req", *kind, *secret, *places], check=True, capture_output=True)
    (folder / f"{name}.pem").write_text(key.read_text() + certificate.read_text())


def _answers(broker: Broker) -> bool:
    from confluent_kafka import KafkaException

    assert broker.process.poll() is None, "the broker has ended"
    try:
        return bool(broker.admin.list_topics(timeout=2).brokers)
    except KafkaException:
        return False
