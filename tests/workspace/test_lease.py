"""The lease of a workspace on a disk that hosts share: who cannot renew it changes nothing by the time that another has it."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from pipelines.domain.errors import Unavailable
from pipelines.domain.hosts import Host
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.schedules import Schedule
from pipelines.domain.workspace_leases import DOUBTED, LOCKED, PERIOD_VARIABLE, UNRENEWED, Standing
from pipelines.storage.layout import Layout
from pipelines.storage.lease_folder import DiskFolder
from pipelines.verbs.forget import Forget
from pipelines.verbs.jobs import ListJobs
from pipelines.workspace import holdings, jobs, savepoints
from pipelines.workspace.holdings import Asking
from pipelines.workspace.lease import Lease
from pipelines.workspace.opening import open_workspace
from pipelines.workspace.tickets import Ticket
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
PERIOD_S = 3.0


class Troubled(DiskFolder):
    """A folder that hangs, or answers with an error, from some moment on."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.answers, self.errno = threading.Event(), 0
        self.answers.set()

    def rename(self, name: str, new: str) -> bool:
        self.answers.wait()
        if self.errno:
            raise OSError(self.errno, os.strerror(self.errno))
        return super().rename(name, new)


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setenv(PERIOD_VARIABLE, str(PERIOD_S))
    return Layout(tmp_path)


def on(name: str, layout: Layout, *, is_shared: bool = True, folder: DiskFolder | None = None) -> Lease:
    """The lease as a process of the host `name` sees it."""
    return Lease(layout, here=Host(name, f"boot of {name}", "pid:[1]"), is_shared=is_shared, folder=folder)


def code(lease: Lease) -> str:
    """Why nothing may be changed; empty where it may."""
    try:
        lease.check()
    except Unavailable as error:
        return error.code
    return ""


def test_it_is_another_hosts_for_as_long_as_that_renews_it_and_free_once_it_is_given_back(layout: Layout) -> None:
    a, b = on("a", layout), on("b", layout)
    a.take(has_lock=True)
    began_s = time.monotonic()
    while time.monotonic() < began_s + 1.3 * PERIOD_S:
        assert (b.look(), code(a)) == (Standing.HELD, "")
        time.sleep(0.1)
    assert on("a", layout).look() is Standing.BY_LOCK, "on its own host the lock tells"
    assert on("b", layout, is_shared=False).look() is Standing.BY_LOCK, "the disk was given to that host"
    with pytest.raises(Unavailable, match="on a has the workspace") as refused:
        b.wait()
    assert refused.value.code == LOCKED
    with pytest.raises(Unavailable):
        b.take(has_lock=True)
    a.release()
    b.take(has_lock=True)
    assert len(os.listdir(layout.lease)) == 1
    b.release()


def test_where_the_folder_hangs_nothing_is_changed_before_another_may_have_it(layout: Layout) -> None:
    folder = Troubled(layout.lease)
    a, b, ended_s = on("a", layout, folder=folder), on("b", layout), list[float]()
    a.take(has_lock=True)
    a.ends_with(lambda why: ended_s.append(time.monotonic()))
    folder.answers.clear()
    until(lambda: code(a) == UNRENEWED, 20)
    assert not ended_s and b.look() is Standing.HELD, "callers are told before the process ends"
    until(lambda: b.look() is Standing.LAPSED, 20)
    assert ended_s and ended_s[0] < time.monotonic()
    b.take(has_lock=False)
    folder.answers.set()
    until(lambda: a._taken, 20)
    assert (code(a), code(b)) == (UNRENEWED, "")
    until(lambda: sum(name.isdecimal() for name in os.listdir(layout.lease)) == 1)
    b.release()


def test_what_the_disk_refuses_is_said_and_over_when_it_is(layout: Layout) -> None:
    """On a disk of one host the process stays, and answers questions: no other host can have it."""
    folder = Troubled(layout.lease)
    a = on("a", layout, is_shared=False, folder=folder)
    with closing(open_workspace(layout.root, standby=a)) as workspace:
        a.ends_with(lambda why: pytest.fail(why))
        folder.errno = errno.EROFS
        until(lambda: code(a) == UNRENEWED, 20)
        context, ticket = workspace.context, Ticket(may=workspace.context.files.check)
        for acts in (
            lambda: workspace.begin(Forget("x")),
            lambda: context.files.write(layout.schedule_file, Schedule()),
            lambda: context.files.remove(layout.schedule_file),
            lambda: ticket.step("copying"),
            lambda: savepoints.dispose(context, SavepointId("sp-0")),
            lambda: holdings.asked_again(context, SavepointId("sp-0"), Asking(0)),
            lambda: jobs.move(context, JobName("x"), layout.trash),
        ):
            with pytest.raises(Unavailable, match="Read-only file system") as refused:
                acts()
            assert refused.value.code == UNRENEWED
        assert not workspace.ask(ListJobs())
        time.sleep((1 - DOUBTED) * PERIOD_S)
        folder.errno = 0
        until(lambda: not code(a), 20)
        workspace.context.files.write(layout.schedule_file, Schedule())


def test_one_host_is_killed_and_the_other_waits_for_the_period(layout: Layout) -> None:
    with server(layout, "a") as a, server(layout, "b") as b:
        a.kill()
        killed_s = time.monotonic()
        assert says(b) == "has it"
        assert time.monotonic() - killed_s > 0.6 * PERIOD_S, "its last renewal was not older than a quarter of the period"
        until(lambda: (acted(layout)[0], acted(layout)[-1]) == ("a", "b"), 60)


def test_one_that_is_stopped_for_too_long_finds_that_it_has_lost_it_and_does_nothing_more(layout: Layout) -> None:
    """It has the lock on the catalog all the time."""
    with server(layout, "a") as a, server(layout, "b") as b:
        a.send_signal(signal.SIGSTOP)
        assert says(b) == "has it"
        a.send_signal(signal.SIGCONT)
        assert a.wait(60) == 9
        assert a.stdout is not None
        left = a.stdout.read()
        assert "lease of the workspace" in left or "has taken the workspace" in left, left
        until(lambda: acted(layout)[-1] == "b", 60)
    who = acted(layout)
    assert who == sorted(who), "none of its own after the other's first"


@contextmanager
def server(layout: Layout, host: str) -> Iterator[subprocess.Popen[str]]:
    """A process on a host of that name: the first has the workspace, others stand by."""
    command = [sys.executable, "-m", "tests.workspace.leased", str(layout.root), host]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert says(process) == "stands by"
            if not acted(layout):
                assert says(process) == "has it"
                until(lambda: acted(layout), 60)
            yield process
        finally:
            process.kill()


def says(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def acted(layout: Layout) -> list[str]:
    """The hosts whose processes have said the events, in their order."""
    if not layout.events_file.exists():
        return []
    events = map(json.loads, layout.events_file.read_text().splitlines())
    return [event["subject"] for event in events if event["kind"] == "test.acted"]
