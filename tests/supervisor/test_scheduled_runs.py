"""The supervisor's runs by schedule, without Spark: at their times, one at a time, what was missed is said, and what failed is shown."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.domain.errors import Conflict, Invalid
from pipelines.domain.findings import Problem
from pipelines.domain.jobs import Run
from pipelines.domain.runs import QUERIES_FILE, RunState
from pipelines.domain.schedules import Outcome
from pipelines.verbs.attach import Attach
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.schedule import SetSchedule, ShowSchedule
from pipelines.verbs.take import Take
from pipelines.workspace.schedules.job_runs import Runs
from tests.supervisor.scheduling import HOUR_MS, MINUTE_MS, House
from tests.workspace.conftest import GOLDEN


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    here = House(tmp_path / "ws", Runs)
    yield here
    here.scheduler.close()
    here.face.close()


@pytest.fixture
def run(house: House) -> Run:
    """The job's first run, which ended by itself."""
    first = house.ran("a", state=RunState.FINISHED)
    do(house.face, SetSchedule("a", run_at="0 * * * *"))
    return first


def ran(house: House) -> list[str]:
    return [run.id for run in house.face.ask(ShowJob("a")).runs]


def test_it_begins_at_its_times_and_one_at_a_time(house: House, run: Run) -> None:
    assert house.after(MINUTE_MS) is None and ran(house) == [run.id]
    begun = house.after(HOUR_MS)
    assert begun is not None and begun.outcome is Outcome.BEGUN and ran(house) == [begun.run, run.id]
    assert house.face.ask(ShowJob("a")).runs[0].checkpoints == run.checkpoints, "it goes on where the one before ended"
    busy = house.after(HOUR_MS)
    assert busy is not None and (busy.outcome, busy.run) == (Outcome.BUSY, begun.run) and len(ran(house)) == 2
    assert house.messages("run.passed-over") == [f"no scheduled run of a: {begun.run} had not ended"]
    house.see(house.face.ask(ShowJob("a")).runs[0], RunState.FINISHED)
    house.after(HOUR_MS)
    assert len(ran(house)) == 3
    state = house.face.ask(ShowSchedule("a"))
    assert state.last_run is not None and state.last_run.run == ran(house)[0]
    assert state.next_run_ms is not None and state.next_run_ms % HOUR_MS == 0


def test_what_was_missed_is_said_and_made_up_for_once(house: House, run: Run) -> None:
    house.hand.now_ms += 5 * HOUR_MS
    house.restart()
    house.after(10 * MINUTE_MS)
    assert len(ran(house)) == 2
    (message,) = house.messages("run.missed")
    assert message == "a: 5 runs of its schedule were missed: no server ran; one run is begun now"


def test_no_run_begins_in_a_blackout_window_or_once_it_is_off(house: House, run: Run) -> None:
    do(house.face, SetSchedule("a", blackouts=("00:00-24:00",), run_at="off"))
    house.after(2 * HOUR_MS)
    assert ran(house) == [run.id]
    with pytest.raises(Invalid, check=lambda raised: raised.code == "schedule.never"):
        house.face.plan(SetSchedule("a", run_at="0 * * * *"))


def test_what_keeps_it_from_beginning_is_a_finding_until_it_begins(house: House, run: Run) -> None:
    version = house.face.layout.version_file(run.version)
    shutil.move(version, version.with_name("away"))
    failed = house.after(HOUR_MS)
    assert failed is not None and failed.outcome is Outcome.FAILED and house.messages("run.unbegun")
    assert Problem.UNBEGUN in [finding.problem for finding in house.face.ask(ShowJob("a")).summary.findings]
    shutil.move(version.with_name("away"), version)
    house.hand.now_ms += MINUTE_MS
    do(house.face, Resume("a"))
    house.after(MINUTE_MS)
    assert Problem.UNBEGUN not in [finding.problem for finding in house.face.ask(ShowJob("a")).summary.findings]


def test_only_a_job_of_this_workspace_begins_by_itself_and_no_fork_does(house: House, run: Run) -> None:
    with pytest.raises(Invalid, check=lambda raised: raised.code == "schedule.run"):
        house.face.plan(SetSchedule(run_at="0 * * * *"))
    do(house.face, Attach(name="far", checkpoints={"counts": str(GOLDEN / "stateless" / "checkpoint")}))
    with pytest.raises(Conflict):
        house.face.plan(SetSchedule("far", run_at="0 * * * *"))
    taken = do(house.face, Take("a"))
    do(house.face, Fork(taken.id, name="b"))
    assert house.face.ask(ShowSchedule("b")).own.run_at is None


def begins(house: House, run: Run, *kinds: str) -> None:
    """What the run's driver recorded of a query with each of these triggers."""
    path = house.folder(run) / QUERIES_FILE
    record = json.loads(path.read_text().splitlines()[0])
    queries = [{**record, "query": f"q-{at}", "trigger": {"kind": kind, "interval_ms": 0}} for at, kind in enumerate(kinds)]
    path.write_text("".join(json.dumps(query) + "\n" for query in queries))


def test_a_job_that_does_not_end_by_itself_is_refused_or_warned_of(house: House) -> None:
    change = SetSchedule("b", run_at="0 * * * *")
    run = house.ran("b", state=RunState.RUNNING)
    (warning,) = house.face.plan(change).warnings
    assert warning == "it is not known whether b ends by itself: a run that does not end keeps later ones back"
    begins(house, run, "available-now", "once")
    assert house.face.plan(change).warnings == ()
    begins(house, run, "available-now", "processing-time")
    with pytest.raises(Conflict) as endless:
        house.face.plan(change)
    assert endless.value.code == "schedule.endless" and "q-1 would run until" in endless.value.message
    assert house.face.plan(SetSchedule("b", run_at="off")).warnings == (), "it can be cleared"
    house.see(run, RunState.FINISHED)
    assert house.face.plan(change).warnings == (), "its code stops its queries"


@pytest.mark.parametrize("empty", ({"cron": ""}, {"zone": ""}, {"prove_at": " "}, {"run_at": ""}), ids=str)
def test_what_is_given_and_says_nothing_is_refused(house: House, run: Run, empty: dict[str, str]) -> None:
    with pytest.raises(Invalid, check=lambda raised: raised.code == "schedule.empty"):
        house.face.plan(SetSchedule("a", **empty))  # type: ignore[arg-type]
