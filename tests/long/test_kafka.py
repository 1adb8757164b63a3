"""Kafka with a real broker: a job that runs elsewhere is attached and forked, and a fork is moved past what is gone."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.checkpoint import sink_log
from pipelines.domain.ids import JobName
from pipelines.domain.restart_strategies import Strategy
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import QueryImage, Savepoint
from pipelines.verbs.attach import Attach
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.input_rows import ReadInputRows
from pipelines.verbs.restart_strategy import SetRestartStrategy
from pipelines.verbs.run import RunScript
from pipelines.verbs.stop import Stop
from pipelines.verbs.take import Take
from tests import kafka
from tests.driver.process import CONF
from tests.kafka import Broker
from tests.waiting import until
from tests.workspace.kafka_job import LAST_S, ROWS, SCRIPT, closing, phase, row, sums
from tests.workspace.serving import Server
from tests.workspace.test_kafka import (
    ALL,
    CLICKS,
    LAST,
    LATER,
    PAST,
    await_positions,
    await_rows,
    broker,
    goes_on,
    live_rows,
    retention_overtakes,
    saved,
    server,
    values,
)

__all__ = ["broker", "server"]
pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(1200), pytest.mark.usefixtures("kept_jvms")]
FIRST_MS, STEP_MS = 1_767_225_600_000, 1_000
"""The time of the first message, and from each to the next."""


def test_one_that_is_attached_and_one_that_is_moved(server: Server, broker: Broker, tmp_path: Path) -> None:
    theirs: list[Savepoint] = []
    begun = goes_on(server, broker, lambda: theirs.append(attach(server, broker, tmp_path / "outside")))
    args = (broker.servers, "{output}", CLICKS, LATER, "copies_of_theirs")
    do(server.face, Fork(savepoint=theirs[0].id, name="of_theirs", args=args, new_queries=("copies", "query-2", "named")))
    await_rows(server, "of_theirs", "sums", sums(ALL))
    do(server.face, Stop("of_theirs", savepoint=False))
    moved_past_what_is_gone(server, broker, begun, retention_overtakes(server, broker, begun))


def attach(server: Server, broker: Broker, outside: Path) -> Savepoint:
    """Attaches the aggregation as if it ran elsewhere: copies of its checkpoint and its output stand for those there."""
    shutil.copytree(Path(server.newest("a").checkpoints) / "query-0", outside / "checkpoint")
    sink, there = server.face.layout.output(JobName("a")) / "sums", outside / "sums"
    shutil.copytree(sink, there, ignore=shutil.ignore_patterns(".*.crc"))
    for entry in (there / sink_log.FOLDER).iterdir():
        entry.write_text(entry.read_text().replace(str(sink), str(there)))
    theirs = Attach(
        name="theirs",
        checkpoints={"query-0": str(outside / "checkpoint")},
        sink="parquet",
        sink_path=str(there),
        script="job.py",
        code=SCRIPT,
        args=(broker.servers, str(outside), CLICKS, LATER, "copies_of_theirs"),
        conf={**CONF, **kafka.conf()},
    )
    do(server.face, theirs)
    return do(server.face, Take("theirs"))


def moved_past_what_is_gone(server: Server, broker: Broker, begun: Savepoint, images: Sequence[QueryImage]) -> None:
    """A fork from there has what was counted before the savepoint and what it reads from where it was moved to, and nothing between."""
    do(server.face, Fork(savepoint=begun.id, name="d", offsets={f"{image.query}.0": PAST for image in images}))
    skipped = {(3, at) for at in (0, 3, 6, 9, 12, 15, 2)}
    await_rows(server, "d", "sums", sums(ALL, skipped))
    await_positions(server, LAST, "d")
    read = [value for at, value in enumerate(values(phase(3, 3))) if (3, at) not in skipped]
    assert sorted(broker.read("copies.d")) == sorted([*read, *values([*phase(4, 3), closing()])])
    has_input_rows(server, broker)


def has_input_rows(server: Server, broker: Broker) -> None:
    """Of a batch that fails at a row which the script refuses."""
    do(server.face, SetRestartStrategy("d", Strategy.NONE))
    poison = row(2, "poison", -1, LAST_S)
    broker.write(CLICKS, [poison])
    until(lambda: server.newest("d").state is RunState.FAILED)
    read = do(server.face, ReadInputRows("d"))
    (source,) = read.sources
    names = [column.name for column in source.columns]
    (given,) = (dict(zip(names, cells, strict=True)) for cells in source.rows)
    assert (read.query, source.source, source.problem) == ("copies", "kafka", "")
    assert (given["value"], given["topic"], given["partition"], given["offset"]) == (poison[1], CLICKS, "2", "18")


def test_one_that_is_moved_to_a_time_between_two_messages(server: Server, broker: Broker) -> None:
    """It has the rows of a run that Spark itself begins at that time; both when it skips messages and when it reads some again."""
    broker.create("timed", 2, {"retention.ms": "-1"})
    broker.create("timed_later")
    conf = {**CONF, **kafka.conf()}

    def run(name: str, code: str) -> None:
        args = (broker.servers, "{output}", "timed", "timed_later", f"copies_of_{name}")
        do(server.face, RunScript(name=name, script="job.py", code=code, args=args, conf=conf))

    write_timed(broker, 0)
    run("t", SCRIPT)
    await_positions(server, '{"timed":{"0":9,"1":9}}', "t")
    begun = saved(server, "t")
    broker.grow("timed", 3)
    broker.write("timed", [row(2, "new", 1, 0)], [time_ms(0, 0)])
    write_timed(broker, 1)
    write_timed(broker, 2)
    broker.write("timed", [closing()], [time_ms(3, 0)])
    queries = [image.query for image in begun.queries if '"timed":' in (image.offsets[0].offset or "")]
    assert len(queries) == 2
    for name, (number, at), distances in (("on", (1, 7), (8, 0)), ("back", (0, 5), (1, 13))):
        between_ms = time_ms(number, at) - STEP_MS // 2
        between = datetime.fromtimestamp(between_ms / 1000, UTC).isoformat()
        change = Fork(savepoint=begun.id, name=name, offsets={f"{query}.0": between for query in queries})
        assert [(moved.skipped, moved.again) for moved in server.face.plan(change).moved] == [distances] * 2
        begins = f'"startingTimestamp": "{between_ms}", "startingOffsetsByTimestampStrategy": "latest"'
        run(f"{name}_whole", SCRIPT.replace('"startingOffsets": "earliest"', begins))
        do(server.face, change)
        await_positions(server, '{"timed":{"0":28,"1":27,"2":1}}', name, f"{name}_whole")
        since = [value for of in range(number, 3) for value in values(phase(of, 2))[at if of == number else 0 :]]
        assert sorted(broker.read(f"copies_of_{name}_whole")) == sorted([*since, *values([closing()])])
        assert sorted(broker.read(f"copies_of_t.{name}")) == sorted(broker.read(f"copies_of_{name}_whole"))
    skipped = {(1, at) for at in range(7)}
    await_rows(server, "on_whole", "sums", sums(range(1, 3), skipped))
    await_rows(server, "on", "sums", sorted([*sums(range(1)), *sums(range(1, 3), skipped)]))
    assert live_rows(server, "on", "sums") == sorted([*sums(range(1)), *live_rows(server, "on_whole", "sums")], key=str)


def time_ms(number: int, at: int) -> int:
    """Of the message at a place in a phase."""
    return FIRST_MS + (number * ROWS + at) * STEP_MS


def write_timed(broker: Broker, number: int) -> None:
    broker.write("timed", phase(number, 2), [time_ms(number, at) for at in range(ROWS)])
