"""A file sink both ways, with real Spark past the next compaction of its log, and from a workspace that was moved meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines.checkpoint import sink_log
from pipelines.domain.errors import Conflict
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Savepoint
from pipelines.savepoint import manifests, restore
from pipelines.savepoint.batch_choice import OfBatch
from pipelines.storage.local import LocalStorage
from tests.driver.process import Drivers
from tests.savepoint.streaming import BRISK, ENGAGEMENT, STORES, Lab, differences, rows, write_events

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

FILES, BOUNDARY, NEXT = 8, 2, 5
"""Batches with data; the one that the sink's log was compacted in, and the next such."""
COMPACTED = {"spark.sql.streaming.fileSource.log.compactInterval": "3", "spark.sql.streaming.fileSink.log.compactInterval": "3"}


class Workspace(Drivers):
    """Drivers whose jobs lie as they do in a workspace, which can be moved."""

    def output(self, job: str = "job") -> Path:
        return self.folder / "jobs" / job / "output"


def lab(drivers: Drivers, events: Path) -> Lab:
    args = ("--events", str(events), "--output", "{output}", "--available-now", "--window", "10 seconds", "--delay", "15 seconds")
    return Lab(drivers, ENGAGEMENT, {**BRISK, **COMPACTED, **STORES["rocksdb_format2"]}, args)


@pytest.fixture(scope="module")
def parent(kept_jvms: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A job that ran to its end, with a savepoint of a batch on the way."""
    folder = tmp_path_factory.mktemp("both-ways")
    drivers = Workspace(folder / "ws")
    here = lab(drivers, write_events(folder / "events", FILES))
    try:
        here.finish(here.start("main"))
        here.take("main", "sp-2", OfBatch(BOUNDARY))
        yield here
    finally:
        drivers.end()


def saved(here: Lab) -> Savepoint:
    from pipelines.savepoint import library

    return library.load(here.library, SavepointId("sp-2"))


def as_spark_reads(spark: Any, here: Lab, job: str) -> list[str]:
    """The files of a copy that `spark.read` made of the job's output."""
    target = here.drivers.folder / "read" / job
    spark.read.parquet(str(here.drivers.output(job) / "engagement")).coalesce(1).write.parquet(str(target))
    return [str(path) for path in target.glob("*.parquet")]


def history(here: Lab) -> list[str]:
    """The files with the rows that the parent had written up to the savepoint."""
    storage = LocalStorage(here.drivers.output("main") / "engagement")
    log = sink_log.read(storage, BOUNDARY, sink_log.FOLDER)
    return [file.path.removeprefix("file://") for file in sink_log.live_files(log, BOUNDARY)]


def less(files: Sequence[str], without: Sequence[str], target: Path) -> list[str]:
    left, right = (f"SELECT * FROM read_parquet({list(some)})" for some in (files, without))
    duckdb.sql(f"COPY ({left} EXCEPT ALL {right}) TO '{target}' (FORMAT parquet)")
    return [str(target)]


def test_continued_and_fresh_forks_hold_what_they_say(spark: Any, parent: Lab, tmp_path: Path) -> None:
    parent.finish(parent.fork(saved(parent), "continued"))
    parent.finish(parent.fork(saved(parent), "fresh", {"engagement": "fresh"}))
    whole = parent.output("main")
    log = parent.drivers.output("fresh") / "engagement" / "_spark_metadata"
    assert (log / f"{NEXT}.compact").is_file(), "past the next compaction, at the interval that the parent's log had"
    continued, fresh = (as_spark_reads(spark, parent, job) for job in ("continued", "fresh"))
    own = less(whole, history(parent), tmp_path / "own.parquet")
    assert 0 < rows(own) < rows(whole)
    assert differences(continued, whole) == []
    assert differences(fresh, own) == []


def test_a_moved_workspace_still_has_its_history(spark: Any, parent: Lab) -> None:
    old, new = parent.drivers.folder, parent.drivers.folder.with_name("moved")
    reference = old.with_name("reference")
    shutil.copytree(parent.drivers.output("main") / "engagement", reference)
    whole = [str(reference / Path(path).name) for path in parent.output("main")]
    shutil.move(old, new)
    drivers = Workspace(new)
    here = Lab(drivers, ENGAGEMENT, parent.conf, parent.args)
    try:
        here.finish(here.fork(saved(here), "after-the-move"))
        assert differences(as_spark_reads(spark, here, "after-the-move"), whole) == []
        _refused_without_its_history(here)
    finally:
        drivers.end()
        shutil.move(new, old)


def _refused_without_its_history(here: Lab) -> None:
    target = here.forking(saved(here), "lost")
    Path(history_after_the_move(here)[0]).unlink()
    manifest = manifests.load(here.library, SavepointId("sp-2"))
    assert [sink.action for sink in restore.plan(here.library, manifest, target).sinks] == ["refuse"]
    with pytest.raises(Conflict, match=r"1 of the .* any more") as refused:
        restore.restore(here.library, SavepointId("sp-2"), target, 1)
    assert refused.value.code == "restore.history_gone"
    assert "fresh" in refused.value.hint


def history_after_the_move(here: Lab) -> list[str]:
    return [str(here.drivers.output("main") / "engagement" / Path(path).name) for path in history(here)]
