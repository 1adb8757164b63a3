"""Delta Lake and Iceberg on the Sparks on which the usual run has no such job, each of which needs an environment of 500 MB; and a job that
writes to them is upgraded and rolled back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.connectors import DELTA, KAFKA
from pipelines.verbs.connectors import ShowConnectors
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ReadLog
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from tests import delta, iceberg, kafka, maven, runtimes
from tests.kafka import Broker
from tests.waiting import until
from tests.workspace import delta_forks, test_iceberg_exact
from tests.workspace.delta_forks import QUERIES, expected, fork_has_tables_of_its_own
from tests.workspace.serving import Server, serving
from tests.workspace.test_delta_source_exact import has_the_rows_of_one_that_nobody_touched
from tests.workspace.test_iceberg_exact import has_the_rows_of_a_run_that_nobody_interrupted
from tests.workspace.test_kafka import broker, goes_on
from tests.workspace.test_runtimes_exact import CONF, put

NEWEST = "4.2.1"
"""The newest that Delta Lake has a release for, and of Kafka's connector Maven's repository one that fits."""
OF_DELTA = map(delta.missing, (runtimes.USUAL, runtimes.NEWER, NEWEST))
MISSING = " ".join(filter(None, (*OF_DELTA, iceberg.missing(runtimes.NEWER), kafka.missing(NEWEST))))
__all__ = ["broker"]
pytestmark = [
    pytest.mark.long,
    pytest.mark.spark,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "ws") as server:
        yield server


@pytest.mark.parametrize("spark", [runtimes.USUAL, runtimes.NEWER, NEWEST])
def test_a_fork_has_tables_of_its_own_with_the_rows_of_one_that_nobody_interrupted(server: Server, tmp_path: Path, spark: str) -> None:
    fork_has_tables_of_its_own(server, tmp_path, spark)


@pytest.mark.parametrize("spark", [runtimes.USUAL, runtimes.NEWER, NEWEST])
def test_the_rows_are_those_of_one_that_nobody_touched(server: Server, tmp_path: Path, spark: str) -> None:
    has_the_rows_of_one_that_nobody_touched(server, tmp_path, spark)


def test_the_rows_of_every_branch_are_those_of_a_run_that_nobody_interrupted(server: Server, tmp_path: Path) -> None:
    has_the_rows_of_a_run_that_nobody_interrupted(server, tmp_path, runtimes.NEWER)


def test_a_job_on_kafka_has_the_rows_of_one_that_nobody_interrupted(server: Server, broker: Broker) -> None:
    """On the newest, whose own patch Kafka's connector is not of; Delta's jars load beside it."""
    jars = [*maven.jars(kafka.connector(NEWEST)), *maven.jars(delta.connector(NEWEST))]
    answer = server.face.ask(ShowConnectors(runtimes.python(NEWEST), conf={"spark.jars": ",".join(map(str, jars))}))
    assert (answer.spark_version, {each.system for each in answer.connectors if each.is_ready}) == (NEWEST, {KAFKA, DELTA})
    goes_on(server, broker, spark=NEWEST)
    assert {server.newest(job).spark_version for job in ("a", "b")} == {NEWEST}


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_one_that_is_upgraded_and_rolled_back_has_the_rows_of_one_that_nobody_touched(server: Server, tmp_path: Path, kind: str) -> None:
    """Rolled back to the savepoint before the upgrade, and after a second upgrade to a batch: what the other code wrote is gone, and the
    batches that are done again are written, which a table that remembers their numbers would skip."""
    face, into = server.face, tmp_path / "in"
    code = {"delta": delta_forks.CODE, "iceberg": test_iceberg_exact.CODE}[kind]
    upgraded = code.replace('F.col("n")', 'F.col("n") * 10')

    def run(job: str) -> None:
        lake = tmp_path / job
        script = RunScript(name=job, script="job.py", code=code, args=(str(into), str(lake)), conf=conf(kind, lake), master="local[2]")
        do(face, replace(script, python=runtimes.python(runtimes.NEWER)))

    def has(job: str, rows: list[tuple[Any, ...]]) -> None:
        until(lambda: tables(server, job, kind, tmp_path / job) == [rows] * len(QUERIES), what=f"{job} with {len(rows)} rows")

    put(into, 0, 4)
    run("a")
    has("a", expected(4))
    savepoint, before = do(face, Take("a")), server.newest("a")
    server.stop("a", savepoint=False)
    put(into, 4, 3)
    do(face, Resume("a", code=upgraded, force=True))
    has("a", expected(7, changed_from=4))
    server.stop("a", savepoint=False)

    rolled_back = Resume("a", from_savepoint=savepoint.id, version=before.version)
    assert [sink.action for sink in face.plan(rolled_back).sinks] == ["cut", "cut"]
    do(face, rolled_back)
    has("a", expected(7))
    put(into, 7, 1)
    has("a", expected(8))
    second = do(face, Take("a"))
    server.stop("a", savepoint=False)

    put(into, 8, 2)
    do(face, Resume("a", code=upgraded, force=True))
    has("a", expected(10, changed_from=8))
    server.stop("a", savepoint=False)
    back = {str(image.query): image.batch for image in second.queries}
    do(face, Resume("a", batch=back, version=before.version))
    run("whole")
    for job in ("a", "whole"):
        has(job, expected(10))
    put(into, 10, 1)
    for job in ("a", "whole"):
        has(job, expected(11))


def conf(kind: str, lake: Path) -> Mapping[str, str]:
    of_kind = delta.conf(runtimes.NEWER) if kind == "delta" else iceberg.conf(lake, runtimes.NEWER)
    return {**CONF, **of_kind, "spark.sql.shuffle.partitions": "1"}


def tables(server: Server, job: str, kind: str, lake: Path) -> list[list[tuple[Any, ...]]]:
    """The rows of a running job's tables."""
    newest = server.newest(job)
    assert not newest.state.has_failed and not newest.attempt, server.face.ask(ReadLog(job)).text[-4000:]
    read = delta_forks.written if kind == "delta" else iceberg.written
    return [read(lake / query if kind == "delta" else lake / "db" / query) for query in QUERIES]
