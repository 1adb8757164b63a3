"""Kafka with a real broker: whatever happens to a job and to its topic, it gives the rows of a run that was never interrupted, as they
follow from what the topic was given."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipelines.checkpoint import sink_log
from pipelines.domain import kafka_sign_ins
from pipelines.domain.errors import Conflict, Unavailable
from pipelines.domain.ids import JobName
from pipelines.domain.kafka_sign_ins import (
    KEY_PASSWORD,
    OWN_CHAIN,
    OWN_KEY,
    OWN_PLACE,
    OWN_TYPE,
    PROTOCOL,
    STORE_PLACE,
    STORE_TYPE,
)
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import QueryImage, Savepoint
from pipelines.sandbox import secret_values
from pipelines.storage.addresses import open_storage
from pipelines.verbs.experiments import Compare
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListOperators, ReadLog
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.stop import Stop
from pipelines.workers.pool import Pool
from pipelines.workspace import broker_worker
from tests import kafka, runtimes
from tests.driver.process import CONF
from tests.kafka import Broker, Row
from tests.waiting import until
from tests.workspace.kafka_job import SCRIPT, closing, phase, row, sums
from tests.workspace.serving import Server, serving

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("kept_jvms")]
CLICKS, LATER, COPIES = "clicks", "later", "copies"
ALL = range(5)
"""Phases: before the kill, after it, with a partition more, after the savepoint, after the fork."""

LAST = '{"clicks":{"0":37,"1":36,"2":18}}'
PAST = '{"clicks":{"0":30,"2":7}}'


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with kafka.serving(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "workspace") as server:
        yield server


def live_rows(server: Server, job: str, output: str) -> list[tuple[object, ...]]:
    """The rows in a file sink, as its log has them."""
    folder = server.face.layout.output(JobName(job)) / output
    if not (folder / sink_log.FOLDER).is_dir():
        return []
    log = sink_log.whole(open_storage(str(folder)), sink_log.FOLDER)
    files = [folder / Path(file.path).name for file in sink_log.live_files(log, 2**62)]
    rows = [tuple(str(value) if name == "start" else value for name, value in row.items()) for file in files for row in table(file)]
    return sorted(rows, key=str)


def table(file: Path) -> list[dict[str, object]]:
    rows = pq.read_table(file).to_pylist()
    return [{name: f"{value:%Y-%m-%d %H:%M:%S}" if name == "start" else value for name, value in row.items()} for row in rows]


def positions(server: Server, job: str, query: str) -> str:
    """Where the newest batch of the query ended; nothing before its job's newest run has done one."""
    begun_ms = server.newest(job).created_ms
    seen = {query.query: query for query in server.face.ask(ListOperators(job)) if query.at_ms > begun_ms}
    return seen[query].sources[0].end if query in seen else ""


def await_positions(server: Server, offsets: str, *jobs: str) -> None:
    """Waits until both queries of these jobs have read so far."""
    for job in jobs:
        for query in ("query-0", "copies"):
            until(lambda job=job, query=query: positions(server, job, query) == offsets or failed(server, job), what=f"{job}: {query}")


def await_rows(server: Server, job: str, output: str, rows: Sequence[tuple[object, ...]]) -> None:
    until(lambda: live_rows(server, job, output) == rows or failed(server, job), what=f"{job}: {output}")


def failed(server: Server, job: str) -> bool:
    newest = server.newest(job)
    assert newest.state is not RunState.FAILED, server.face.ask(ReadLog(job)).text[-3000:]
    return False


def saved(server: Server, job: str) -> Savepoint:
    do(server.face, Stop(job))
    return server.face.ask(ListSavepoints(job))[0]


def values(rows: list[Row]) -> list[str]:
    return [value for _, value in rows]


def test_a_broker_is_asked_with_a_certificate(broker: Broker, tmp_path: Path) -> None:
    """Noted of a source that reads it as Spark does, by a file or by texts that came by reference."""
    broker.create("certified")
    broker.write("certified", [(0, "a"), (0, "b")])
    folder, pem = broker.certificates, "PEM"
    trust = {PROTOCOL: "SSL", STORE_TYPE: pem, STORE_PLACE: str(folder / "broker.crt")}
    of_file = {OWN_TYPE: pem, OWN_PLACE: str(folder / "reader.pem"), KEY_PASSWORD: kafka.PASSWORD}
    text = {name: (folder / name).read_text() for name in ("reader.crt", "reader.key")}
    of_text = {OWN_TYPE: pem, OWN_CHAIN: text["reader.crt"], OWN_KEY: text["reader.key"], KEY_PASSWORD: kafka.PASSWORD}
    (tmp_path / "password").write_text(kafka.PASSWORD)
    referred = {kafka.PASSWORD: f"{{file:{tmp_path}/password}}", text["reader.key"]: f"{{file:{folder}/reader.key}}"}
    pool = Pool(broker_worker.TASK)
    try:
        for own in (of_file, of_text):
            noted = kafka_sign_ins.noted({**trust, **own}, referred)
            assert not kafka_sign_ins.hindrance(noted) and not {kafka.PASSWORD, text["reader.key"]} & set(noted.values())
            conf = kafka_sign_ins.client(noted, secret_values.put_in)
            seen = broker_worker.ask(pool, broker.tls, {"certified": {0: 0}}, sign_in=conf)
            assert (seen["certified"].partitions[0].first, seen["certified"].partitions[0].end) == (0, 2)
        with pytest.raises(Unavailable, match="does not answer"):
            broker_worker.ask(pool, broker.tls, {"certified": {0: 0}}, sign_in=kafka_sign_ins.client(trust, secret_values.put_in))
    finally:
        pool.close()


