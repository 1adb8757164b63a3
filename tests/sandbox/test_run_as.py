"""Processes of jobs' code as another user: what they are, what they get at, and what a link in the place of a log leads to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard import server
from dashboard.reach import ONLY_HERE
from pipelines.domain.errors import Unavailable
from pipelines.domain.resources import Means, Resources
from pipelines.sandbox import holding, processes
from pipelines.sandbox.holding import cgroups
from pipelines.storage import users
from pipelines.workspace import run_as
from tests import other_user
from tests.other_user import MAY_SWITCH, NAME


@pytest.fixture
def workspace() -> Iterator[Path]:
    with other_user.workspace() as root:
        yield root


def assumed(workspace: Path) -> bool:
    """Whether jobs' code is another user's from now on; where this process may not be others that is refused."""
    if not MAY_SWITCH:
        with pytest.raises(Unavailable, match="may not begin others"):
            run_as.begin(NAME, workspace)
        return False
    users.assume(users.Other(users.named(NAME), workspace))
    return True


def ran(folder: Path, script: str) -> tuple[int, str]:
    """Exit code and output of a shell in `folder`."""
    environ = {**os.environ, "TIDEMARK_TOKEN": "secret"}
    code = processes.run(["/bin/sh", "-c", script], folder, environ, "run.log", lambda: None, 60.0)
    return code, (folder / "run.log").read_text()


def test_a_process_of_the_sandbox_works_in_its_own_folders_alone(workspace: Path) -> None:
    if not assumed(workspace):
        return
    top = workspace / "sandbox" / "x-1"
    folder, checkpoint, other = top / "run", top / "checkpoints" / "q", workspace / "sandbox" / "x-2"
    for made in (folder, checkpoint, other):
        made.mkdir(parents=True, mode=0o700)
    (workspace / "access.key").write_text("key")
    (workspace / "access.key").chmod(0o600)
    (folder / "task.json").write_text("task")
    (folder / "task.json").chmod(0o600)
    code, output = ran(
        folder,
        "id -un; id -G; cat task.json; echo ${TIDEMARK_TOKEN:-none} $HOME; echo x > ../checkpoints/q/1 && echo wrote;"
        "cat ../../../access.key || echo closed; ls ../../x-2 || echo closed; rm -f run.log || echo kept;"
        "mv ../run ../away || echo kept; echo done > result",
    )
    lines = output.splitlines()
    assert code == 0 and lines[0] == NAME and "task" in output and f"none {users.named(NAME).home}" in output and "wrote" in lines, output
    assert lines.count("closed") == 2 and lines.count("kept") == 2 and (folder / "result").read_text() == "done\n", output


def test_a_link_in_the_place_of_a_log_is_not_followed(workspace: Path) -> None:
    if not assumed(workspace):
        return
    folder = workspace / "sandbox" / "x-1"
    folder.mkdir(parents=True)
    assert ran(folder, "ln -s /etc/hostname later.log")[0] == 0
    with pytest.raises(OSError, match=r"later\.log"):
        processes.appending(folder / "later.log")


def test_a_server_does_not_start_with_a_user_that_cannot_be(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "tidemark-nobody-has-this-name"
    assert server.main(ONLY_HERE, 0, str(workspace), False, run_as=name) == 2
    assert capsys.readouterr().err == f"There is no user '{name}' on this machine\nMake one: useradd --system NAME\n"
    assert not (workspace / "workspace.json").exists()


def test_a_process_with_limits_is_that_users_and_held_before_it_begins(workspace: Path) -> None:
    if not assumed(workspace):
        return
    folder = workspace / "sandbox" / "x-1" / "run"
    folder.mkdir(parents=True, mode=0o700)
    gate, way = os.pipe()
    command = [*holding.GATE, "/bin/sh", "-c", "id -u; nproc; cat"]
    child = processes.start(command, folder, dict(os.environ), "run.log", stdin=gate)
    held = holding.hold(child.pid, f"test-{child.pid}", Resources(cpus=1.0))
    assert (folder / "run.log").read_text() == ""
    os.write(way, holding.OPEN)
    assert child.wait(60) == 0, (folder / "run.log").read_text()
    os.close(gate)
    os.close(way)
    uid, processors = (folder / "run.log").read_text().split()  # its input is empty, whatever the gate's was
    assert int(uid) == users.named(NAME).uid
    if held.means is Means.SUPERVISOR:
        assert processors == "1"
    else:
        cgroups.end(Path(held.place))
