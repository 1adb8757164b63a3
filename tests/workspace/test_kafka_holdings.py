"""What a broker says, and what is made of it: gaps, until when, a refusal or a remark of the plan. Without a broker."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain import connectors, kafka, kafka_sign_ins
from pipelines.domain.errors import Conflict, Unavailable, Unsupported
from pipelines.domain.kafka import Partition, Topic
from pipelines.domain.kafka_sign_ins import HOST_CHECK
from pipelines.domain.offsets import PartitionOffset, partitions
from pipelines.domain.runs import QUERIES_FILE, RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.driver import inputs
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.holdings import AskHoldings
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.take import Take
from pipelines.words import holdings as words
from pipelines.workspace import broker_worker
from tests import maven
from tests.workspace.conftest import House, query_line

NEXT = {"clicks": {0: 10, 1: 5}}
WHOLE = {0: Partition(0, 12, 1_000), 1: Partition(5, 5)}
DAY_MS = 86_400_000
SERVERS = "127.0.0.1:9092"

GAPS: Mapping[str, tuple[dict[str, Topic], list[tuple[str, int]]]] = {
    "all is there": ({"clicks": Topic(WHOLE)}, []),
    "a partition more": ({"clicks": Topic({**WHOLE, 2: Partition(0, 3)})}, []),
    "no topic": ({}, [("topic clicks is gone", 0)]),
    "no partition": ({"clicks": Topic({0: WHOLE[0]})}, [("topic clicks, partition 1 is gone", 0)]),
    "retention": (
        {"clicks": Topic({**WHOLE, 0: Partition(11, 12)})},
        [("topic clicks, partition 0: offsets 10 to 10 are gone, it begins at 11", 1)],
    ),
    "retention of a partition that came later": (
        {"clicks": Topic({**WHOLE, 2: Partition(4, 9)})},
        [("topic clicks, partition 2: offsets 0 to 3 are gone, it begins at 4", 4)],
    ),
    "made anew": (
        {"clicks": Topic({**WHOLE, 0: Partition(0, 3)})},
        [("topic clicks, partition 0 ends at offset 3, before 10: the topic was made anew", 0)],
    ),
}


@pytest.mark.parametrize(("seen", "gaps"), GAPS.values(), ids=GAPS.keys())
def test_gaps(seen: dict[str, Topic], gaps: list[tuple[str, int]]) -> None:
    assert [(gap.words, gap.rows) for gap in kafka.gaps(NEXT, seen)] == gaps


def test_until_when_the_next_rows_stay() -> None:
    topic = Topic({0: Partition(0, 12, 5_000), 1: Partition(0, 12, 3_000), 2: Partition(0, 0)}, DAY_MS)
    assert kafka.until_ms({"clicks": topic, "kept": Topic({0: Partition(0, 1, 1)})}) == 3_000 + DAY_MS
    assert kafka.until_ms({"clicks": Topic({0: Partition(7, 7)}, DAY_MS)}) is None


OFFSETS = [
    ('{"clicks":{"0":10,"1":5}}', NEXT),
    ('{"logOffset":3}', None),
    ('{"clicks":{"0":true}}', None),
    ('{"clicks":{"a":1}}', None),
    ("{}", None),
    ("17", None),
    ("null", None),
    ("no json", None),
]


@pytest.mark.parametrize(("text", "offsets"), OFFSETS)
def test_offsets_of_kafka(text: str, offsets: kafka.Offsets | None) -> None:
    assert kafka.offsets_of(text) == offsets


def test_partitions_with_their_lag() -> None:
    assert partitions('{"b":{"0":4},"a":{"1":2}}', '{"a":{"0":3,"1":7}}') == [
        PartitionOffset("a", 0, None, 3),
        PartitionOffset("a", 1, 2, 7),
        PartitionOffset("b", 0, 4, None),
    ]
    assert [part.lag for part in partitions('{"b":{"0":4},"a":{"1":2}}', '{"a":{"0":3,"1":7}}')] == [3, 5, None]
    assert partitions('{"logOffset":3}', "") == []


def test_a_forks_topic() -> None:
    assert kafka.own_topic("out", "b") == "out.b"
    assert len(kafka.own_topic("t" * 249, "b")) == 249
    assert kafka.taken_topics("out", "a") == ("out",)
    assert kafka.taken_topics("out.b", "b") == ("out.b", "out")
    assert kafka.taken_topics("*", "a") == kafka.taken_topics("", "a") == ("*",)


class Options:
    """Spark's `CaseInsensitiveStringMap`."""

    def __init__(self, **options: str) -> None:
        self.options = {name.replace("_", ".").lower(): value for name, value in options.items()}

    def getOrDefault(self, name: str, otherwise: str) -> str:
        return self.options.get(name.lower(), otherwise)


