"""Savepoints, forks and resumes whose bytes are copied, on the command line and the real workspace: a bar, Ctrl-C, nothing left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import Result

from pipelines.client.remote import RemoteFace
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.workspace import operations
from pipelines.workspace.tickets import Ticket
from pipelines.workspace.workspace import Workspace
from tests.api.serving import serving
from tests.cli.doors import Door
from tests.cli.test_outside import Shell, _interrupted_once, _until_its_end_is_asked_for, files, json_answer, shell
from tests.savepoint.apart import apart
from tests.workspace.conftest import CODE, House


@pytest.fixture
def stopped(tmp_path: Path) -> Shell:
    """The command line on a workspace with a stopped job `a`, which has a savepoint of its batch 7."""
    house = House(tmp_path / "ws")
    house.ran("a")
    house.face.close()
    tidemark = shell(tmp_path / "ws")
    assert tidemark("savepoint", "a", "--batch", "7").exit_code == 0
    return tidemark


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    here = House(tmp_path / "ws")
    yield here
    here.face.close()


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From then on every byte is copied, each copy stands still until it is cancelled, and Ctrl-C is pressed."""

    def stand() -> None:
        apart(monkeypatch)
        monkeypatch.setattr(operations, "NOTICED_S", 0)
        monkeypatch.setattr(Ticket, "advance", _until_its_end_is_asked_for)
        monkeypatch.setattr("pipelines.cli.session._sleep", _interrupted_once())

    return stand


def words(command: str, savepoint: str, script: Path) -> list[str]:
    """`command`, asked for with what it needs."""
    given = {
        "savepoint": "a",
        "fork": f"{savepoint} --name b",
        "run": f"{script} {{output}} --name b --from {savepoint}",
        "experiment": f"{savepoint} --name try --variant b --variant c",
        "resume": f"a --from {savepoint}",
        "rewind": "a --batch 8",
    }
    return ["resume" if command == "rewind" else command, *given[command].split()]


@pytest.mark.parametrize(
    ("command", "kind"),
    [("savepoint", "take"), ("fork", "fork"), ("run", "fork"), ("experiment", "fork"), ("resume", "resume"), ("rewind", "resume")],
)
def test_who_leaves_cancels_and_nothing_is_left(
    stopped: Shell, standing: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, kind: str
) -> None:
    """A resume saves the present first, which is what is copied here."""
    (saved,) = json_answer(stopped, "savepoints")
    script, earlier = tmp_path / "job.py", json_answer(stopped, "operations")
    script.write_text(CODE)
    before = {path for path in files(tmp_path / "ws") if path.startswith(("jobs/", "savepoints/"))}
    standing()
    done = stopped(*words(command, saved["id"], script))
    assert (done.exit_code, done.stdout) == (130, ""), done.output
    assert f"the {kind} was cancelled\n" in done.stderr
    monkeypatch.undo()
    assert {path for path in files(tmp_path / "ws") if path.startswith(("jobs/", "savepoints/"))} == before
    assert json_answer(stopped, "savepoints") == [saved] and [summary["job"]["name"] for summary in json_answer(stopped, "list")] == ["a"]
    new = [operation for operation in json_answer(stopped, "operations") if operation not in earlier]
    assert [(operation["kind"], operation["state"]) for operation in new] == [(kind, "cancelled")]


class Served(Door):
    """The command line over a server, which says how far it is."""

    def __init__(self, face: RemoteFace, sleep: Callable[[float], None]) -> None:
        super().__init__(face)  # type: ignore[arg-type]
        self._pause = sleep

    def sleep(self, seconds: float) -> None:
        super().sleep(6)
        self._pause(seconds)


def over_a_server(face: Workspace, *command: str) -> Result:
    with serving(face, face.layout) as url:
        remote = RemoteFace(url)
        try:
            return Served(remote, _interrupted_once())(*command)
        finally:
            remote.close()


def test_over_a_server_it_is_the_same(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    apart(monkeypatch)
    monkeypatch.setattr(operations, "NOTICED_S", 0)
    monkeypatch.setattr(Ticket, "advance", _until_its_end_is_asked_for)
    done = over_a_server(house.face, "savepoint", "a")
    assert (done.exit_code, done.stdout) == (130, "")
    lines = done.stderr.splitlines()
    assert lines[-2:] == ["cancelling the take; what it made is being removed", "the take was cancelled"]
    assert not house.face.ask(ListSavepoints()) and list(house.face.layout.savepoints.iterdir()) == []