def test_a_job_on_kafka(server: Server, broker: Broker) -> None:
    """`tests/long/test_kafka.py` has one that is attached, and one that is moved past what is gone."""
    begun = goes_on(server, broker)
    retention_overtakes(server, broker, begun)
    the_present_is_overtaken(server, broker)


def goes_on(server: Server, broker: Broker, attached: Callable[[], None] = lambda: None, spark: str = "") -> Savepoint:
    """A job is killed, gets a partition more, is saved, forked and taken back to the savepoint, which is returned; both jobs have ended.
    `attached` is called once the savepoint is there; `spark` is the PySpark that it runs on, if not ours."""
    face = server.face
    broker.create(CLICKS, 2)
    broker.create(LATER)
    broker.write(CLICKS, phase(0, 2))
    secret = server.face.layout.root.parent / "password"
    secret.write_text(f"{kafka.PASSWORD}\n")
    args = (broker.servers, "{output}", CLICKS, LATER, COPIES, broker.signed, f"{{file:{secret}}}")
    python = runtimes.python(spark) if spark else ""
    do(face, RunScript(name="a", script="job.py", code=SCRIPT, args=args, conf={**CONF, **kafka.conf(spark)}, python=python))
    await_positions(server, '{"clicks":{"0":9,"1":9}}', "a")

    broker.write(CLICKS, phase(1, 2))
    os.kill(server.newest("a").pid or 0, signal.SIGKILL)
    until(lambda: server.newest("a").attempt == 1)
    await_positions(server, '{"clicks":{"0":18,"1":18}}', "a")

    broker.grow(CLICKS, 3)
    broker.write(CLICKS, phase(2, 3))
    await_positions(server, '{"clicks":{"0":24,"1":24,"2":6}}', "a")
    begun = saved(server, "a")
    assert [image.query for image in begun.queries] == ["query-0", "copies", "query-2", "named"]
    assert [image.brokers for image in begun.queries] == [(f"SASL_PLAINTEXT://{broker.signed}",)] * 4

    attached()
    later = [row(0, "x", 1, 0), row(0, "y", 2, 0)]
    broker.write(CLICKS, phase(3, 3))
    broker.write(LATER, later)
    plan = face.plan(Fork(savepoint=begun.id, name="b"))
    assert [sink.query for sink in plan.sinks if sink.action == "own"] == ["copies", "named"] and plan.refusal is None
    assert any("Kafka clicks has all after the savepoint" in warning for warning in plan.warnings)
    do(face, Fork(savepoint=begun.id, name="b"))
    do(face, Resume("a"))
    broker.write(CLICKS, phase(4, 3))
    await_positions(server, '{"clicks":{"0":36,"1":36,"2":18}}', "a", "b")
    broker.write(CLICKS, [closing()])
    expected = sums(ALL)
    for job in ("a", "b"):
        await_rows(server, job, "sums", expected)
        await_rows(server, job, "later", [("x", 1), ("y", 2)])
        await_positions(server, LAST, job)
    # the rows are there before it is known which event time they reach: until then less is compared
    until(lambda: face.ask(Compare("a", "b", "query-0")).rows_a == len(expected), what="event time")
    same = face.ask(Compare("a", "b", "query-0"))
    assert (same.rows_a, same.equal, same.only_a, same.only_b, same.changed) == (len(expected), len(expected), 0, 0, 0)
    before = [value for number in ALL[:3] for value in values(phase(number, 3))]
    after = values([*phase(3, 3), *phase(4, 3), closing()])
    assert sorted(broker.read("copies.b")) == sorted(after)
    for topic, value in (("x_named", "1"), ("y_named", "2")):
        for name in (topic, f"{topic}.b"):
            until(lambda name=name, value=value: broker.read(name) == [value], what=name)
    copies = broker.read(COPIES)
    assert set(copies) == {*before, *after} and sorted(value for value in copies if value in after) == sorted(after)
    for job in ("b", "a"):
        do(face, Stop(job, savepoint=False))

    broker.write("copies.was", [(0, "of a former job")])
    do(face, Fork(savepoint=begun.id, name="was"))
    until(lambda: not server.newest("was").state.live, what="a fork that would add to a former job's rows")
    ending = server.newest("was").exit
    assert ending is not None and ending.error_class == "sink.taken" and "copies.was, which has rows already (1)" in ending.message
    assert broker.read("copies.was") == ["of a former job"]

    do(face, Resume("a", from_savepoint=begun.id))
    assert live_rows(server, "b", "sums") == expected
    await_positions(server, LAST, "a")
    await_rows(server, "a", "sums", expected)
    assert set(broker.read(COPIES)) == {*before, *after}
    do(face, Stop("a", savepoint=False))
    return begun