BROKERS = [
    ({}, SERVERS),
    ({"failOnDataLoss": "TRUE"}, SERVERS),
    ({"failOnDataLoss": "false"}, ""),
    ({"kafka_security_protocol": "sasl_ssl"}, f"SASL_SSL://{SERVERS}"),
    ({"kafka_security_protocol": "PLAINTEXT"}, SERVERS),
]


PLAIN = 'module required username="ann" password="p\\"w";'
SASL = {"security.protocol": "sasl_ssl", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": PLAIN}
KEYED = {"security.protocol": "SSL", "ssl.keystore.type": "PEM"}
REFERRED = {'p"w': "{env:PW}", "whole": "{file:/jaas}"}
VALUES = {"{env:PW}": 'p"w', "{file:/jaas}": "module required username=ann password='pw';", "chain": "chain"}
NEVER = "takes a password that the job's code has by itself"
SIGN_INS: Mapping[str, tuple[dict[str, str], str | dict[str, str]]] = {
    "none": ({}, "takes a sign-in, and no run here noted"),
    "password": (
        SASL,
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "ann", "sasl.password": 'p"w'},
    ),
    "line": (
        {**SASL, "sasl.jaas.config": "whole"},
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "ann", "sasl.password": "pw"},
    ),
    "literal": ({**SASL, "sasl.jaas.config": PLAIN.replace("p\\", "q\\")}, NEVER),
    "no line": ({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}, NEVER),
    "mechanism": ({**SASL, "sasl.mechanism": "OAUTHBEARER"}, "takes a sign-in by OAuth (OAUTHBEARER), and Tidemark has PLAIN, "),
    "kerberos": ({"security.protocol": "SASL_SSL"}, "takes a sign-in by Kerberos (GSSAPI), and Tidemark has PLAIN, "),
    "java's truststore": ({"security.protocol": "SSL", "ssl.truststore.location": "/t.jks"}, "has a certificate that is checked by"),
    "PEM": (
        {"security.protocol": "SSL", "ssl.truststore.location": "/t.pem", "ssl.truststore.type": "PEM", HOST_CHECK: ""},
        {"security.protocol": "SSL", "ssl.ca.location": "/t.pem", HOST_CHECK: "none"},
    ),
    "java's keystore": ({"security.protocol": "SSL", "ssl.keystore.location": "/k.jks"}, "takes a sign-in by a certificate in a keystore"),
    "key by itself": ({**KEYED, "ssl.keystore.key": "secret"}, "takes a secret that the job's code has by itself (ssl.keystore.key)"),
    "password by itself": ({**KEYED, "ssl.key.password": "secret"}, "takes a secret that the job's code has by itself (ssl.key.password)"),
    "certificate": (
        {**KEYED, "ssl.keystore.key": "whole", "ssl.keystore.certificate.chain": "chain"},
        {"security.protocol": "SSL", "ssl.certificate.pem": "chain", "ssl.key.pem": VALUES["{file:/jaas}"]},
    ),
    "certificate's file": (
        {**KEYED, "ssl.keystore.location": "/k.pem", "ssl.key.password": 'p"w'},
        {"security.protocol": "SSL", "ssl.key.password": 'p"w', "ssl.certificate.location": "/k.pem", "ssl.key.location": "/k.pem"},
    ),
}


@pytest.mark.parametrize(("given", "asked"), SIGN_INS.values(), ids=SIGN_INS.keys())
def test_how_a_source_signs_in(given: dict[str, str], asked: str | dict[str, str]) -> None:
    options = Options(**{f"kafka_{name}": value for name, value in given.items()})
    noted = kafka_sign_ins.noted(inputs._given(options, kafka_sign_ins.READ), REFERRED)
    assert not any(value in text for value in ('p"w', 'q"w', "secret") for text in noted.values())
    if isinstance(asked, str):
        assert kafka_sign_ins.hindrance(noted).startswith(asked)
    else:
        assert not kafka_sign_ins.hindrance(noted) and kafka_sign_ins.client(noted, VALUES.__getitem__) == asked


@pytest.mark.parametrize(("options", "noted"), BROKERS)
def test_what_is_noted_of_a_broker(options: dict[str, str], noted: str) -> None:
    assert inputs._broker(Options(kafka_bootstrap_servers=SERVERS, **options)) == noted


# plans


