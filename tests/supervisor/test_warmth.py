"""Warm processes for jobs: which are begun and when; and the driver that one has become is found again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.run_specs import SPEC_FORMAT, RunSpec
from pipelines.domain.runtimes import OWN, Runtime
from pipelines.sandbox import members
from pipelines.sandbox.members import Member
from pipelines.sandbox.pool import Pool
from pipelines.sandbox.processes import lives
from pipelines.sandbox.requests import MARK, RUN_FILE
from pipelines.supervisor import processes
from pipelines.supervisor.warmth import Warmth
from tests.waiting import until

SPEC = RunSpec(SPEC_FORMAT, RunId("r-1"), JobName("a"), VersionId("v-1"), "a.py", (), {"spark.driver.memory": "2g"}, "local[4]", "c", "o")
LIKE_A_WARM_ONE = "import sys; sys.stdin.read()"


class Asked(Pool):
    """A pool that notes what it is asked to warm up, and starts nothing."""

    def __init__(self, drivers: int) -> None:
        super().__init__()
        self.drivers = drivers
        self.expected: list[tuple[str, Mapping[str, str], int]] = []

    def expect(self, runtime: Runtime, master: str, conf: Mapping[str, str], most: int = 1) -> None:
        self.expected.append((master, conf, most))


def test_a_server_begins_with_some_and_each_job_has_another_one_of_its_kind_follow() -> None:
    pool = Asked(2)
    warmth = Warmth(pool, after_s=0.05)
    warmth.begin(takes_over=False)
    warmth.tick()
    assert pool.expected == [("local[2]", {}, 2)]
    warmth.tick()
    assert len(pool.expected) == 1, "once"
    warmth.began(OWN, SPEC)
    warmth.tick()
    assert len(pool.expected) == 1, "its first batches need the processors more"
    until(lambda: warmth.tick() or len(pool.expected) > 1)
    assert pool.expected[1] == ("local[4]", SPEC.conf, 1)
    warmth.tick()
    assert len(pool.expected) == 2, "once"
    warmth.fails(OWN, SPEC)
    assert len(pool.expected) == 3


def test_a_server_that_takes_over_begins_with_some_later() -> None:
    pool = Asked(2)
    warmth = Warmth(pool, after_s=0.05)
    warmth.begin(takes_over=True)
    warmth.tick()
    assert pool.expected == [], "its drivers need the processors first"
    until(lambda: warmth.tick() or bool(pool.expected))
    assert pool.expected == [("local[2]", {}, 2)]


def test_none_is_begun_where_jobs_start_cold() -> None:
    pool = Asked(0)
    warmth = Warmth(pool, after_s=0)
    warmth.begin(takes_over=False)
    warmth.began(OWN, SPEC)
    warmth.fails(OWN, SPEC)
    warmth.tick()
    assert pool.expected == []


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """The folder of a process that has become the driver of the run in `run`, and that process."""
    home = tmp_path / "warm" / "warm-1"
    home.mkdir(parents=True)
    (home / RUN_FILE).write_text(str(tmp_path / "run"))
    command = [sys.executable, "-c", LIKE_A_WARM_ONE, members.MODULE, str(home)]
    environ = {**os.environ, MARK: str(home)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environ, start_new_session=True) as process:
        yield home, process
        process.kill()


def test_a_driver_whose_start_was_not_recorded_is_found_by_what_its_folder_says(
    home: tuple[Path, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    folder, process = home
    until(lambda: processes.find(tmp_path / "run") is not None)
    driver = processes.find(tmp_path / "run")
    assert driver is not None and (driver.pid, driver.home) == (process.pid, str(folder))
    assert driver.taken_ms is not None and abs(driver.began_ms - time.time() * 1000) < 3_600_000
    assert processes.find(tmp_path / "another run") is None
    processes.kill(driver, tmp_path / "run")
    until(lambda: process.poll() is not None)
    assert processes.find(tmp_path / "run") is None and not processes.remains(driver, tmp_path / "run")


def test_the_next_server_leaves_a_driver_alone_and_ends_what_was_nobodys(
    home: tuple[Path, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    folder, process = home
    until(lambda: lives(folder), what="it is not the program yet that it was started as")
    members.clean(folder.parent, lambda run: False)
    assert process.poll() is None and folder.exists()
    (folder / RUN_FILE).unlink()
    members.clean(folder.parent, lambda run: False)
    until(lambda: process.poll() is not None)
    assert not folder.exists() and not list(folder.parent.iterdir())
    members.clean(tmp_path / "there is none", lambda run: False)
    assert not psutil.pid_exists(process.pid)


def test_nothing_is_written_through_a_link_that_a_jobs_code_has_put_there(tmp_path: Path) -> None:
    """Under --run-as the folder takes files of the user that runs jobs' code."""
    member = object.__new__(Member)
    member.home = tmp_path
    (tmp_path / RUN_FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        member.become("a.module", tmp_path / "run", "driver.log", tmp_path)
    assert not (tmp_path / "elsewhere").exists()
