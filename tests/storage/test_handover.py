"""Another user for jobs' code: who may be one, what its processes get to know, and what of a workspace it gets at."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.domain.errors import Corrupt, Invalid, Unavailable
from pipelines.storage import copies, handover, rights, users
from pipelines.storage.layout import Layout
from pipelines.storage.local import LocalStorage
from pipelines.storage.users import Other, User
from tests import other_user
from tests.other_user import MAY_SWITCH, NAME

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def workspace() -> Iterator[Path]:
    with other_user.workspace() as root:
        yield root


def refused(error: type[Exception], name: str) -> str:
    with pytest.raises(error) as refusal:
        users.named(name)
    return str(getattr(refusal.value, "code", ""))


def nobody(workspace: Path) -> User | None:
    """The user, from now on that of jobs' code; None where this process may not be others, which is refused then."""
    if not MAY_SWITCH:
        assert refused(Unavailable, NAME) == "run_as.right"
        return None
    user = users.named(NAME)
    users.assume(Other(user, workspace))
    return user


def can(user: User, code: str, *arguments: object) -> bool:
    """Whether Python as this user ends well with `code`."""
    command = ["/usr/bin/env", "-i", "sh", "-c", code, "sh", *map(str, arguments)]
    return subprocess.run(command, cwd="/", capture_output=True, umask=0o022, **user.switch).returncode == 0


def test_a_user_that_is_not_there_or_is_the_servers_own_is_refused() -> None:
    assert refused(Invalid, "tidemark-nobody-has-this-name") == "run_as.unknown"
    assert refused(Invalid, "root") == "run_as.same"
    if not MAY_SWITCH:
        assert refused(Unavailable, NAME) == "run_as.right"


def test_what_the_user_cannot_reach_is_named_before_anything_starts(workspace: Path) -> None:
    user = nobody(workspace)
    if user is None:
        return
    python = workspace.parent / "closed" / "python"
    python.parent.mkdir(mode=0o700)
    python.symlink_to("/usr/bin/env")
    with pytest.raises(Unavailable, match=f"{python.parent} is closed to that user") as refusal:
        users.check_reach(user, ROOT, workspace, str(python))
    assert refusal.value.code == "run_as.reach" and f"chmod o+x {python.parent}" in refusal.value.hint


