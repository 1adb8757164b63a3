"""The promise: a fork with the same code gives, row for row, what a run that was never interrupted gives.

The job is killed with SIGKILL after its savepoints were taken, and goes on from its own checkpoint: its output must be whole too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.savepoint.batch_choice import AtTime, OfBatch
from tests.driver.process import Driver, Drivers
from tests.savepoint.streaming import BRISK, ENGAGEMENT, JOBS, STORES, Lab, differences, rows, write_events
from tests.verified import verified

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

FILES = 10
"""One a batch: both logs are compacted three times, in batches 2, 5 and 8."""
COMPACTED = {"spark.sql.streaming.fileSource.log.compactInterval": "3", "spark.sql.streaming.fileSink.log.compactInterval": "3"}
ARGUMENTS = ("--output", "{output}", "--available-now", "--window", "5 seconds", "--delay", "15 seconds")
KEPT_IN = ("hdfs", "rocksdb_changelog", "rocksdb_format2")
"""The stores of the queries in one job, each called as its store."""
SEVERAL = f"""
import sys
sys.path.insert(0, {str(JOBS)!r})
import post_engagement as job

args, spark = job.arguments(), job.session()
queries = []
for store, conf in {[(store, STORES[store]) for store in KEPT_IN]!r}:
    for key, value in conf.items():
        spark.conf.set(key, value)
    events = spark.readStream.schema(job.EVENTS).option("maxFilesPerTrigger", args.max_files).json(args.events)
    writer = job.engagement(events, args).writeStream.queryName(store).outputMode("append").format("parquet")
    queries.append(writer.trigger(availableNow=True).start(f"{{args.output}}/{{store}}"))
for query in queries:
    query.awaitTermination()
"""


@dataclass(frozen=True)
class Reference:
    """The input, and what an uninterrupted run made of it."""

    events: Path
    output: list[str]


def lab(drivers: Drivers, events: Path, script: str | Path = ENGAGEMENT) -> Lab:
    return Lab(drivers, script, {**BRISK, **COMPACTED, **STORES["rocksdb_format2"]}, ("--events", str(events), *ARGUMENTS))


@pytest.fixture(scope="module")
def reference(kept_jvms: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    folder = tmp_path_factory.mktemp("reference")
    drivers = Drivers(folder)
    try:
        uninterrupted = lab(drivers, write_events(folder / "events", FILES))
        uninterrupted.finish(uninterrupted.start("reference"))
        assert uninterrupted.committed("reference") >= FILES - 1, "as many batches as files"
        output = uninterrupted.output("reference")
        assert rows(output) > 30
        yield Reference(folder / "events", output)
    finally:
        drivers.end()


def await_batch(lab: Lab, driver: Driver, batch: int) -> None:
    """Until every query of the job has committed it."""
    for store in KEPT_IN:
        lab.await_batch(driver, "main", batch, store)


def committed_at_ms(lab: Lab, batch: int) -> int:
    """When the last of the queries had committed it."""
    commits = [lab.drivers.checkpoints("main") / store / "commits" / str(batch) for store in KEPT_IN]
    return max(commit.stat().st_mtime_ns for commit in commits) // 1_000_000


def take_while_running(lab: Lab, driver: Driver) -> list[Savepoint]:
    """Three savepoints of the running job, between any of its steps: two of the newest batches, one of a moment in the past."""
    taken: list[Savepoint] = []
    for batch in (3, 5):
        await_batch(lab, driver, batch)
        taken.append(lab.take("main", f"sp-{batch}"))
    taken.append(lab.take("main", "sp-past", AtTime(committed_at_ms(lab, 1))))
    assert driver.process.poll() is None, "all were taken while the job ran"
    for savepoint, least in zip(taken, (3, 5, 1), strict=True):
        assert {image.query for image in savepoint.queries} == set(KEPT_IN)
        assert min(image.batch for image in savepoint.queries) >= least
    batches = [{image.query: image.batch for image in savepoint.queries} for savepoint in taken]
    assert all(batches[2][store] < batches[1][store] for store in KEPT_IN), "it is of the past"
    return taken


def test_forks_and_a_killed_job_give_the_uninterrupted_output(reference: Reference, drivers: Drivers) -> None:
    """A job with a query on each kind of store: each gives what one query gives that runs alone on one of them."""
    here = lab(drivers, reference.events, SEVERAL)
    main = here.start("main")
    taken = take_while_running(here, main)
    await_batch(here, main, 6)
    here.kill(main)
    forked = taken[1:]  # the newest, and the one of the past
    starts = {"main": partial(here.start, "main")} | {savepoint.id: partial(here.fork, savepoint, savepoint.id) for savepoint in forked}
    for job, begin in starts.items():
        here.finish(begin())
        for store in KEPT_IN:
            assert differences(here.output(job, store), reference.output) == [], (job, store)
    for savepoint in taken:
        assert verified(here.library, savepoint.id, Trust.INTACT, 1).reached is Trust.INTACT


def test_a_resume_from_a_savepoint_goes_back_and_gives_the_same_output(reference: Reference, drivers: Drivers) -> None:
    """The whole output is there already when the job goes back: its sink log is cut, its later batches are done again."""
    here = lab(drivers, reference.events)
    main = here.start("main")
    here.await_batch(main, "main", 3)
    taken = here.take("main", "sp-3")
    here.finish(main)
    assert differences(here.output("main"), reference.output) == []
    here.finish(here.resume(taken))
    assert differences(here.output("main"), reference.output) == []
    here.finish(here.resume(here.take("main", "sp-rewind", OfBatch(FILES - 4))))
    assert differences(here.output("main"), reference.output) == [], "back to a batch that was done after the first way back"


@pytest.fixture
def drivers(tmp_path: Path) -> Iterator[Drivers]:
    drivers = Drivers(tmp_path)
    yield drivers
    drivers.end()
