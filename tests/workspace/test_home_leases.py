"""What a server does with a job at a home on which another workspace's driver may work. No Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import Conflict
from pipelines.domain.home_leases import LEASE_FILE, LEASE_FOLDER, LOCK_FILE, HomeLease, Machine
from pipelines.domain.hosts import BOOT_FILE
from pipelines.domain.job_places import is_hdfs
from pipelines.domain.jobs import Run
from pipelines.domain.numbered_leases import newest
from pipelines.domain.runs import RunState
from pipelines.storage import paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.jobs import ShowLease
from pipelines.verbs.resume import Resume
from pipelines.verbs.take import Take
from pipelines.workspace import job_places, resumes
from tests.workspace.conftest import House
from tests.workspace.test_job_places import ran

NOW_MS = 1_800_000_000_000
SHORT_S, PERIOD_S, FOREVER_S = 0.5, 20.0, 3_600.0


def put(home: Storage, lease: HomeLease) -> None:
    """As a driver writes it."""
    number = newest(paths.name(entry.path) for entry in home.list(LEASE_FOLDER)) + 1
    home.write(f"{LEASE_FOLDER}/{number}" if is_hdfs(home.url) else LEASE_FILE, lease.text.encode())


def lease(period_s: float = FOREVER_S) -> HomeLease:
    """One that another machine's run has, whose clock is a day behind."""
    return HomeLease("r-9", "theirs", "elsewhere", Machine("b", 1, 1), period_s, NOW_MS - 86_400_000, NOW_MS - 86_400_000)


@pytest.fixture(params=["s3", "hdfs"])
def stopped(house: House, request: pytest.FixtureRequest) -> Run:
    """A job at a home, whose run here has ended."""
    run = ran(house, f"{request.getfixturevalue(f'{request.param}_url')}/home")
    house.see(run, RunState.STOPPED)
    return run


@pytest.fixture
def home(house: House, stopped: Run) -> Storage:
    return open_storage(job_places.of_job(house.face.context, stopped.job))


@contextmanager
def renewed(home: Storage, held: HomeLease) -> Iterator[None]:
    """A driver that works there."""
    ended = threading.Event()

    def renew() -> None:
        at = held
        while not ended.wait(0.2):
            at = at.renewed(at.renewed_ms + 200)
            put(home, at)

    put(home, held)
    thread = threading.Thread(target=renew)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def from_a_savepoint(house: House) -> Resume:
    return Resume("a", from_savepoint=do(house.face, Take("a")).id, force=True)


ASKED: dict[str, Callable[[House], Any]] = {
    "resume": lambda house: Resume("a", force=True),
    "restore": from_a_savepoint,
    "rewind": lambda house: Resume("a", batch=3, force=True),
    "forget": lambda house: Forget("a"),
}


@pytest.mark.parametrize("asked", ASKED)
def test_nothing_begins_and_nothing_is_removed_while_another_driver_works_there(house: House, home: Storage, asked: str) -> None:
    change = ASKED[asked](house)
    before = {entry.path for entry in home.list()}
    with renewed(home, lease(PERIOD_S)), pytest.raises(Conflict) as refused:
        do(house.face, change)
    assert refused.value.code == "checkpoint.leased" and "run r-9 (on elsewhere, since 2027-01-14" in refused.value.message
    assert "20 s after the last renewal" in refused.value.hint
    assert {path for path in (entry.path for entry in home.list()) if not path.startswith((LEASE_FILE, f"{LEASE_FOLDER}/"))} == before


def test_the_plan_says_whose_it_is_and_when_it_gives_way(house: House, home: Storage) -> None:
    assert not [line for line in house.face.plan(Resume("a", force=True)).warnings if "lease" in line]
    put(home, lease(PERIOD_S))
    (told,) = (line for line in house.face.plan(Resume("a", force=True)).warnings if "lease" in line)
    assert home.url in told and "run r-9 on elsewhere" in told and "until 2027-01-14T08:00:20+00:00" in told and "for 20 s" in told
    put(home, replace(lease(), released=True))
    assert not [line for line in house.face.plan(Resume("a", force=True)).warnings if "lease" in line]


def test_who_has_it_is_read_at_the_home(house: House, home: Storage, stopped: Run) -> None:
    assert house.face.ask(ShowLease("a")) is None
    put(home, lease(PERIOD_S))
    seen = house.face.ask(ShowLease("a"))
    assert seen is not None and (seen.run, seen.host, seen.is_own, seen.released) == ("r-9", "elsewhere", False, False)
    assert seen.place.startswith(home.url) and seen.until_ms == NOW_MS - 86_400_000 + 20_000
    lock = house.folder(stopped) / LOCK_FILE
    lock.touch()
    put(
        home, replace(lease(), run=stopped.id, machine=Machine(Path(BOOT_FILE).read_text().strip(), lock.stat().st_dev, lock.stat().st_ino))
    )
    seen = house.face.ask(ShowLease("a"))
    assert seen is not None and seen.is_own and seen.run == stopped.id


def test_a_job_in_the_workspace_has_none(house: House) -> None:
    assert house.face.ask(ShowLease(house.ran().job)) is None


def test_one_that_nobody_renews_gives_way(house: House, home: Storage, stopped: Run) -> None:
    put(home, lease(SHORT_S))
    assert do(house.face, Resume("a", force=True)).checkpoints == stopped.checkpoints


def test_one_that_was_given_back_is_no_obstacle(house: House, home: Storage) -> None:
    put(home, replace(lease(), released=True))
    assert do(house.face, from_a_savepoint(house)).checkpoints


def test_one_of_a_run_of_its_own_is_no_obstacle_but_that_of_a_copied_workspace_is(house: House, home: Storage, stopped: Run) -> None:
    lock = house.folder(stopped) / LOCK_FILE
    lock.touch()
    status, boot = lock.stat(), Path(BOOT_FILE).read_text().strip()
    own = replace(lease(), run=stopped.id, machine=Machine(boot, status.st_dev, status.st_ino))
    copied = replace(own, machine=Machine("another boot", status.st_dev, status.st_ino), period_s=PERIOD_S)
    with renewed(home, copied), pytest.raises(Conflict):
        do(house.face, Resume("a", force=True))
    put(home, own)
    assert do(house.face, Resume("a", force=True)).checkpoints == stopped.checkpoints


def test_the_restart_of_a_job_leaves_it_to_its_driver(house: House, home: Storage, stopped: Run) -> None:
    """The supervisor, which has others to look after, waits for nobody."""
    put(home, lease())
    assert resumes.restart(house.face.context, stopped.job, 1).attempt == 1
