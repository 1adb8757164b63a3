"""Kafka with a real broker: a job that runs elsewhere is attached and forked, and a fork is moved past what is gone."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
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
from pipelines.verbs.stop import Stop
from pipelines.verbs.take import Take
from tests import kafka
from tests.driver.process import CONF
from tests.kafka import Broker
from tests.waiting import until
from tests.workspace.kafka_job import LAST_S, SCRIPT, closing, phase, row, sums
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
    retention_overtakes,
    server,
    values,
)

__all__ = ["broker", "server"]
pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(1200), pytest.mark.usefixtures("kept_jvms")]


def test_one_that_is_attached_and_one_that_is_moved(server: Server, broker: Broker, tmp_path: Path) -> None:
    theirs: list[Savepoint] = []
    begun = goes_on(server, broker, lambda: theirs.append(attach(server, broker, tmp_path / "outside")))
    args = (broker.servers, "{output}", CLICKS, LATER, "copies_of_theirs")
    do(server.face, Fork(savepoint=theirs[0].id, name="of_theirs", args=args, new_queries=("copies", "query-2")))
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
