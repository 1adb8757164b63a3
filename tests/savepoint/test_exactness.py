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
from pipelines.savepoint import verify
from pipelines.savepoint.batch_choice import OfBatch
from tests.driver.process import Driver, Drivers
from tests.savepoint.streaming import BRISK, ENGAGEMENT, STORES, Lab, differences, rows, write_events

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

FILES = 12
"""One a batch: both logs are compacted three times, after batches 3, 7 and 11."""
COMPACTED = {"spark.sql.streaming.fileSource.log.compactInterval": "4", "spark.sql.streaming.fileSink.log.compactInterval": "4"}


@dataclass(frozen=True)
class Reference:
    """The input, and what an uninterrupted run made of it."""

    events: Path
    output: list[str]


def lab(drivers: Drivers, events: Path, store: str) -> Lab:
    args = ("--events", str(events), "--output", "{output}", "--available-now", "--window", "5 seconds", "--delay", "15 seconds")
    return Lab(drivers, ENGAGEMENT, {**BRISK, **COMPACTED, **STORES[store]}, args)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    folder = tmp_path_factory.mktemp("reference")
    drivers = Drivers(folder)
    try:
        uninterrupted = lab(drivers, write_events(folder / "events", FILES), "rocksdb_format2")
        uninterrupted.finish(uninterrupted.start("reference"))
        assert uninterrupted.committed("reference") >= FILES - 1, "as many batches as files"
        output = uninterrupted.output("reference")
        assert rows(output) > 40
        yield Reference(folder / "events", output)
    finally:
        drivers.end()


def take_while_running(lab: Lab, driver: Driver) -> list[Savepoint]:
    """Three savepoints of the running job, between any of its steps: two of the newest batch, one of a batch in the past."""
    taken: list[Savepoint] = []
    for batch in (4, 6):
        lab.await_batch(driver, "main", batch)
        taken.append(lab.take("main", f"sp-{batch}"))
    taken.append(lab.take("main", "sp-past", OfBatch(2)))
    assert driver.process.poll() is None, "all were taken while the job ran"
    return taken


@pytest.mark.parametrize("store", ["hdfs", "rocksdb_changelog", "rocksdb_format2"])
def test_forks_and_a_killed_job_give_the_uninterrupted_output(store: str, reference: Reference, drivers: Drivers) -> None:
    here = lab(drivers, reference.events, store)
    main = here.start("main")
    taken = take_while_running(here, main)
    here.await_batch(main, "main", 7)
    here.kill(main)
    starts = {"main": partial(here.start, "main")} | {one.id: partial(here.fork, one, one.id) for one in taken}
    for job, begin in starts.items():
        here.finish(begin())
        assert differences(here.output(job), reference.output) == [], job
    for one in taken:
        assert verify.verify(here.library, one.id, Trust.INTACT, 1).reached is Trust.INTACT


def test_a_resume_from_a_savepoint_goes_back_and_gives_the_same_output(reference: Reference, drivers: Drivers) -> None:
    """The whole output is there already when the job goes back: its sink log is cut, its later batches are done again."""
    here = lab(drivers, reference.events, "rocksdb_format2")
    main = here.start("main")
    here.await_batch(main, "main", 4)
    taken = here.take("main", "sp-4")
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
