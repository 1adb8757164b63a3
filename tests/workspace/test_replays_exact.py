"""Replays with real Spark: the same code is equal, other code differs by its difference, in its batch; code that fails is said to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipelines.cli.app import app
from pipelines.domain.bisections import Over, Way
from pipelines.domain.ids import JobName
from pipelines.domain.operations import OperationState
from pipelines.domain.replays import Kind, Outcome, Replay, ReplayedPart
from pipelines.verbs.bisect import Bisect, ListBisections, ShowBisection
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.jobs import ListJobs
from pipelines.verbs.operations import CancelOperation, ShowOperation
from pipelines.verbs.replay import ListReplays, RunReplay, ShowReplay
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.stop import Stop
from pipelines.workspace import operations
from tests.driver.process import CONF, batches
from tests.waiting import until
from tests.workspace.replaying import ROWS, SCRIPT, rows, write_files
from tests.workspace.serving import Server, serving

pytestmark = pytest.mark.spark
FIRST, ALL = 3, 11
WRONG = 60
"""The value that the other code leaves out: of file 6, one row."""
OTHER = SCRIPT.replace(".json(folder)\n", f'.json(folder).where("v != {WRONG}")\n', 1)
FAILS = SCRIPT.replace(".json(folder)\n", '.json(folder).withColumn("v", F.expr("if(v = 60, raise_error(\'no sixty\'), v)"))\n', 1)


def committed(server: Server, query: str) -> int:
    folder = Path(server.newest("a").checkpoints) / query
    return max(batches(folder, "commits"), default=-1) if (folder / "commits").is_dir() else -1


@pytest.fixture(scope="module")
def played(kept_jvms: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str, str]]:
    """A server whose job read some files before a savepoint, and others before the next."""
    home = tmp_path_factory.mktemp("replays")
    with serving(home / "workspace") as server:
        folder = home / "in"
        write_files(folder, range(FIRST))
        do(server.face, RunScript(name="a", script="a.py", code=SCRIPT, args=(str(folder), "{output}"), conf=CONF))
        until(lambda: committed(server, "plain") == committed(server, "counts") == FIRST - 1 <= committed(server, "query-0"), 300)
        do(server.face, Stop("a"))
        write_files(folder, range(FIRST, ALL))
        do(server.face, Resume("a"))
        until(lambda: committed(server, "plain") == committed(server, "counts") == ALL - 1 <= committed(server, "query-0"), 300)
        do(server.face, Stop("a"))
        end, begun = server.face.ask(ListSavepoints("a"))
        yield server, begun.id, end.id


def part(replay: Replay, kind: Kind, query: str) -> ReplayedPart:
    return next(part for part in replay.parts if (part.kind, part.query) == (kind, query))


def jobs(server: Server) -> set[str]:
    return {summary.job.name for summary in server.face.ask(ListJobs())}


def test_the_same_code_is_equal_and_leaves_nothing(played: tuple[Server, str, str]) -> None:
    server, begun, end = played
    plan = server.face.plan(RunReplay(savepoint=begun, end=end))
    assert "output of plain (json)" in plan.compared and any("counts" in words for words in plan.not_compared)
    replay = do(server.face, RunReplay(savepoint=begun, end=end))
    assert (replay.outcome, replay.kept, replay.failure) == (Outcome.EQUAL, False, ""), replay
    plain = part(replay, Kind.OUTPUT, "plain")
    assert plain.rows_a == plain.equal == sum(len(rows(number)) for number in range(FIRST, ALL))
    assert plain.first is None and plain.since == FIRST
    assert part(replay, Kind.OUTPUT, "counts").outcome is Outcome.NOT_COMPARED
    assert part(replay, Kind.OUTPUT, "query-0").rows_a > 0
    assert part(replay, Kind.STATE, "counts").equal == ROWS and part(replay, Kind.STATE, "query-0").outcome is Outcome.EQUAL
    assert "idle" not in {part.query for part in replay.parts}
    assert jobs(server) == {"a"} and len(server.face.ask(ListSavepoints())) == 2
    assert server.face.ask(ShowReplay(replay.id)) == replay == server.face.ask(ListReplays())[0]


def test_other_code_differs_in_its_batch_and_is_kept(
    played: tuple[Server, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "AT_ONCE_S", 0.1)
    monkeypatch.setattr(operations, "NOTICED_S", 0.1)
    server, begun, end = played
    script, report = tmp_path / "a.py", tmp_path / "reports" / "replay.xml"
    script.write_text(OTHER)
    words = ["replay", begun, end, "--code", str(script), "--junit", str(report), "--workspace", str(server.root)]
    server.end()
    try:
        ran = CliRunner().invoke(app, words)
    finally:
        server.start()
    assert ran.exit_code == 12, ran.output
    replay = server.face.ask(ListReplays())[0]
    assert replay.outcome is Outcome.DIFFERENT and replay.kept and replay.fork in jobs(server)
    plain, state = part(replay, Kind.OUTPUT, "plain"), part(replay, Kind.STATE, "counts")
    assert (plain.only_a, plain.only_b, plain.changed, plain.first) == (1, 0, 0, 6)
    assert [row["v"] for row in plain.examples["only_a"]] == [row["v"] for row in plain.first_examples["only_a"]] == [WRONG]
    assert (state.changed, state.equal) == (1, ROWS - 1) and state.keys == ("key.k",)
    assert 'type="different"' in report.read_text() and "output of plain (json)" in report.read_text()
    assert "first batch whose rows differ is 6" in ran.stdout
    assert f"`forget {replay.fork}` removes it" in ran.stdout
    do(server.face, Forget(replay.fork))
    assert jobs(server) == {"a"} and server.face.ask(ShowReplay(replay.id)) == dataclasses.replace(replay, kept=False)


def test_code_that_fails_is_said_to(played: tuple[Server, str, str]) -> None:
    server, begun, end = played
    replay = do(server.face, RunReplay(savepoint=begun, end=end, code=FAILS))
    assert replay.outcome is Outcome.FAILED and "no sixty" in replay.failure and replay.parts == ()
    assert server.newest(replay.fork).attempt == 0 and server.newest(replay.fork).state.value == "failed"


def test_a_replay_that_is_cancelled_leaves_nothing(played: tuple[Server, str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "AT_ONCE_S", 0.1)
    monkeypatch.setattr(operations, "NOTICED_S", 0.1)
    server, begun, end = played
    before = jobs(server)
    operation = server.face.begin(RunReplay(savepoint=begun, end=end)).operation
    assert operation is not None
    until(lambda: jobs(server) != before, 300)
    do(server.face, CancelOperation(operation.id))
    until(lambda: server.face.ask(ShowOperation(operation.id)).state is OperationState.CANCELLED, 300)
    assert jobs(server) == before


def test_a_bisection_finds_the_batch_and_the_row(played: tuple[Server, str, str]) -> None:
    server, begun, end = played
    sql = f"SELECT k, v FROM output WHERE v = {WRONG}"
    asked = Bisect(job="a", good=begun, bad=end, query="plain", sql=sql)
    bisection = do(server.face, asked)
    assert (bisection.right, bisection.wrong, bisection.rows) == (5, 6, (("k0", WRONG),))
    assert {step.way for step in bisection.steps} <= {Way.LOG, Way.SAVEPOINT} and bisection.inputs[0].files[0].endswith("/006.json")
    assert server.face.ask(ListBisections()) == [bisection] and server.face.ask(ShowBisection(bisection.id)) == bisection
    for batch in range(FIRST, 9):
        (server.face.layout.output(JobName("a")) / "plain" / "_spark_metadata" / str(batch)).unlink()
    again = do(server.face, asked)
    assert (again.right, again.wrong, again.rows) == (5, 6, bisection.rows)
    assert [step.way for step in again.steps if step.batch in (5, 6)] == [Way.WHAT_IF] * 2


def test_state_is_bisected_from_what_spark_keeps(played: tuple[Server, str, str]) -> None:
    server, begun, end = played
    before = jobs(server), len(server.face.ask(ListSavepoints()))
    sql = "SELECT key, value.count FROM state WHERE value.count > 6"
    bisection = do(server.face, Bisect(job="a", good=begun, bad=end, query="counts", over=Over.STATE, sql=sql))
    assert (bisection.right, bisection.wrong, len(bisection.rows)) == (5, 6, ROWS)
    assert {step.way for step in bisection.steps} == {Way.RETAINED, Way.SAVEPOINT}
    assert bisection.changes is not None and bisection.changes.keys == ("key",)
    assert (bisection.changes.changed, bisection.changes.only_a, bisection.changes.only_b) == (ROWS, 0, 0)
    assert {"key.k", "a.value.count", "b.value.count"} <= set(bisection.changes.examples["changed"][0])
    assert (jobs(server), len(server.face.ask(ListSavepoints()))) == before
