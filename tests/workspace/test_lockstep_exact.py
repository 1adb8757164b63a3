"""Lock-step with real Spark: what follows has its parent's batches, rows and state; of other code exactly its difference."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.jobs import Run
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.experiments import Compare
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork, Variant
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.stop import Stop
from tests.driver.process import CONF, batches
from tests.waiting import until
from tests.workspace.following import ROWS, SCRIPT, noted, rows, write_files
from tests.workspace.serving import Server, serving

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("kept_jvms")]
FIRST, ALL = 5, 12
MOMENT = 8
"""The batch of files that is the newest one at the time to which one follows."""
FOLLOWERS = {"b": 12, "d": 10}
"""Job -> what its changed code leaves out: rows of files 7 to 11, and of 5 to 10, one each."""
CLOSED = '["2024-01-01 00:10:00"'
"""The beginning of a window that lacks some of it."""
QUERIES = ("query-0", "plain", "rates")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "workspace") as server:
        yield server


def committed(server: Server, job: str, query: str) -> list[int]:
    folder = Path(server.newest(job).checkpoints) / query
    return batches(folder, "commits") if (folder / "commits").is_dir() else []


def caught_up(server: Server, job: str) -> bool:
    return all(committed(server, job, query)[-1:] == committed(server, "a", query)[-1:] for query in QUERIES)


def output(server: Server, job: str) -> Path:
    return Path(server.face.context.files.spec(JobName(job), server.newest(job).id).output)


def saved(server: Server, job: str) -> Savepoint:
    """The savepoint with which the job stops."""
    do(server.face, Stop(job))
    return server.face.ask(ListSavepoints(job))[0]


def ended(server: Server, run: Run) -> bool:
    state = server.newest(run.job).state
    assert not state.has_failed, server.newest(run.job).exit
    return state is RunState.FINISHED


def offsets(server: Server, job: str, query: str, since: int) -> dict[int, list[str]]:
    """Batch -> its offsets and its clock, of the batches after `since`."""
    folder = Path(server.newest(job).checkpoints) / query / "offsets"
    entries = {int(path.name): path.read_text().splitlines() for path in folder.iterdir() if path.name.isdigit()}
    return {batch: [str(json.loads(lines[1])["batchTimestampMs"]), *lines[2:]] for batch, lines in entries.items() if batch > since}


def state(spark: Any, server: Server, job: str, query: str) -> list[str]:
    spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "2" if query == "rates" else "1")
    frame = spark.read.format("statestore").load(str(Path(server.newest(job).checkpoints) / query))
    return sorted(map(str, frame.collect()))


def test_what_follows_in_lock_step_differs_by_its_code_alone(server: Server, tmp_path: Path, spark: Any, disk_url: str) -> None:
    """The parent lies on another disk, one that follows it beside it, the other one in the workspace."""
    face, folder, home = server.face, tmp_path / "in", f"{disk_url}/jobs"
    write_files(folder, range(FIRST))
    do(face, RunScript(name="a", script="a.py", code=SCRIPT, args=(str(folder), "{output}", "-1"), conf=CONF, home=home))
    until(lambda: len(committed(server, "a", "rates")) > 2 and len(committed(server, "a", "plain")) == FIRST, 300)
    begun = saved(server, "a")
    write_files(folder, range(FIRST, ALL))
    do(face, Resume("a"))
    variants = tuple(Variant(name=job, args=(str(folder), "{output}", str(value))) for job, value in FOLLOWERS.items())
    do(face, StartExperiment("two that follow", begun.id, variants, lock_step=True))
    until(lambda: committed(server, "b", "plain")[FIRST:] != [], 300)
    os.kill(server.newest("b").pid or 0, signal.SIGKILL)
    until(lambda: len(committed(server, "a", "plain")) == ALL and len(committed(server, "a", "rates")) > 6, 300)
    until(lambda: any(CLOSED in line for lines in noted(output(server, "a"), "query-0").values() for line in lines), 300)
    end = saved(server, "a")
    run = do(face, Fork(savepoint=begun.id, name="c", until=end.id, home=home))
    until(lambda: ended(server, run), 300)
    at_ms = int(offsets(server, "a", "plain", FIRST)[MOMENT][0])
    run = do(face, Fork(savepoint=begun.id, name="e", until_ms=at_ms))
    until(lambda: ended(server, run), 300)
    assert_as_of(server, spark, at_ms, "e")
    until(lambda: all(caught_up(server, job) for job in FOLLOWERS), 300)
    again = do(face, Resume("c"))
    until(lambda: ended(server, again), 300)
    until(lambda: all(face.ask(ShowJob(job)).summary.idle_since_ms for job in FOLLOWERS), 300)  # who waits for its leader does not hang
    for job in FOLLOWERS:
        do(face, Stop(job, savepoint=False))
    assert server.newest("b").state is RunState.STOPPED and len(face.ask(ShowJob("b")).runs) == 2
    assert_batches(server, begun.id, "c")
    for job in FOLLOWERS:
        assert_batches(server, begun.id, job)
    for query in ("query-0", "rates"):
        later = [batch for batch in noted(output(server, "a"), query) if batch in noted(output(server, "c"), query)]
        assert later and all(noted(output(server, "c"), query)[batch] == noted(output(server, "a"), query)[batch] for batch in later)
        assert state(spark, server, "c", query) == state(spark, server, "a", query)
    same, total = face.ask(Compare("a", "c", "plain")), sum(len(rows(number)) for number in range(ALL))
    assert (same.rows_a, same.equal, same.only_a, same.only_b, same.changed) == (total, total, 0, 0, 0)
    assert same.lock_step is not None and same.lock_step.first is None and same.varies == ()
    left_out = {job: sum(row[1] == value for number in range(ALL) for row in rows(number)) for job, value in FOLLOWERS.items()}
    for job, value in FOLLOWERS.items():
        assert noted(output(server, job), "rates").items() <= noted(output(server, "a"), "rates").items()
        other = face.ask(Compare("a", job, "plain"))
        assert (other.rows_a, other.equal, other.only_a) == (total, total - left_out[job], left_out[job])
        assert (other.only_b, other.changed) == (0, 0) and other.lock_step is not None
        assert other.lock_step.first == value - ROWS + 1
        assert [row["v"] for row in other.lock_step.examples["only_a"]] == [value]
        assert_sums(noted(output(server, "a"), "query-0"), noted(output(server, job), "query-0"), value)
    both = face.ask(Compare("b", "d", "plain"))
    assert (both.equal, both.only_a, both.only_b) == (total - sum(left_out.values()), left_out["d"], left_out["b"])
    assert both.lock_step is not None and both.lock_step.first == FOLLOWERS["d"] - ROWS + 1


def assert_as_of(server: Server, spark: Any, at_ms: int, job: str) -> None:
    """Its batches are those that its parent had begun at a time, with the same offsets, clock and rows."""
    for query in QUERIES:
        parents = {batch: entry for batch, entry in offsets(server, "a", query, -1).items() if int(entry[0]) <= at_ms}
        mine = offsets(server, job, query, -1)
        assert committed(server, job, query)[-1] == max(parents)
        assert mine and mine.items() <= parents.items()
        if query != "plain":
            assert noted(output(server, job), query).items() <= noted(output(server, "a"), query).items()
    written = spark.read.parquet(f"{output(server, job)}/parquet").select("k", "v").collect()
    expected = [(key, value) for number in range(MOMENT + 1) for key, value, _ in rows(number)]
    assert sorted(map(tuple, written)) == sorted(expected)


def assert_batches(server: Server, begun: SavepointId, job: str) -> None:
    """The same batches, with the same offsets and the same clock, since the savepoint."""
    savepoint = next(savepoint for savepoint in server.face.ask(ListSavepoints("a")) if savepoint.id == begun)
    for image in savepoint.queries:
        assert committed(server, job, image.query)[-1] == committed(server, "a", image.query)[-1]
        assert offsets(server, job, image.query, image.batch) == offsets(server, "a", image.query, image.batch) != {}


def assert_sums(parents: dict[int, list[str]], others: dict[int, list[str]], without: int) -> None:
    """Each window's sum lacks what was left out, in the batch that gave it, and nothing else is different."""
    lost: dict[tuple[str, str], int] = {}
    for number in range(ALL):
        for key, value, time in rows(number):
            if value == without:
                begin = f"2024-01-01 00:{int(time[14:16]) // 5 * 5:02d}:00"
                lost[key, begin] = lost.get((key, begin), 0) + value
    differing = []
    for batch, lines in sorted(others.items()):
        for mine, its in zip(map(json.loads, lines), map(json.loads, parents[batch]), strict=True):
            left = its["s"] - lost.get((its["k"], its["window"][0]), 0)
            assert (mine["k"], mine["window"], mine["s"]) == (its["k"], its["window"], left)
            differing += [batch] if mine["s"] != its["s"] else []
    assert differing
