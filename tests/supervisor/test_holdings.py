"""Sources let go: the newest savepoint is found to be of no use, alerts see it, and the schedule takes the next one before."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipelines.domain.findings import Problem
from pipelines.domain.runs import RunState
from pipelines.domain.schedules import Outcome
from pipelines.supervisor.holdings import Asker
from pipelines.supervisor.readings import Readings
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.schedule import SetSchedule
from pipelines.verbs.take import Take
from tests.sourced import FIRST_MS, lay_input
from tests.supervisor.scheduling import HOUR_MS, MINUTE_MS, House
from tests.waiting import until

BEGAN = 9


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    here = House(tmp_path / "ws")
    here.hand.now_ms = FIRST_MS + HOUR_MS
    yield here
    here.scheduler.close()
    here.face.close()


def test_the_next_one_is_taken_before_the_newest_runs_out(house: House, tmp_path: Path) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    files = lay_input(Path(run.checkpoints) / "counts", tmp_path / "input")
    do(house.face, SetSchedule("a", cron="0 12 * * *", blackouts=("00:00-02:00",)))
    do(house.face, Take("a", BEGAN))
    for gone in files[:8]:
        gone.unlink()
    asker = Asker(house.face.context)
    asker.tick()
    (newest,) = house.taken()
    assert newest.holdings is not None and newest.holdings.until_ms == FIRST_MS + HOUR_MS + 3_000
    readings = Readings(house.face.context)
    readings.jobs()
    assert readings._best_before_ms == {"a": newest.holdings.until_ms}
    house.after(50 * MINUTE_MS)
    assert len(house.taken()) == 1, "it is due, and in a blackout window"
    attempt = house.after(10 * MINUTE_MS)
    assert attempt is not None and attempt.outcome is Outcome.TAKEN and len(house.taken()) == 2
    house.after(10 * MINUTE_MS)
    assert len(house.taken()) == 2


def test_the_next_one_is_taken_before_a_blackout_window_in_which_the_newest_runs_out(house: House, tmp_path: Path) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    files = lay_input(Path(run.checkpoints) / "counts", tmp_path / "input")
    for log in (Path(run.checkpoints) / "counts/sources/0").glob("1[0-2]"):
        log.write_text(log.read_text().replace(f'"timestamp":{FIRST_MS // 100_000}', f'"timestamp":{house.hand.now_ms // 100_000}'))
    begins_ms = house.hand.now_ms + 20 * MINUTE_MS
    clock = datetime.fromtimestamp(begins_ms / 1_000, UTC)
    windows = (
        f"{clock:%H:%M}-{clock + timedelta(minutes=20):%H:%M}",
        f"{clock + timedelta(minutes=10):%H:%M}-{clock + timedelta(hours=3):%H:%M}",
    )
    do(house.face, SetSchedule("a", cron="0 12 * * *", blackouts=windows))
    do(house.face, Take("a", BEGAN))
    for gone in files[:8]:
        gone.unlink()
    Asker(house.face.context).tick()
    house.after(14 * MINUTE_MS)
    assert len(house.taken()) == 1, "the window begins in six minutes"
    attempt = house.after(MINUTE_MS)
    assert attempt is not None and attempt.outcome is Outcome.TAKEN and len(house.taken()) == 2
    Asker(house.face.context).tick()
    assert house.taken()[0].holdings is not None
    house.another_batch(run)
    house.after(2 * MINUTE_MS)
    assert len(house.taken()) == 2, "it was taken just before"


def test_a_newest_savepoint_of_no_use_is_a_finding(house: House, tmp_path: Path) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    files = lay_input(Path(run.checkpoints) / "counts", tmp_path / "input")
    do(house.face, Take("a", BEGAN))
    asker = Asker(house.face.context)
    files[-1].unlink()
    asker.tick()
    summary = house.face.ask(ShowJob("a")).summary
    (finding,) = [finding for finding in summary.findings if finding.problem is Problem.UNUSABLE]
    assert "1 of the 3 files that were read after it are gone" in finding.words and finding.since_ms == house.hand.now_ms
    files[-1].touch()
    asker.tick()
    assert Problem.UNUSABLE not in [finding.problem for finding in house.face.ask(ShowJob("a")).summary.findings], "it was put back"


def test_it_asks_beside_the_supervisor_until_it_is_closed(house: House, tmp_path: Path) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    lay_input(Path(run.checkpoints) / "counts", tmp_path / "input")
    do(house.face, Take("a", BEGAN))
    asker = Asker(house.face.context)
    asker.start()
    until(lambda: house.taken()[0].holdings is not None)
    asker.close()
    assert "holdings" not in [thread.name for thread in threading.enumerate()]
