"""Schedules are in files: they outlast the index, a fork begins with its parent's, and a job's is laid over the workspace's."""

from __future__ import annotations

import pytest

from pipelines.domain.errors import Invalid, NotFound, TidemarkError
from pipelines.domain.schedules import Schedule, ScheduleState, Times
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.schedule import SetSchedule, ShowSchedule
from pipelines.verbs.system import ListEvents, RebuildCatalog
from pipelines.verbs.take import Take
from pipelines.words import schedules as words
from tests.workspace.conftest import House

HOUR_MS = 3_600_000
NIGHTLY = "proves the newest by cron 0 3 * * *"


def shown(house: House, job: str = "") -> ScheduleState:
    return house.face.ask(ShowSchedule(job))


def schedule_text(house: House, job: str = "") -> str:
    return words.spelt(shown(house, job).schedule)


def test_they_stay_and_go_along(house: House) -> None:
    house.ran("a")
    change = SetSchedule("a", cron="0 * * * *", zone="Europe/Berlin", blackouts=("22:00-06:00",), keep=24)
    plan = house.face.plan(change)
    assert (plan.before, plan.after.times, len(plan.next_ms)) == (Schedule(), Times(cron="0 * * * *"), 3)
    assert schedule_text(house, "a") == "never; keeps all", "a plan changes nothing"
    state = do(house.face, change)
    assert state.next_ms == shown(house, "a").next_ms and state.next_ms[0] % HOUR_MS == 0
    assert schedule_text(house, "a") == "every hour in Europe/Berlin, not 22:00-06:00; keeps 24"
    assert house.face.ask(ListEvents("a"))[0].kind == "job.schedule"
    do(house.face, Fork(do(house.face, Take("a")).id, name="b"))
    do(house.face, RebuildCatalog())
    assert schedule_text(house, "a") == schedule_text(house, "b")
    do(house.face, SetSchedule("b", off=True))
    house.reopen()
    assert schedule_text(house, "a") == "every hour in Europe/Berlin, not 22:00-06:00; keeps 24"
    assert (shown(house, "b").schedule.times, shown(house, "b").schedule.keep, shown(house, "b").next_ms) == (Times(), 24, ())


def test_the_workspaces_holds_where_a_job_says_nothing_else(house: House) -> None:
    house.ran("a")
    house.ran("b")
    do(house.face, SetSchedule(every_ms=HOUR_MS, keep=24, zone="Europe/Berlin"))
    assert schedule_text(house) == schedule_text(house, "a") == "every hour; keeps 24"
    do(house.face, SetSchedule("a", every_ms=2 * HOUR_MS, keep_ms=7 * 24 * HOUR_MS))
    do(house.face, SetSchedule("b", off=True))
    assert (schedule_text(house, "a"), schedule_text(house, "b")) == ("every 2h; keeps 24, for 7d", "never; keeps 24")
    do(house.face, SetSchedule(keep=5, blackouts=("10:00-11:00",)))
    assert schedule_text(house, "a") == "every 2h in Europe/Berlin, not 10:00-11:00; keeps 5, for 7d"
    do(house.face, SetSchedule("a", blackouts=("none",), zone="usual", every_ms=0))
    assert schedule_text(house, "a") == "every hour; keeps 5, for 7d"
    do(house.face, SetSchedule("a", keep_all=True))
    house.reopen()
    assert (schedule_text(house, "a"), words.spelt_own(shown(house, "a").own)) == ("every hour; keeps all", "no blackout window, keeps all")
    do(house.face, SetSchedule("a", keep=0))
    assert schedule_text(house, "a") == "every hour; keeps 5"
    do(house.face, SetSchedule("a", usual=True))
    house.reopen()
    assert (schedule_text(house, "a"), shown(house, "a").own.keep) == ("every hour in Europe/Berlin, not 10:00-11:00; keeps 5", None)
    assert house.face.ask(ListEvents(kind="workspace"))[0].kind == "workspace.schedule"


def test_proofs_have_times_of_their_own(house: House) -> None:
    house.ran("a")
    do(house.face, SetSchedule(prove_at="0  3 * * *", zone="Europe/Berlin"))
    assert (schedule_text(house), words.line(shown(house, "a"), None)) == (f"never; keeps all; {NIGHTLY}", f"none; {NIGHTLY}")
    assert shown(house, "a").next_proof_ms == shown(house).next_proof_ms is not None and not shown(house, "a").next_ms
    state = do(house.face, SetSchedule("a", prove_at="off", every_ms=HOUR_MS))
    assert (state.next_proof_ms, words.spelt(state.schedule), words.spelt_own(state.own)) == (
        None,
        "every hour; keeps all",
        "every hour, proves the newest never",
    )
    house.reopen()
    assert schedule_text(house, "a") == "every hour; keeps all"
    do(house.face, SetSchedule("a", prove_at="usual"))
    assert schedule_text(house, "a") == f"every hour; keeps all; {NIGHTLY}"
    plan = house.face.plan(SetSchedule("a", prove_at="0 0 * * *"))
    assert plan.next_proof_ms is not None and words.spelt(plan.schedule).endswith("proves the newest every day at midnight")


def test_nothing_given_shows_and_changes_nothing(house: House) -> None:
    house.ran("a")
    do(house.face, SetSchedule("a", every_ms=HOUR_MS))
    before, happened = shown(house, "a"), len(house.face.ask(ListEvents()))
    assert do(house.face, SetSchedule("a")) == do(house.face, SetSchedule("a", every_ms=HOUR_MS)) == before
    assert len(house.face.ask(ListEvents())) == happened


@pytest.mark.parametrize(
    ("change", "error", "code"),
    [
        (SetSchedule("a", cron="nonsense"), Invalid, "schedule.cron"),
        (SetSchedule("a", zone="Mars/Base"), Invalid, "schedule.zone"),
        (SetSchedule(every_ms=500), Invalid, "schedule.interval"),
        (SetSchedule("none", off=True), NotFound, "job.not_found"),
        (ShowSchedule("none"), NotFound, "job.not_found"),
    ],
)
def test_refusals(house: House, change: SetSchedule | ShowSchedule, error: type[TidemarkError], code: str) -> None:
    house.ran("a")
    with pytest.raises(error) as refused:
        house.face.plan(change) if isinstance(change, SetSchedule) else house.face.ask(change)
    assert refused.value.code == code
