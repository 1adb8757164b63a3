"""What jobs bring with them as another user: packages of their own, and the scripts of a bisection, are that user's, and rows are exact;
so they are in a warm process, and of rewritten state."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain import files
from pipelines.domain.bisections import Over, Way
from pipelines.domain.conversions import StateStore
from pipelines.domain.ids import JobName
from pipelines.domain.processes import PROCESS_FILE, Process
from pipelines.domain.runs import RunState
from pipelines.domain.runtimes import Runtime
from pipelines.storage import users
from pipelines.verbs.bisect import Bisect
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.stop import Stop
from tests import warm, wheels
from tests.driver.process import CONF, batches
from tests.other_user import NAME, passable
from tests.waiting import until
from tests.workspace import test_run_as_exact as as_another
from tests.workspace.replaying import ROWS, SCRIPT, rows, write_files
from tests.workspace.serving import Server, serving
from tests.workspace.test_run_as_exact import MASTER, has_put_out, kept_apart, python_of, share_classes, told
from tests.workspace.test_runtimes_exact import rows_of

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(900)]
FIRST, ALL = 3, 9
WINDOW, LATE = 5, 4
"""Minutes of the script's windows and of its watermark's delay."""
WRONG = 60
"""The value of file 6 that is wrong."""
CODE = SCRIPT.replace("import sys\n", "import getpass, sys, tiny\n", 1).replace(
    ".json(folder)\n", '.json(folder).withColumn("by", F.lit(f"{tiny.NUMBER} {getpass.getuser()}"))\n', 1
)
"""Each row says which package, and which user, has made it."""
CARRIED = "--no-index\n--find-links {code}/wheels\ntiny\n"
OF_OUTPUT = f"""
import getpass, json, os, pathlib, sys
assert getpass.getuser() == {NAME!r} and "TIDEMARK_TOKEN" not in os.environ
files = [path for path in pathlib.Path(sys.argv[-1], "output").rglob("*.json")]
rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
assert rows and {{row["by"] for row in rows}} == {{"1.0 {NAME}"}}
sys.exit(any(row["v"] == {WRONG} for row in rows))
"""
OF_STATE = f"""
import pathlib, sys
from pyarrow import parquet
rows = [row for path in pathlib.Path(sys.argv[-1], "state").rglob("*.parquet") for row in parquet.read_table(path).to_pylist()]
assert len(rows) == {ROWS}
sys.exit(any(row["value"]["count"] > 6 for row in rows))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with passable() as folder:
        yield folder


def carried(number: str) -> dict[str, str | None]:
    """The one wheel that the version has with it."""
    return {f"wheels/{wheels.file_name('tiny', number)}": files.packed(wheels.wheel("tiny", number, f"NUMBER = {number!r}\n"))}


def give(folder: Path, numbers: range) -> None:
    """Files for the job to read. A workspace that was opened in this process has it make what nobody else reads."""
    write_files(folder, numbers)
    for place in (folder, folder.with_name(f"{folder.name}-empty")):
        place.chmod(0o755)
    for file in folder.iterdir():
        file.chmod(0o644)


def committed(server: Server, name: str) -> set[int]:
    newest = server.newest(name)
    assert not newest.state.has_failed and not newest.attempt, (server.face.layout.run(JobName(name), newest.id) / "driver.log").read_text()
    folders = [Path(newest.checkpoints) / query / "commits" for query in ("plain", "counts")]
    return {max(batches(folder.parent, "commits"), default=-1) if folder.is_dir() else -1 for folder in folders}


def of(number: str, numbers: range) -> list[tuple[int, str]]:
    return [(row["v"], f"{number} {NAME}") for at in numbers for row in rows(at)]  # type: ignore[misc]


def written(server: Server, name: str) -> list[tuple[int, str]]:
    """The rows of the plain query that its sink's log names."""
    sink = server.face.layout.output(JobName(name)) / "plain"
    logs = [path.read_text().splitlines()[1:] for path in (sink / "_spark_metadata").iterdir() if path.name.isdigit()]
    lines = [line for log in logs for entry in log for line in (sink / Path(json.loads(entry)["path"]).name).read_text().splitlines()]
    return sorted((row["v"], row["by"]) for row in map(json.loads, lines))


