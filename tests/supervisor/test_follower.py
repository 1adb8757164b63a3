"""A standby's index follows the files that the active server and its drivers write, and writes none itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.domain.runs import PROGRESS_FILE, RunState
from pipelines.storage import fronts
from pipelines.supervisor.follower import BrokenOff, Follower, FollowerLoop
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.jobs import ListBatches, ListJobs, ShowJob
from pipelines.verbs.set_limits import SetLimits
from pipelines.verbs.system import ListEvents, ShowAbout
from pipelines.workspace import events
from pipelines.workspace.opening import open_standby
from pipelines.workspace.workspace import Workspace
from tests.supervisor.conftest import House, until
from tests.workspace.conftest import progress_line

WATERMARK = "2026-11-20T09:00:00.000Z"


@pytest.fixture
def standby(house: House) -> Iterator[Workspace]:
    with open_standby(house.root, {}) as workspace:
        yield workspace


@pytest.fixture
def follower(standby: Workspace) -> Follower:
    return Follower(standby.context)


def states(face: Workspace) -> dict[str, RunState | None]:
    return {str(summary.job.name): summary.state for summary in face.ask(ListJobs())}


def whole_pass(follower: Follower) -> None:
    follower._next_s = 0.0
    follower.tick()


def test_a_job_is_followed_from_its_beginning_to_its_end(house: House, standby: Workspace, follower: Follower) -> None:
    follower.tick()
    run = house.begin("query")
    whole_pass(follower)
    assert states(standby) == {"a": RunState.WANTED}
    house.up(run)
    house.run()
    follower.tick()
    assert states(standby) == states(house.workspace) == {"a": RunState.RUNNING}
    house.stop(savepoint=False)
    until(lambda: house.run().state is RunState.STOPPED)
    follower.tick()
    follower.tick()
    (here,), (there,) = standby.ask(ShowJob("a")).runs, house.workspace.ask(ShowJob("a")).runs
    assert here == there


def test_progress_is_read_once_and_as_it_comes(house: House, standby: Workspace, follower: Follower) -> None:
    run = house.begin("query")
    house.up(run)
    whole_pass(follower)
    progress = house.folder(run) / PROGRESS_FILE
    for number in range(3):
        with progress.open("a") as file:
            file.write(progress_line(number, WATERMARK))
        follower.tick()
        assert [row.batch for row in standby.ask(ListBatches("a"))] == list(range(number, -1, -1))
    whole_pass(follower)
    house.supervisor.tick()
    assert standby.ask(ListBatches("a")) == house.workspace.ask(ListBatches("a"))


def test_what_the_active_server_has_freed_is_let_go(house: House, standby: Workspace, follower: Follower) -> None:
    run = house.begin("query")
    house.up(run)
    house.run()
    progress = house.folder(run) / PROGRESS_FILE
    with progress.open("a") as file:
        file.writelines(progress_line(number, WATERMARK)[:-1].ljust(9_999) + "\n" for number in range(60))
    whole_pass(follower)
    assert len(standby.ask(ListBatches("a"))) == 60
    assert fronts.free(progress, 100_000)
    with progress.open("a") as file:
        file.write(progress_line(60, WATERMARK).replace("10:00:60", "10:01:00"))
    whole_pass(follower)
    left = [row.batch for row in standby.ask(ListBatches("a"))]
    assert 10 <= len(left) < 30 and left == list(range(60, 60 - len(left), -1))
    with open_standby(house.root, {}) as another:
        assert [row.batch for row in another.ask(ListBatches("a"))] == left


def test_what_is_changed_and_what_is_forgotten(house: House, standby: Workspace, follower: Follower) -> None:
    for name in ("a", "b"):
        house.begin("finish", name)
        until(lambda name=name: house.run(name).state is RunState.FINISHED)  # type: ignore[misc]
    whole_pass(follower)
    do(house.workspace, SetLimits("a", quiet_ms=60_000))
    do(house.workspace, Forget("b"))
    whole_pass(follower)
    assert states(standby) == {"a": RunState.FINISHED}
    assert standby.ask(ShowJob("a")).summary.job == house.workspace.ask(ShowJob("a")).summary.job


def test_it_writes_nothing(house: House, standby: Workspace, follower: Follower) -> None:
    house.up(house.begin("query"))
    house.supervisor.tick()
    before = written(house.root)
    whole_pass(follower)
    events.say(standby.context, "test.said", None, "x", "nobody hears it")
    for question in (ListJobs(), ListEvents(), ShowAbout()):
        standby.ask(question)  # type: ignore[arg-type]
    assert written(house.root) == before
    assert standby.ask(ShowAbout()).server.role == "standby"
    assert house.workspace.ask(ShowAbout()).server.role == "active"


def written(root: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in root.rglob("*") if not path.name.startswith("catalog.duckdb")}


def test_a_damaged_document_keeps_nothing_else_from_being_followed(house: House, standby: Workspace, follower: Follower) -> None:
    house.begin("finish", "a")
    until(lambda: house.run("a").state is RunState.FINISHED)
    house.workspace.layout.wanted_file(house.run("a").job).write_text("{")
    house.begin("query", "b")
    whole_pass(follower)
    assert set(states(standby)) == {"a", "b"}


def test_the_loop_follows_and_says_that_it_does(house: House, standby: Workspace) -> None:
    loop = FollowerLoop(standby, interval=0.01)
    loop.start()
    try:
        house.begin("finish")
        until(lambda: house.run().state is RunState.FINISHED)
        until(lambda: states(standby) == {"a": RunState.FINISHED})
        assert loop.silence_s() < 30
    finally:
        loop.stop()


def test_it_rests_while_the_workspace_is_taken_over(house: House, standby: Workspace) -> None:
    """Also one that is in the middle of its documents."""
    house.begin("finish")
    until(lambda: house.run().state is RunState.FINISHED)
    with pytest.raises(BrokenOff):
        Follower(standby.context, lambda: True).tick()
    assert states(standby) == {}
    loop = FollowerLoop(standby, interval=0.01)
    with loop.giving_way() as rest:
        rest()
        loop.start()
        time.sleep(0.3)
        assert states(standby) == {}
    until(lambda: states(standby) == {"a": RunState.FINISHED})
    loop.stop()
