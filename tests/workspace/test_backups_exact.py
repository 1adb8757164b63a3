"""A backup of a job that runs, with real Spark: what goes on from it equals, row for row, the run that was never interrupted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from pipelines.domain.operations import OperationState
from pipelines.domain.runs import RunState
from pipelines.verbs.backups import CreateBackup, RestoreBackup
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListJobs
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from tests.driver.process import CONF, batches
from tests.waiting import until
from tests.warm import one_environment
from tests.workspace.conftest import job
from tests.workspace.replaying import SCRIPT, write_files
from tests.workspace.serving import Server, serving

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200), pytest.mark.usefixtures("kept_jvms")]

FIRST, ALL = 3, 8
AGAIN = """
again = spark.readStream.schema("k string, v int, t timestamp").json(output + "/plain").writeStream.queryName("again")
again.format("json").option("path", output + "/again").start()
for query"""
CODE = SCRIPT.replace("\nfor query", AGAIN)
"""Another query reads what one of them writes."""


def committed(server: Server, name: str, query: str) -> int:
    folder = Path(server.newest(name).checkpoints) / query
    return max(batches(folder, "commits"), default=-1) if (folder / "commits").is_dir() else -1


def read_until(server: Server, name: str, batch: int) -> None:
    """Until the job has read what there is, which ends with `batch`."""
    until(lambda: committed(server, name, "plain") == committed(server, name, "counts") == batch <= committed(server, name, "query-0"), 300)
    until(lambda: committed(server, name, "again") >= 0 and rows(server, name, "again") == rows(server, name, "plain"), 300)


def rows(server: Server, name: str, sink: str) -> list[Any]:
    """The rows of a file sink, of the files that its log names, which are all in its directory."""
    import pyarrow.parquet

    output = server.face.layout.output(job(name)) / sink
    logs = [path for path in (output / "_spark_metadata").iterdir() if path.name.isdecimal()]
    paths = [Path(unquote(urlsplit(json.loads(line)["path"]).path)) for log in logs for line in log.read_text().splitlines()[1:]]
    assert {path.parent for path in paths} == {output}
    named = {path.name for path in paths}
    if sink != "windows":
        return sorted(line for file in named for line in (output / file).read_text().splitlines())
    return sorted(str(row) for file in named for row in pyarrow.parquet.read_table(output / file).to_pylist())


def test_what_goes_on_from_a_backup_equals_the_run_that_was_never_interrupted(tmp_path: Path) -> None:
    """The restored job is resumed where it was backed up, and a restored savepoint of before is forked."""
    one_environment()
    folder, place = tmp_path / "in", str(tmp_path / "backups")
    with serving(tmp_path / "workspace") as server:
        write_files(folder, range(FIRST))
        do(server.face, RunScript(name="a", script="a.py", code=CODE, args=(str(folder), "{output}"), conf=CONF))
        read_until(server, "a", FIRST - 1)
        taken = do(server.face, Take("a"))
        assert do(server.face, CreateBackup(place)).state is OperationState.DONE
        write_files(folder, range(FIRST, ALL))
        read_until(server, "a", ALL - 1)
        server.stop("a", savepoint=False)
        expected = {sink: rows(server, "a", sink) for sink in ("plain", "windows", "again")}
    assert all(expected.values())
    (tmp_path / "workspace").rename(tmp_path / "gone")
    with serving(tmp_path / "restored") as server:
        assert do(server.face, RestoreBackup(place)).state is OperationState.DONE
        assert [summary.state for summary in server.face.ask(ListJobs())] == [RunState.STOPPED]
        do(server.face, Fork(taken.id, name="b", sinks={"*": "continue"}))
        do(server.face, Resume("a"))
        for name in ("a", "b"):
            read_until(server, name, ALL - 1)
            server.stop(name, savepoint=False)
            assert {sink: rows(server, name, sink) for sink in expected} == expected, name
