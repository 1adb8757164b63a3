"""The jobs of the collection that read files, each by its own script with the gallery's arguments, one after the other in a real driver:
killed and taken up again, and forked in the middle of their input, they have the rows of one that nobody interrupted."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from pyarrow import parquet

from pipelines.checkpoint import sink_log
from pipelines.client import scripts
from pipelines.domain.collection import COLLECTION, CONF, DATA_ONLY, EVENTS
from pipelines.domain.ids import JobName
from pipelines.domain.runs import RunState
from pipelines.storage.addresses import open_storage
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from tests.driver.process import CONF as QUIET
from tests.jobs.collected import make_inputs
from tests.jobs.loading import JOBS
from tests.waiting import until
from tests.workspace.serving import Server, serving

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(3600)]

NAMES = [name for name, example in COLLECTION.items() if example.suffix == ".py" and not example.address]
FIRST, FILES = 3, 10
"""Files before the savepoint, and all; one a batch."""
DATABASE = "engagement.sqlite"
SCRIPT = """
import runpy, sys
from pathlib import Path
from pyspark.sql.streaming import DataStreamWriter

made, output = sys.argv[1:]
named = DataStreamWriter.queryName
for name, given in JOBS.items():
    DataStreamWriter.queryName = lambda writer, query, name=name: named(writer, f"{name}_{query}")
    Path(output, name).mkdir(parents=True, exist_ok=True)
    args = [word.replace("@made", made).replace("@output", f"{output}/{name}") for word in given]
    sys.argv = [f"{name}.py", *args, "--available-now"]
    runpy.run_path(str(Path(__file__).with_name(f"{name}.py")), run_name="__main__")
"""
"""Two jobs may have queries of one name: each is called after its job, too."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "ws") as server:
        yield server


def arguments(name: str) -> list[str]:
    example = COLLECTION[name]
    given = example.args("@made/events" if example.generator == EVENTS else "@made")
    return [word.replace("{output}", "@output").replace("{job}", name) for word in given]


def test_all_of_them_go_on_as_if_nobody_had_interrupted_them(server: Server, tmp_path: Path) -> None:
    face, later = server.face, tmp_path / "later"
    made = make_inputs(tmp_path / "made", FILES)
    shutil.copytree(made, tmp_path / "all")
    take_away(made, later)
    beside: dict[str, str | None] = {}
    for name in NAMES:
        script = scripts.read(JOBS / f"{name}.py")
        beside |= {script.name: script.code, **script.files}
    code = f"JOBS = { ({name: arguments(name) for name in NAMES})!r}\n{SCRIPT}"
    conf = {**CONF, **QUIET, **DATA_ONLY}
    run = RunScript(name="jobs", script="all_jobs.py", code=code, files=beside, args=(str(made), "{output}"), conf=conf, master="local[2]")
    do(face, run)
    half = ended(server, "jobs")
    saved = do(face, Take("jobs"))
    assert len(saved.queries) > len(NAMES) and {image.batch for image in saved.queries} == {FIRST - 1}

    shutil.copytree(later, made, dirs_exist_ok=True)
    do(face, Resume("jobs"))
    do(face, Fork(saved.id, name="fork"))
    done = server.face.layout.output(JobName("jobs")) / "top_pages" / "top" / f"batch={FIRST}"
    until(done.exists, 900)
    os.kill(server.newest("jobs").pid or 0, signal.SIGKILL)
    until(lambda: server.newest("jobs").state.has_failed, 60)
    do(face, Resume("jobs"))
    do(face, RunScript(name="whole", script=run.script, code=code, files=beside, args=(str(tmp_path / "all"), "{output}"), conf=conf))
    killed, fork, whole = (ended(server, job) for job in ("jobs", "fork", "whole"))
    assert killed == whole
    assert all(len(rows) > len(half[query]) for query, rows in whole.items()), "each has something to say after the savepoint"
    for query, rows in whole.items():
        assert fork[query] == (since(rows, half[query]) if query in OUTSIDE else rows), query


OUTSIDE = ("top_pages", "engagement_to_database")
"""Jobs whose sinks are a foreachBatch: a fork has what it wrote itself."""


def since(rows: list[str], before: list[str]) -> list[str]:
    return sorted(set(rows) - set(before))


def take_away(made: Path, later: Path) -> None:
    """The last files of each stream; the pages, which are read whole, stay."""
    for folder in (path for path in made.iterdir() if path.is_dir() and path.name != "pages"):
        (later / folder.name).mkdir(parents=True)
        for file in sorted(folder.glob("[!.]*.json"))[FIRST:]:
            file.rename(later / folder.name / file.name)


def ended(server: Server, job: str) -> Mapping[str, list[str]]:
    """What each query has put out at the end of the job's run, which succeeded."""
    until(lambda: not server.newest(job).state.live, 1800)
    assert server.newest(job).state is RunState.FINISHED, server.face.ask(ReadLog(job)).text[-4000:]
    output = server.face.layout.output(JobName(job))
    logged = {str(log.parent.relative_to(output)): sorted(live_rows(log.parent)) for log in output.rglob(sink_log.FOLDER)}
    top = output / "top_pages" / "top"
    with closing(sqlite3.connect(output / "engagement_to_database" / DATABASE)) as database:
        written = [str(row) for row in database.execute("SELECT * FROM engagement")]
    return {**logged, "top_pages": sorted(rows_of(top, top.rglob("*.parquet"))), "engagement_to_database": sorted(written)}


def live_rows(folder: Path) -> Iterator[str]:
    """Of the files that a file sink's log names."""
    log = sink_log.whole(open_storage(str(folder)), sink_log.FOLDER)
    names = {Path(file.path).name for file in sink_log.live_files(log, 2**62)}
    return rows_of(folder, (path for path in folder.rglob("*.parquet") if path.name in names))


def rows_of(folder: Path, files: Iterator[Path]) -> Iterator[str]:
    """Each row with the folder that it is in: `batch=3`, or the sink's own."""
    for file in files:
        yield from (f"{file.parent.relative_to(folder)} {row}" for row in parquet.read_table(file, partitioning=None).to_pylist())
