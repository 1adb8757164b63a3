"""A job of `standalone.py` on a master and on others: how far it is, what it wrote, and that this is what one never interrupted writes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.ids import JobName
from pipelines.domain.masters import Cluster
from pipelines.verbs.jobs import ReadLog, ShowJob
from tests.driver.process import batches
from tests.java import INTERPRETED
from tests.workspace.following import noted
from tests.workspace.serving import Server
from tests.workspace.standalone import QUERIES, SCRIPT

ALL = 8
"""Files, one a batch: so many close a window."""
CONF = {**INTERPRETED, "spark.sql.streaming.noDataMicroBatches.enabled": "false", "spark.sql.session.timeZone": "UTC"}
"""Of every job, so that its batches and its times are those of the undisturbed run."""


def committed(server: Server, job: str) -> int:
    """The newest batch that all queries have committed."""
    newest = server.newest(job)
    assert not newest.state.has_failed or newest.state.goes_on, f"{newest.exit}\n{server.face.ask(ReadLog(job)).text}"
    folders = [Path(newest.checkpoints, query, "commits") for query in QUERIES]
    return min((batches(folder.parent, "commits") or [-1])[-1] if folder.is_dir() else -1 for folder in folders)


def where(server: Server, job: str) -> Cluster | None:
    return server.face.ask(ShowJob(job)).cluster


@dataclass(frozen=True)
class Output:
    """What a job wrote: the rows of its file sink, and those of each batch of the other query."""

    windows: list[str]
    keys: Mapping[int, list[str]]


def output(spark: Any, server: Server, job: str) -> Output:
    return _read(spark, server.face.layout.output(JobName(job)))


def undisturbed(spark: Any, files: Path, folder: Path) -> Output:
    """What the script writes in the tests' own Spark, where nothing interrupts it; `folder` is for its files."""
    session = spark.newSession()
    for key, value in {**CONF, "spark.sql.streaming.checkpointLocation": str(folder / "checkpoints")}.items():
        session.conf.set(key, value)
    code = compile(SCRIPT.replace("SparkSession.builder.getOrCreate()", "session"), "a.py", "exec")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["a.py", str(files), str(folder / "gate"), str(folder / "output"), "once"])
        exec(code, {"__name__": "__main__", "session": session})
    written = _read(spark, folder / "output")
    assert written.windows and sorted(written.keys) == list(range(ALL))
    return written


def _read(spark: Any, folder: Path) -> Output:
    return Output(sorted(map(str, spark.read.parquet(str(folder / "windows")).collect())), noted(folder, "keys"))


def assert_exact(spark: Any, server: Server, files: Path, folder: Path, began: Mapping[str, int]) -> None:
    """Each job of `began`, with the first batch that it did itself, has written what the undisturbed run writes."""
    whole = undisturbed(spark, files, folder)
    for job, since in began.items():
        written = output(spark, server, job)
        assert written.windows == whole.windows, job
        assert written.keys == {batch: rows for batch, rows in whole.keys.items() if batch >= since}, job
