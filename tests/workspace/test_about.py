"""What a workspace says it stands on is so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.domain.pushes import Push
from pipelines.verbs.face import do
from pipelines.verbs.system import ListEvents, ShowAbout, ShowSpace
from pipelines.verbs.take import Take
from pipelines.workspace import about, pushes
from tests.workspace.conftest import House


def test_it_says_what_is_so(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA-never-shown")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    house.ran("a")
    do(house.face, Take("a"))
    answer = house.face.ask(ShowAbout())
    own, storage = answer.runtimes[0], answer.storage
    assert (own.python, own.python_version, own.versions) == (sys.executable, ".".join(map(str, sys.version_info[:3])), 1)
    assert (storage.workspace, storage.rows["jobs"], storage.savepoints) == (str(house.root.resolve()), 1, 1)
    assert storage.savepoint_bytes == house.face.ask(ShowSpace()).disk_bytes > 0
    assert storage.disk.hard_links and 0 < storage.disk.free_bytes <= storage.disk.total_bytes
    assert (storage.s3["AWS_ACCESS_KEY_ID"], storage.s3["AWS_PROFILE"]) == (True, False)
    assert "AKIA" not in repr(answer)
    assert (answer.server.pid, answer.server.url) == (os.getpid(), "")
    assert not list(house.root.glob(".probe-*"))


def test_a_receiver_of_metrics_is_an_event_when_it_goes_and_when_it_is_back(house: House) -> None:
    push = Push("OTLP", "http://collector:4318/v1/metrics", 60.0)
    assert house.face.ask(ShowAbout()).pushes == ()
    for pushed in (push, push.failed(1, "refused"), push.failed(2, "refused"), push.arrived(3), push.arrived(4)):
        pushes.note(house.face.context, pushed)
    events = [(event.kind, event.subject) for event in reversed(house.face.ask(ListEvents()))]
    assert events == [("push.failed", "OTLP"), ("push.back", "OTLP")]
    assert house.face.ask(ListEvents(kind="failures"))[0].message == f"metrics do not arrive at {push.address}: refused"
    assert house.face.ask(ShowAbout()).pushes == (push.arrived(4),)


def test_the_commit_is_that_of_git(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        raise AssertionError("git is needed to say what git says")

    def git(*words: str) -> str:
        names = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(["git", "-C", str(tmp_path), *names, *words], check=True, capture_output=True, text=True).stdout.strip()

    assert about._commit(tmp_path) == ""
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "one")
    head = git("rev-parse", "HEAD")
    assert about._commit(tmp_path) == head
    git("pack-refs", "--all")
    assert about._commit(tmp_path) == head
    git("worktree", "add", "-q", "beside", "-b", "other")
    assert about._commit(tmp_path / "beside") == head
    git("checkout", "-q", head)
    assert about._commit(tmp_path) == head