def saved(house: House, servers: str = SERVERS, sign_in: Mapping[str, str] | None = None) -> Savepoint:
    """Of a job that, as far as its driver said, reads Kafka; the offset in its checkpoint is made one of Kafka's."""
    run = house.ran("a")
    checkpoint = Path(run.checkpoints) / "counts"
    for path in (checkpoint / "offsets").iterdir():
        if path.name.isdigit():
            *head, _ = path.read_text().splitlines()
            path.write_text("\n".join([*head, '{"clicks":{"0":10,"1":5}}']))
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    line = json.loads(query_line(str(checkpoint), str(house.face.layout.output(run.job) / "counts")))
    line |= {"query_id": json.loads((checkpoint / "metadata").read_text())["id"], "sign_ins": [sign_in] if sign_in else []}
    house.append(run, QUERIES_FILE, json.dumps({**line, "sources": ["kafka"], "brokers": [servers]}) + "\n")
    house.see(run, RunState.STOPPED)
    return do(house.face, Take("a"))


def answer(monkeypatch: pytest.MonkeyPatch, seen: dict[str, Topic] | Unavailable) -> list[Any]:
    """The broker says this; what it was asked is kept."""
    asked: list[Any] = []

    def ask(pool: Any, servers: str, offsets: kafka.Offsets, at_ms: Any = None, sign_in: Any = None) -> dict[str, Topic]:
        asked.append((servers, offsets, sign_in) if sign_in else (servers, offsets))
        if isinstance(seen, Unavailable):
            raise seen
        return seen

    monkeypatch.setattr(broker_worker, "ask", ask)
    return asked