def test_another_users_code_gets_none_of_the_servers_secrets(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {
        "PATH": "/bin",
        "TIDEMARK_TOKEN": "t",
        "AWS_SECRET_ACCESS_KEY": "s",
        "ALERTS": "mailto://x",
        "SPARK_LOCAL_IP": "::1",
        "KEY": "k",
    }
    assert users.environ(told) == told
    user = nobody(workspace)
    if user is None:
        return
    monkeypatch.setenv(users.PASSED_VARIABLE, "KEY, OTHER")
    own = {"HOME": user.home, "USER": NAME, "LOGNAME": NAME}
    assert users.environ(told) == {"PATH": "/bin", "SPARK_LOCAL_IP": "::1", "KEY": "k", **own}


def test_it_gets_at_what_it_was_given_and_at_nothing_else(workspace: Path) -> None:
    user = nobody(workspace)
    if user is None:
        return
    layout = Layout(workspace)
    run, checkpoint, savepoint = workspace / "jobs/a/runs/r", workspace / "jobs/a/checkpoints/r", workspace / "savepoints/s"
    for folder in (workspace / "jobs/a", run, checkpoint / "state", savepoint):
        folder.mkdir(parents=True)
    for folder in (workspace / "jobs/a/runs", workspace / "jobs/a/checkpoints", workspace / "savepoints"):
        folder.chmod(0o700)
    for file in (layout.key_file, run / "run.json", checkpoint / "state" / "1.delta", savepoint / "manifest.json"):
        file.write_text(file.name)
        file.chmod(0o600)
    handover.admit(run)
    handover.hand_over(checkpoint)
    assert can(
        user,
        'cat "$1" && cd "$2" && echo x > new && echo y > state/2.delta && mv state/1.delta state/3.delta',
        run / "run.json",
        checkpoint,
    )
    assert can(user, 'cd "$1" && echo x > progress.jsonl && mv progress.jsonl other', run)
    for refused_ in ('cat "$1"/access.key', 'ls "$1"', 'ls "$1/savepoints"', 'cat "$1/savepoints/s/manifest.json"', 'echo x > "$1/jobs/x"'):
        assert not can(user, refused_, workspace), refused_
    for refused_ in ('rm -f "$1/run.json"', 'echo x > "$1/run.json"', 'mv "$1" "$1.away"', 'ln "$1/../../../../access.key" "$1/key"'):
        assert not can(user, refused_, run), refused_
    assert not rights.tighten(layout) and can(user, 'cat "$1"', checkpoint / "state" / "2.delta")
    users.assume(None)
    assert not rights.tighten(layout) and not can(user, 'cat "$1"', checkpoint / "state" / "2.delta")


def test_a_file_that_a_savepoint_has_is_the_servers_from_then_on(workspace: Path) -> None:
    user = nobody(workspace)
    if user is None:
        return
    checkpoint, savepoint = workspace / "checkpoint", workspace / "savepoint"
    checkpoint.mkdir()
    handover.hand_over(checkpoint)
    assert can(user, 'cd "$1" && echo one > 1 && ln -s /etc/hostname 2', checkpoint)
    savepoint.mkdir(mode=0o700)
    assert copies.link(str(checkpoint / "1"), str(savepoint / "1"))
    handover.hand_over(checkpoint)
    for attempt in ("echo two > 1", "echo two >> 1", "chmod 666 1", "truncate -s 0 1", "ln 1 3"):
        assert not can(user, f'cd "$1" && {attempt}', checkpoint), attempt
    assert can(user, 'cd "$1" && cat 1 && mv 1 4 && rm -f 4', checkpoint)
    assert (savepoint / "1").read_text() == "one\n"
    with pytest.raises(Corrupt, match="link"):
        copies.link(str(checkpoint / "2"), str(savepoint / "2"))
    assert not os.path.lexists(savepoint / "2")


def test_links_of_the_user_lead_the_server_nowhere(workspace: Path) -> None:
    user = nobody(workspace)
    if user is None:
        return
    run = workspace / "run"
    run.mkdir()
    (workspace / "secret").write_text("secret")
    handover.admit(run)
    assert can(user, 'cd "$1" && ln -s ../secret progress.jsonl && mkfifo events.jsonl', run)
    own, others = workspace / "own", workspace / "others"
    (others / "inner").mkdir(parents=True)
    own.mkdir()
    handover.hand_over(own)
    assert can(user, 'ln -s ../others "$1/link"', own)
    for folder in (own / "link", own / "link" / "inner", own):
        handover.hand_over(folder)
    assert {path.lstat().st_uid for path in (others, others / "inner")} == {os.getuid()}
    with pytest.raises(Corrupt):
        LocalStorage(workspace).read("run/progress.jsonl")
    for name in ("progress.jsonl", "events.jsonl"):
        with pytest.raises(FileNotFoundError), open(run / name, "rb", opener=handover.plain_opener):
            pass


def test_what_the_user_made_becomes_the_servers(workspace: Path) -> None:
    user = nobody(workspace)
    if user is None:
        return
    folder = workspace / "environment"
    folder.mkdir()
    handover.hand_over(folder)
    assert can(user, 'umask 077 && cd "$1" && mkdir bin && echo 1 > bin/x && ln -s /bin/sh bin/sh', folder)
    handover.take_back(folder)
    handover.let_read([folder])
    assert can(user, 'cat "$1/bin/x"', folder) and not can(user, 'echo 2 > "$1/bin/x"', folder) and not can(user, 'touch "$1/y"', folder)
    assert sys.platform == "linux" and (folder / "bin" / "sh").lstat().st_uid == os.getuid()
