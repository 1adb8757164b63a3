"""Migrations that are killed on their way, that fail, and that bring and drop an operator: `tests/workspace/test_migrations.py` has the
others."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from pipelines.domain.errors import Unavailable
from pipelines.domain.savepoints import Savepoint
from pipelines.sandbox.requests import MARK
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListJobs
from pipelines.workspace import states
from tests.workspace.conftest import House, job
from tests.workspace.serving import Server
from tests.workspace.test_migrations import DEDUPE, FEWER, FIRST, LAST, ONCE, begun, change_operators, go_on, refused, saved_files, server
from tests.workspace.test_rescales import put

__all__ = ["server"]
pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(1500)]


def test_one_that_is_killed_leaves_nothing_and_is_done_again(server: Server, tmp_path: Path) -> None:
    """The sandbox's process, or the server, is killed on the way: nothing is left, the savepoint is untouched; then it is done."""
    savepoint = begun(server, tmp_path / "in", ONCE)
    put(tmp_path / "in", FIRST, LAST - FIRST)
    was, code = saved_files(server, savepoint), tmp_path / "fewer.py"
    code.write_text(FEWER)
    fork = Fork(savepoint.id, name="killed", code=FEWER, drop=(DEDUPE,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(states, "follow", lambda ticket: lambda far: end_work(server))
        with pytest.raises(Unavailable):
            do(server.face, fork)
    unlisted(server, savepoint, was)
    server.end()
    command = [sys.executable, "-m", "tests.workspace.killed_migrating", str(server.root), savepoint.id, str(code), DEDUPE]
    assert subprocess.run(command, cwd=Path(__file__).parents[2], check=False).returncode == -signal.SIGKILL
    server.start()
    unlisted(server, savepoint, was)
    do(server.face, fork)
    server.await_batches("killed", 1)
    server.stop("killed", savepoint=False)
    assert saved_files(server, savepoint) == was
    assert all(diagnosis.sound for diagnosis in do(server.face, Diagnose("killed")))


def test_one_that_fails_leaves_nothing_and_an_operator_comes_and_goes(server: Server, tmp_path: Path) -> None:
    savepoint = begun(server, tmp_path / "in")
    was = saved_files(server, savepoint)
    refused(server, savepoint)
    go_on(server, savepoint, tmp_path / "in")
    change_operators(server, tmp_path / "in")
    assert saved_files(server, savepoint) == was
    assert all(diagnosis.sound for diagnosis in do(server.face, Diagnose("b")))


def end_work(server: Server | House) -> None:
    """Kills the processes that work in the sandbox."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK, "").startswith(f"{server.face.layout.sandbox}/"):
                process.kill()


def unlisted(server: Server, savepoint: Savepoint, was: dict[str, bytes]) -> None:
    assert (
        "killed" not in [summary.job.name for summary in server.face.ask(ListJobs())] and not server.face.layout.job(job("killed")).exists()
    )
    assert not list(server.face.layout.sandbox.glob("op-*")) and saved_files(server, savepoint) == was
