"""Code whose sources have other places or names, more of them or fewer, with real Spark: no file is passed over, none is read twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.domain.errors import Incompatible
from pipelines.domain.verdicts import Outcome
from pipelines.verbs.check import Check
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog, ShowJob
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from tests.driver.process import CONF
from tests.waiting import until
from tests.workspace.serving import Server, serving

CODE = """
import json, sys
from pyspark.sql import SparkSession

events, output = sys.argv[1:3]
spark = SparkSession.builder.getOrCreate()


def source(folder, name=None):
    reader = spark.readStream if name is None else spark.readStream.name(name)
    return reader.schema("file STRING").option("maxFilesPerTrigger", 1).json(f"{events}/{folder}")


def write(frame, batch):
    with open(f"{output}.jsonl", "a") as file:
        file.write("".join(f"{json.dumps([row['file'], row['count']])}\\n" for row in frame.collect()))


counts = (SOURCES).groupBy("file").count().writeStream.queryName("counts").outputMode("update")
counts.trigger(availableNow=True).foreachBatch(write).start().awaitTermination()
"""
BY_NAME = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}
BEFORE = 'source("a").union(source("b"))'
MORE = 'source("c").union(source("b")).union(source("a"))'
NAMED = 'source("c", "new").union(source("b", "views"))'
BACK = 'source("b").union(source("c"))'
RENAMED = 'source("b", "pages").union(source("c", "new"))'


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "workspace") as running:
        yield running


def write(events: Path, at: int, *folders: str) -> None:
    """A file for each folder: a row of its own, and one that all files of the folder have."""
    for folder in folders:
        (events / folder).mkdir(parents=True, exist_ok=True)
        rows = (f"{folder}{at}", folder)
        (events / folder / f"{at}.json").write_text("".join(json.dumps({"file": row}) + "\n" for row in rows))


def code(sources: str) -> str:
    return CODE.replace("SOURCES", sources)


def counted(server: Server, job: str) -> dict[str, int]:
    """What it has counted when it has ended: the newest row of each key that it wrote."""
    until(lambda: not server.newest(job).state.goes_on)
    assert not server.newest(job).state.has_failed, server.face.ask(ReadLog(job)).text
    output = Path(f"{server.face.layout.output(server.newest(job).job)}.jsonl")
    return dict(map(json.loads, output.read_text().splitlines()))


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_sources_move_come_go_and_get_names(server: Server, tmp_path: Path) -> None:
    """Each fork counts the new files of what it reads, once, on top of what was counted before; a fork of a fork, too."""
    events = tmp_path / "events"
    for at in range(3):
        write(events, at, "a", "b")
    (events / "c").mkdir()
    arguments = (str(events), "{output}")
    do(server.face, RunScript(name="main", script="counts.py", code=code(BEFORE), args=arguments, conf=CONF))
    assert counted(server, "main") == {**{f"{folder}{at}": 1 for folder in "ab" for at in range(3)}, "a": 3, "b": 3}
    savepoint = do(server.face, Take("main")).id
    write(events, 3, "a", "b", "c")

    verdict = do(server.face, Check(savepoint, code=code(NAMED), conf=BY_NAME))
    assert verdict.outcome is Outcome.NEEDS_REWRITING, [part.reasons for part in verdict.parts]
    assert verdict.dropped == ("counts.sources.0",)
    with pytest.raises(Incompatible) as dropped:
        do(server.face, Fork(savepoint, name="named", code=code(NAMED), conf=BY_NAME))
    assert dropped.value.code == "code.drops"
    do(server.face, Fork(savepoint, name="more", code=code(MORE), migrate={"columns": ""}))
    do(server.face, Fork(savepoint, name="named", code=code(NAMED), conf=BY_NAME, drop=verdict.dropped))
    assert counted(server, "more") == {"a3": 1, "b3": 1, "c3": 1, "a": 4, "b": 4, "c": 1}
    assert counted(server, "named") == {"b3": 1, "c3": 1, "b": 4, "c": 1}
    origin = server.face.ask(ShowJob("named")).summary.job.origin
    assert origin is not None and origin.migration is not None
    moves = [(source.before, source.after) for source in origin.migration.sources]
    assert moves == [("0", None), ("1", "views"), (None, "new")]

    again = do(server.face, Take("named")).id
    write(events, 4, "b", "c")
    for name, sources, conf in (("back", BACK, dict.fromkeys(BY_NAME, "false")), ("renamed", RENAMED, BY_NAME)):
        do(server.face, Fork(again, name=name, code=code(sources), conf=conf, migrate={"columns": ""}))
        assert counted(server, name) == {"b4": 1, "c4": 1, "b": 5, "c": 2}