def closed() -> list[tuple[object, ...]]:
    """Key, first minute and sum of each window that the last file closes."""
    last = max(minute(row) for at in range(ALL) for row in rows(at))
    sums: dict[tuple[object, int], int] = {}
    for row in (row for at in range(ALL) for row in rows(at)):
        key = (row["k"], minute(row) // WINDOW * WINDOW)
        sums[key] = sums.get(key, 0) + int(str(row["v"]))
    return sorted((key, start, total) for (key, start), total in sums.items() if start + WINDOW <= last - LATE)


def minute(row: dict[str, object]) -> int:
    return int(str(row["t"])[14:16])


def windows(server: Server, name: str) -> list[tuple[object, ...]]:
    sink = server.face.layout.output(JobName(name)) / "windows"
    if not (sink / "_spark_metadata").is_dir():
        return []
    return sorted((key, window["start"].minute, total) for key, window, total in rows_of(sink))


def test_a_warm_process_and_rewritten_state_are_the_users(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = python_of(folder)
    if not python:
        return
    with kept_apart(folder, monkeypatch, python) as (server, begin, savepoint):
        pid = warm_up(server, Runtime(python))
        do(server.face, replace(begin, name="c"))
        do(server.face, Fork(savepoint.id, name="d", store=StateStore.ROCKSDB, partitions=2))
        until(lambda: has_put_out(server, "c", 7) and has_put_out(server, "d", 7), 200)
        process = server.face.context.files.read(Process, server.face.layout.run(JobName("c"), server.newest("c").id) / PROCESS_FILE)
        assert process.pid == pid, "it began in the warm process"
        assert told(server, "c") == {"user": NAME, "secrets": [], "reads": [], "kept": 0, "writes": []}
        of_rewritten = told(server, "d")
        assert of_rewritten.pop("kept") and of_rewritten == {"user": NAME, "secrets": [], "reads": [], "writes": []}


def warm_up(server: Server, runtime: Runtime) -> int:
    """The pid of the process that waits, warm: the next job begins in it."""
    pool = server.face.context.sparks
    pool.open(server.face.layout.warm, warm.ONE)
    pool.drivers = 1
    pool.expect(runtime, MASTER, as_another.CONF)
    until(lambda: any(process.is_warm for process in pool.processes()), 200)
    return pool.processes()[0].pid


def test_own_packages_and_scripts_of_bisections_as_another_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = python_of(folder)
    if not python:
        return
    share_classes(folder, monkeypatch)
    monkeypatch.setenv("TIDEMARK_TOKEN", "secret")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path.endswith("-packages")))
    monkeypatch.setattr(sys, "executable", python)
    users.assume(users.Other(users.named(NAME), folder / "ws"))
    into = folder / "in"
    with serving(folder / "ws") as server:
        give(into, range(FIRST))
        begin = RunScript(name="a", script="a.py", code=CODE, args=(str(into), "{output}"), conf=CONF, requirements=CARRIED)
        first = do(server.face, replace(begin, files=carried("1.0")))
        assert server.face.ask(ShowVersion(first.version)).pins == "tiny==1.0\n"
        (environment,) = server.face.layout.environments.iterdir()
        assert environment.stat().st_uid == os.getuid(), "its packages are the server's once they are made"
        until(lambda: committed(server, "a") == {FIRST - 1}, 200)
        do(server.face, Stop("a"))
        give(into, range(FIRST, ALL))
        do(server.face, Resume("a"))
        until(lambda: committed(server, "a") == {ALL - 1} and windows(server, "a") == closed(), 200)
        do(server.face, Stop("a"))
        end, begun = server.face.ask(ListSavepoints("a"))
        do(server.face, Fork(begun.id, name="b", files=carried("2.0")))
        assert written(server, "a") == sorted(of("1.0", range(ALL)))
        until(lambda: committed(server, "b") == {ALL - 1} and windows(server, "b") == closed(), 200)
        assert written(server, "b") == sorted([*of("1.0", range(FIRST)), *of("2.0", range(FIRST, ALL))])
        do(server.face, Stop("b", at_once=True))
        asked = Bisect(job="a", good=begun.id, bad=end.id, query="plain", script=OF_OUTPUT)
        bisection = do(server.face, asked)
        assert (bisection.right, bisection.wrong) == (5, 6) and {step.way for step in bisection.steps} == {Way.LOG, Way.SAVEPOINT}
        state = do(server.face, replace(asked, query="counts", over=Over.STATE, script=OF_STATE))
        assert (state.right, state.wrong) == (5, 6) and {step.way for step in state.steps} == {Way.RETAINED, Way.SAVEPOINT}
        for batch in range(FIRST, ALL - 1):
            (server.face.layout.output(JobName("a")) / "plain" / "_spark_metadata" / str(batch)).unlink()
        again = do(server.face, asked)
        assert (again.right, again.wrong) == (5, 6) and Way.WHAT_IF in {step.way for step in again.steps}
        assert server.newest("a").state is RunState.STOPPED