def test_a_savepoint_that_retention_has_overtaken_is_refused(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    savepoint = saved(house)
    asked = answer(monkeypatch, {"clicks": Topic({0: Partition(11, 20), 1: Partition(0, 9)})})
    for change in (Fork(savepoint.id, name="b"), Resume("a", from_savepoint=savepoint.id), Resume("a"), Resume("a", batch=7)):
        plan = house.face.plan(change)
        assert plan.refusal is not None and plan.refusal.code == "source.gone"
        with pytest.raises(Conflict, match=r"topic clicks, partition 0: offsets 10 to 10 are gone"):
            do(house.face, change)
    assert set(map(str, asked)) == {str((SERVERS, NEXT))}
    assert len(house.face.ask(ListSavepoints("a"))) == len(house.face.ask(ListJobs())) == 1


def test_a_checkpoint_without_its_state_hides_no_loss(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(house)
    checkpoint = Path(house.face.ask(ShowJob("a")).runs[0].checkpoints) / "counts"
    shutil.rmtree(checkpoint / "state")
    answer(monkeypatch, {"clicks": Topic({0: Partition(11, 20), 1: Partition(0, 9)})})
    plan = house.face.plan(Resume("a"))
    assert plan.refusal is not None and plan.refusal.code == "source.gone"
    (checkpoint / "offsets" / "13").write_text("no log")
    plan = house.face.plan(Resume("a"))
    says = "Query counts: whether its source still has all rows after its last batch is not known: offsets/13 is damaged"
    assert plan.refusal is None and any(warning.startswith(says) for warning in plan.warnings)


def test_a_job_whose_queries_never_came_up_on_its_checkpoint_needs_what_the_savepoint_needs(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    savepoint = saved(house)
    for change in (Fork(savepoint.id, name="b"), Resume("a", from_savepoint=savepoint.id)):
        answer(monkeypatch, {"clicks": Topic(WHOLE)})
        begun = do(house.face, change)
        house.see(begun, RunState.STOPPED)
        assert house.face.plan(Resume(begun.job)).refusal is None
        answer(monkeypatch, {})
        plan = house.face.plan(Resume(begun.job))
        assert plan.refusal is not None and plan.refusal.code == "source.gone" and "topic clicks is gone" in plan.refusal.message
    do(house.face, Dispose((savepoint.id,)))
    assert house.face.plan(Resume("b")).refusal is None


def test_a_query_without_a_batch_needs_what_it_was_to_begin_with(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(house)
    checkpoint = Path(house.face.ask(ShowJob("a")).runs[0].checkpoints) / "counts"
    for folder in ("commits", "offsets", "sources"):
        shutil.rmtree(checkpoint / folder)
    (checkpoint / "sources" / "0").mkdir(parents=True)
    (checkpoint / "sources" / "0" / "0").write_bytes(b'\0v1\n{"clicks":{"0":10,"1":5}}')
    asked = answer(monkeypatch, {"clicks": Topic({0: Partition(11, 20), 1: Partition(0, 9)})})
    plan = house.face.plan(Resume("a"))
    assert plan.refusal is not None and "offsets 10 to 10 are gone" in plan.refusal.message
    assert asked == [(SERVERS, NEXT)]


def test_who_accepts_the_loss_goes_on(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    savepoint = saved(house)
    answer(monkeypatch, {})
    says = "cannot have all rows after"
    for change in (Fork(savepoint.id, name="b"), Resume("a", from_savepoint=savepoint.id), Resume("a")):
        assert house.face.plan(change).refusal is not None
        forced = house.face.plan(replace(change, force=True))
        assert forced.refusal is None and any(says in warning for warning in forced.warnings)
    assert do(house.face, Resume("a", force=True)).job == "a"


def test_until_when_it_can_be_gone_on_from_is_said(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    savepoint = saved(house)
    answer(monkeypatch, {"clicks": Topic({0: Partition(0, 20, 1_800_000_000_000), 1: Partition(0, 5)}, DAY_MS)})
    plan = house.face.plan(Fork(savepoint.id, name="b"))
    says = "Query counts: Kafka clicks has all after the savepoint, at least until 2027-01-16 08:00:00 UTC."
    assert plan.refusal is None and says in plan.warnings
    answer(monkeypatch, {"clicks": Topic(WHOLE, DAY_MS, ("retention.bytes",))})
    assert not any("at least until" in warning for warning in house.face.plan(Fork(savepoint.id, name="b")).warnings)


def test_what_nobody_can_tell_is_said_and_stops_nobody(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    savepoint = saved(house)
    asked = answer(monkeypatch, Unavailable("kafka.away", "Kafka does not answer"))
    house.face.plan(Fork(savepoint.id, name="b"))
    plan = house.face.plan(Fork(savepoint.id, name="b"))
    assert len(asked) == 1
    says = "Query counts: whether its source still has all rows after the savepoint is not known: Kafka does not answer."
    assert plan.refusal is None and says in plan.warnings


def test_a_broker_that_takes_a_sign_in_is_not_asked_where_nobody_noted_it(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    savepoint = saved(house, f"SASL_SSL://{SERVERS}")
    asked = answer(monkeypatch, {})
    assert any("not asked: SASL_SSL://127" in warning for warning in house.face.plan(Fork(savepoint.id, name="b")).warnings)
    assert asked == []


def test_a_sign_in_that_tidemark_has_not_is_named_with_who_asks_instead(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the plan, on the savepoint, and where a fork is to begin elsewhere."""
    savepoint = saved(house, f"SASL_SSL://{SERVERS}", {"security.protocol": "SASL_SSL"})
    asked = answer(monkeypatch, {})
    by_kerberos = f"SASL_SSL://{SERVERS} takes a sign-in by Kerberos (GSSAPI), and Tidemark has PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"
    by_spark = f"not asked: {by_kerberos}; Spark asks it as the job begins, and the job fails where rows are gone"
    for change in (Fork(savepoint.id, name="b"), Resume("a")):
        plan = house.face.plan(change)
        assert plan.refusal is None and any(warning.endswith(f"is not known: {by_spark}.") for warning in plan.warnings)
    holdings = do(house.face, AskHoldings(savepoint.id)).holdings
    assert holdings is not None and by_spark in words.why(holdings)
    with pytest.raises(Unsupported) as moved:
        house.face.plan(Fork(savepoint.id, name="b", offsets={"counts.0": "earliest"}))
    assert moved.value.message == f"What Kafka holds of source 0 cannot be asked: {by_kerberos}"
    assert asked == []


def test_a_broker_is_asked_as_a_run_here_signed_in(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_in = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "ann", "sasl.password": "{env:KAFKA_PW}"}
    savepoint = saved(house, f"SASL_SSL://{SERVERS}", sign_in)
    asked = answer(monkeypatch, {})
    assert any("which a secret is in, is not there" in warning for warning in house.face.plan(Fork(savepoint.id, name="b")).warnings)
    monkeypatch.setenv("KAFKA_PW", "pw")
    refusal = house.face.plan(Fork(savepoint.id, name="b")).refusal
    present = house.face.plan(Resume("a")).refusal
    assert refusal is not None and present is not None and refusal.code == present.code == "source.gone"
    assert asked == [(SERVERS, NEXT, {**sign_in, "sasl.password": "pw"})] * 2


def test_jobs_without_a_broker_ask_nobody(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    asked = answer(monkeypatch, {})
    house.face.plan(Resume("a"))
    house.face.plan(Fork(do(house.face, Take("a")).id, name="b"))
    assert asked == []


def test_the_jars_that_the_suite_runs_on_are_those_that_are_told() -> None:
    text = (maven.HERE / "kafka_connector.xml").read_text()
    for artifact in connectors.kafka("4.3.0", connectors.Jars()).artifacts:
        group, name, version = artifact.split(":")
        parts = (f"<{tag}>{value}</{tag}>" for tag, value in (("groupId", group), ("artifactId", name), ("version", version)))
        assert "\n      ".join(parts) in text
    assert connectors.kafka("4.2.0", connectors.Jars()).artifacts == ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",)
    assert "<version>4.2.0</version>" in (maven.HERE / "kafka_connector_4.2.xml").read_text()
