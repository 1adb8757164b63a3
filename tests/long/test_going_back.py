"""A job that writes to databases by `foreachBatch` is upgraded, rolled back, and taken back to a batch: its tables are those of a run that
nobody touched, without a row of what was taken back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.runs import RunState
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from tests.jobs import postgres
from tests.jobs.loading import JOBS
from tests.jobs.test_exactly_once import table
from tests.waiting import until
from tests.workspace.proving import CONF
from tests.workspace.serving import Server, serving

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(1800)]

CODE = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession, functions as F
from exactly_once import exactly_once

events, places, schema = sys.argv[1], sys.argv[2:5], sys.argv[5]
spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.schema("k STRING, n BIGINT").option("maxFilesPerTrigger", 1).json(events)
sums = rows.groupBy("k").agg(F.sum("n").alias("sum"))
started = []
for place in places:
    kind, _, file = place.partition(":")
    if kind != "postgresql":
        Path(file).parent.mkdir(parents=True, exist_ok=True)
    writer = sums.writeStream.queryName(kind).outputMode("update").trigger(availableNow=True)
    started.append(writer.foreachBatch(exactly_once(place, schema, "sums", "k TEXT, sum BIGINT")).start())
for query in started:
    query.awaitTermination()
"""
UPGRADED = CODE.replace('F.sum("n")', 'F.sum(F.col("n") * 10)')
KINDS = ("postgresql", "duckdb", "sqlite")
BEFORE, FILES, BACK = 3, 6, 3
"""Files before the upgrade, and all, one a batch; the batch to go back to."""


def lay(events: Path, files: range) -> None:
    events.mkdir(exist_ok=True)
    for number in files:
        file = events / f"{number}.json"
        file.write_text("".join(json.dumps({"k": f"k{key}", "n": number * 5 + key}) + "\n" for key in range(1 + number % 3)))
        os.utime(file, (1_767_225_600 + number,) * 2)


def sums(first: int = 0, upgraded: range = range(0)) -> list[tuple[Any, ...]]:
    """What each batch writes, of batches from `first` on: the sums of the keys that it has."""
    held: dict[str, int] = {}
    rows = []
    for number in range(FILES):
        for key in range(1 + number % 3):
            name = f"k{key}"
            held[name] = held.get(name, 0) + (number * 5 + key) * (10 if number in upgraded else 1)
            rows.append((name, held[name], number))
    return sorted(row for row in rows if row[-1] >= first)


@pytest.fixture
def server(kept_jvms: None, tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "ws") as server:
        yield server


def finished(server: Server, job: str) -> None:
    until(lambda: not server.newest(job).state.live, 400)
    assert server.newest(job).state is RunState.FINISHED, server.face.ask(ReadLog(job)).text


def test_tables_in_databases_go_back_with_their_job(server: Server, tmp_path: Path) -> None:
    face, events = server.face, tmp_path / "events"
    with postgres.serving() as url:

        def places(job: str) -> list[str]:
            return [url, f"duckdb:{tmp_path}/{job}/a.duckdb", f"sqlite:{tmp_path}/{job}/a.sqlite"]

        def written(job: str) -> list[list[tuple[Any, ...]]]:
            return [table(place, job, "sums") for place in places(job)]

        def args(job: str) -> tuple[str, ...]:
            return (str(events), *places(job), job)

        def script(job: str) -> RunScript:
            helper = (JOBS / "exactly_once.py").read_text()
            return RunScript(name=job, script="a.py", code=CODE, files={"exactly_once.py": helper}, args=args(job), conf=CONF)

        lay(events, range(BEFORE))
        do(face, script("main"))
        finished(server, "main")
        saved = do(face, Take("main"))
        lay(events, range(BEFORE, FILES))
        do(face, Resume("main", code=UPGRADED, script="a.py", force=True))
        finished(server, "main")
        assert written("main") == [sums(upgraded=range(BEFORE, FILES))] * len(KINDS), "the upgrade has written its own sums"
        do(face, script("whole"))
        do(face, Resume("main", from_savepoint=saved.id, code=CODE, script="a.py"))
        finished(server, "whole")
        finished(server, "main")
        assert written("main") == written("whole") == [sums()] * len(KINDS), "rolled back"
        do(face, Resume("main", batch=dict.fromkeys(KINDS, BACK)))
        finished(server, "main")
        assert written("main") == written("whole"), "taken back to a batch"
        do(face, Fork(saved.id, name="fork", args=args("fork")))
        finished(server, "fork")
        assert written("fork") == [sums(BEFORE)] * len(KINDS) and written("main") == written("whole")