def retention_overtakes(server: Server, broker: Broker, begun: Savepoint) -> list[QueryImage]:
    """Nothing begins from before what is gone, and the gap is named. The answer: the queries that read there."""
    face = server.face
    broker.forget(CLICKS, {0: 30, 2: 7})
    gap = "topic clicks, partition 0: offsets 24 to 29 are gone, it begins at 30; topic clicks, partition 2: offsets 6 to 6 are gone"
    there = (len(face.ask(ListSavepoints("a"))), server.newest("a").id)
    for change in (Fork(savepoint=begun.id, name="d"), Resume("a", from_savepoint=begun.id)):
        plan = face.plan(change)
        assert plan.refusal is not None and plan.refusal.code == "source.gone" and gap in plan.refusal.message
        with pytest.raises(Conflict, match="offsets 24 to 29 are gone"):
            do(face, change)
    assert (len(face.ask(ListSavepoints("a"))), server.newest("a").id) == there
    images = [image for image in begun.queries if "clicks" in image.offsets[0].offset]
    amounts = {PAST: (7, False), "earliest": (7, True), "1970-01-02T00:00Z": (7, True)}
    for position, (skipped, reads_again) in amounts.items():
        plan = face.plan(Fork(savepoint=begun.id, name="d", offsets={f"{image.query}.0": position for image in images}))
        assert plan.refusal is None, "a source that is moved past what is gone can be gone on with"
        told = [(moved.skipped, moved.again > 0, moved.unit) for moved in plan.moved]
        assert told == [(skipped, reads_again, "rows")] * len(images), plan.moved
    return images


def the_present_is_overtaken(server: Server, broker: Broker) -> None:
    """Nor does the job go on where it stands, once what comes next there is gone; a broker that does not answer stops nobody."""
    face, newest = server.face, server.newest("a").id
    broker.write(CLICKS, phase(5, 3))
    plan = face.plan(Resume("a"))
    assert plan.refusal is None
    assert [
        warning for warning in plan.warnings if warning.startswith("Query query-0: Kafka clicks has all after its last batch, at least")
    ]

    broker.forget(CLICKS, {0: 37})
    assert face.plan(Resume("a")).refusal is None, "it begins where the job goes on"
    refused(server, "topic clicks, partition 0: offsets 37 to 39 are gone, it begins at 40", lambda: broker.forget(CLICKS, {0: 40}))
    forced = face.plan(Resume("a", force=True))
    assert forced.refusal is None and any("offsets 37 to 39 are gone" in warning for warning in forced.warnings)
    refused(server, "topic clicks is gone", lambda: broker.delete(CLICKS))
    refused(server, "topic clicks, partition 0 ends at offset 0, before 37: the topic was made anew", lambda: broker.create(CLICKS, 3))
    secret = face.layout.root.parent / "password"
    secret.write_text("wrong")
    assert any("Invalid username or password" in warning for warning in face.plan(Resume("a")).warnings)
    secret.write_text(kafka.PASSWORD)
    broker.process.kill()
    broker.process.wait()
    plan = face.plan(Resume("a"))
    says = "Query query-0: whether its source still has all rows after its last batch is not known: Kafka at"
    assert plan.refusal is None and any(warning.startswith(says) for warning in plan.warnings)
    assert server.newest("a").id == newest
    kept = [path for path in face.layout.root.rglob("*") if path.is_file() and kafka.PASSWORD.encode() in path.read_bytes()]
    assert kept == []


def refused(server: Server, gap: str, loss: Callable[[], None]) -> None:
    """After the loss, going on is refused with the gap; before the broker has told of it, it may be as it was."""
    loss()
    until(lambda: (plan := server.face.plan(Resume("a"))).refusal is not None and gap in plan.refusal.message)
    refusal = server.face.plan(Resume("a")).refusal
    assert refusal is not None and refusal.code == "source.gone" and "Query query-0 " in refusal.message and refusal.hint
    with pytest.raises(Conflict, match=re.escape(gap)):
        do(server.face, Resume("a"))
