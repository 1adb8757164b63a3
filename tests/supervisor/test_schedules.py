"""The supervisor's schedules, on golden checkpoints and a clock that the test sets: what is due, missed, failed, pruned."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain.errors import Conflict, Corrupt
from pipelines.domain.findings import Problem
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Reason
from pipelines.domain.schedules import Outcome, Schedule, Times
from pipelines.verbs.annotate import Annotate
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.prune import Prune
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest
from pipelines.verbs.schedule import SetSchedule, ShowSchedule
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.workspace import prunes, repairs, savepoints
from pipelines.workspace.tickets import Ticket
from tests.supervisor.scheduling import HOUR_MS, MINUTE_MS, House
from tests.waiting import until


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    here = House(tmp_path / "ws")
    yield here
    here.scheduler.close()
    here.face.close()


def test_it_is_taken_at_its_time_and_says_so(house: House) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    do(house.face, SetSchedule("a", every_ms=HOUR_MS))
    assert house.after(HOUR_MS // 2) is None and not house.taken()
    attempt = house.after(HOUR_MS // 2)
    (savepoint,) = house.taken()
    assert attempt is not None and (attempt.outcome, attempt.savepoint) == (Outcome.TAKEN, savepoint.id)
    assert (savepoint.reason, house.face.ask(ReadManifest(savepoint.id)).reason) == (Reason.SCHEDULED, Reason.SCHEDULED)
    assert house.after(10 * MINUTE_MS) == attempt, "once"
    unchanged = house.after(50 * MINUTE_MS)
    assert unchanged is not None and (unchanged.outcome, unchanged.savepoint) == (Outcome.UNCHANGED, savepoint.id)
    house.another_batch(run)
    house.after(HOUR_MS)
    assert [savepoint.batch for savepoint in house.taken()] == [12, 13]
    assert "savepoint.missed" not in house.kinds()


def test_a_job_that_does_not_run_has_none_and_what_was_missed_is_made_up_for_once(house: House) -> None:
    run = house.ran("a", state=RunState.STOPPED)
    do(house.face, SetSchedule("a", cron="0 * * * *"))
    assert house.after(5 * HOUR_MS) is None and not house.taken()
    house.see(run, RunState.RUNNING)
    house.restart()
    house.after(10 * MINUTE_MS)
    assert len(house.taken()) == 1
    (message,) = house.messages("savepoint.missed")
    assert message.startswith("a: 5 times of its schedule were missed: ")
    assert message.endswith("; one savepoint is taken now, if there is anything new")
    house.after(10 * MINUTE_MS)
    assert len(house.taken()) == len(house.messages("savepoint.missed")) == 1


def test_what_no_server_was_there_for_is_made_up_for_once(house: House) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    do(house.face, SetSchedule("a", every_ms=HOUR_MS))
    house.after(HOUR_MS)
    house.scheduler.close()
    house.hand.now_ms += 3 * HOUR_MS + 5 * MINUTE_MS
    house.another_batch(run)
    house.restart()
    house.after(0)
    assert [savepoint.batch for savepoint in house.taken()] == [12, 13]
    (message,) = house.messages("savepoint.missed")
    assert "3 times of its schedule were missed: no server ran" in message
    house.restart()
    house.after(0)
    assert len(house.taken()) == 2


def test_one_that_a_server_took_and_could_not_say_counts(house: House) -> None:
    house.ran("a", state=RunState.RUNNING)
    do(house.face, SetSchedule("a", every_ms=HOUR_MS))
    house.hand.now_ms += HOUR_MS
    savepoint = house.scheduled()
    attempt = house.after(1)
    assert attempt is not None and (attempt.outcome, attempt.savepoint) == (Outcome.TAKEN, savepoint.id)
    assert len(house.taken()) == 1


def test_one_that_fails_is_a_finding_until_the_next_goes_well(house: House) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    do(house.face, SetSchedule("a", every_ms=HOUR_MS))
    metadata = Path(run.checkpoints) / "counts" / "metadata"
    aside = metadata.rename(metadata.with_name("aside"))
    attempt = house.after(HOUR_MS)
    assert attempt is not None and (attempt.outcome, bool(attempt.code), bool(attempt.message)) == (Outcome.FAILED, True, True)
    findings = {finding.problem: finding.words for finding in house.face.ask(ShowJob("a")).summary.findings}
    assert findings[Problem.SCHEDULE].startswith("tried again at the next time; ")
    assert house.kinds()[-1] == "savepoint.failed" and not house.taken()
    assert house.after(10 * MINUTE_MS) == attempt, "not before"
    aside.rename(metadata)
    attempt = house.after(50 * MINUTE_MS)
    assert attempt is not None and attempt.outcome is Outcome.TAKEN
    assert Problem.SCHEDULE not in [finding.problem for finding in house.face.ask(ShowJob("a")).summary.findings]


def test_a_failure_goes_with_the_schedule(house: House) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    do(house.face, SetSchedule(every_ms=HOUR_MS))
    (Path(run.checkpoints) / "counts" / "metadata").unlink()
    assert house.after(HOUR_MS) is not None
    do(house.face, SetSchedule(off=True))
    assert house.after(0) is None


def test_a_damaged_schedule_of_the_workspace_is_said_once(house: House) -> None:
    house.ran("a", state=RunState.RUNNING)
    do(house.face, SetSchedule("a", every_ms=HOUR_MS))
    house.face.layout.schedule_file.write_text("{")
    assert house.after(HOUR_MS) is None
    house.after(MINUTE_MS)
    (failed,) = house.face.ask(ListEvents(kind="supervisor.failed"))
    assert "savepoint schedules are not attended to" in failed.message
    with pytest.raises(Corrupt):
        house.face.ask(ShowSchedule("a"))
    house.face.layout.schedule_file.unlink()
    assert house.after(MINUTE_MS) is not None


def test_a_schedule_that_cannot_be_read_keeps_no_other_from_its_times(house: House) -> None:
    for name in ("a", "b"):
        house.ran(name, state=RunState.RUNNING)
        do(house.face, SetSchedule(name, every_ms=HOUR_MS))
    broken = house.face.ask(ShowJob("a")).summary.job
    repairs.save(house.face.context, replace(broken, schedule=Schedule(Times(cron="no cron"))))
    house.after(HOUR_MS)
    house.after(HOUR_MS)
    assert house.face.ask(ListSavepoints("b")) and not house.taken()
    assert len([kind for kind in house.kinds() if kind == "supervisor.failed"]) == 1


def test_never_two_at_a_time_and_others_do_not_wait(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        house.ran(name, state=RunState.RUNNING)
    do(house.face, SetSchedule(every_ms=HOUR_MS))
    publish, entered, leave, begun = savepoints.publish, threading.Event(), threading.Event(), list[str]()

    def slow(context, planned, watch):  # type: ignore[no-untyped-def]
        begun.append(planned.source.job)
        if planned.source.job == "a":
            entered.set()
            leave.wait()
        return publish(context, planned, watch)

    monkeypatch.setattr(savepoints, "publish", slow)
    house.hand.now_ms += HOUR_MS
    house.scheduler.tick()
    assert entered.wait(60)
    until(lambda: len(house.face.ask(ListSavepoints("b"))) == 1)
    house.hand.now_ms += 2 * HOUR_MS + 5 * MINUTE_MS
    house.scheduler.tick()
    until(lambda: begun.count("b") == 1 and len(house.face.ask(ListSavepoints("b"))) == 1)
    assert begun.count("a") == 1
    leave.set()
    house.after(0)
    house.after(0)
    assert [savepoint.reason for savepoint in house.taken()] == [Reason.SCHEDULED], "the second has nothing new"
    assert any("2 times of its schedule were missed" in message for message in house.messages("savepoint.missed"))


def test_a_server_that_ends_cancels_it_and_the_next_one_takes_it(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a", state=RunState.RUNNING)
    do(house.face, SetSchedule("a", every_ms=HOUR_MS))
    take, entered = savepoints.publish, threading.Event()

    def endless(context, planned, watch):  # type: ignore[no-untyped-def]
        entered.set()
        until(lambda: not entered.is_set() or watch._ending.is_set())
        watch.check()

    monkeypatch.setattr(savepoints, "publish", endless)
    house.hand.now_ms += HOUR_MS
    house.scheduler.tick()
    assert entered.wait(60)
    house.scheduler.close()
    assert house.face.ask(ShowSchedule("a")).last is None and not house.taken()
    monkeypatch.setattr(savepoints, "publish", take)
    house.restart()
    house.after(0)
    assert len(house.taken()) == 1


def test_what_is_past_what_is_kept_goes(house: House) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    do(house.face, SetSchedule(keep=2))
    do(house.face, SetSchedule("a", every_ms=HOUR_MS, keep_all=True))
    mine = do(house.face, Take("a"))
    for _ in range(3):
        house.another_batch(run)
        house.after(HOUR_MS)
    assert len(house.taken()) == 4 and not house.face.plan(Prune("a")).goes
    do(house.face, SetSchedule("a", keep=0))
    house.another_batch(run)
    house.after(HOUR_MS)
    assert [savepoint.batch for savepoint in house.taken()] == [9, 10, 13]
    assert house.taken()[-1].id == mine.id
    assert len(house.messages("savepoint.pruned")) == 1 and "which frees" in house.messages("savepoint.pruned")[0]


def test_prune_says_what_goes_and_why_and_does_just_that(house: House) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    do(house.face, SetSchedule("a", every_ms=HOUR_MS))
    for _ in range(5):
        house.another_batch(run)
        house.after(HOUR_MS)
    newest, *older = [savepoint.id for savepoint in house.taken()]
    do(house.face, Annotate(older[0], label="kept"))
    do(house.face, Fork(older[1], name="b"))
    do(house.face, SetSchedule("a", keep_bytes=1, off=True))
    plan = house.face.plan(Prune("a"))
    assert [(candidate.savepoint, candidate.limits) for candidate in plan.goes] == [(savepoint, ("keep_bytes",)) for savepoint in older[2:]]
    assert [candidate.stays for candidate in plan.stays] == [
        "it is the newest",
        "somebody gave it a label or a note",
        "b was forked from it",
    ]
    assert plan.disposal == house.face.plan(Dispose(tuple(older[2:]))), "what comes free is said by what disposes"
    assert plan.disposal.frees_bytes > 0
    done = do(house.face, Prune())
    assert (done.goes, done.disposal) == (plan.goes, plan.disposal)
    assert [savepoint.id for savepoint in house.taken()] == [newest, *older[:2]]
    assert house.face.plan(Prune("a")).goes == ()


def test_one_that_somebody_names_meanwhile_stays(house: House) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    do(house.face, SetSchedule("a", every_ms=HOUR_MS))
    for _ in range(3):
        house.another_batch(run)
        house.after(HOUR_MS)
    do(house.face, SetSchedule("a", keep=1))
    planned = prunes.plan(house.face.context, Prune("a"))
    named = planned.plan.goes[0].savepoint
    do(house.face, Annotate(named, label="kept"))
    done = planned.do(Ticket()).disposal
    (refused,) = done.refused
    assert refused.savepoint == named and refused.refusal is not None and refused.refusal.code == "prune.stays"
    assert isinstance(refused.refusal.error, Conflict)
    assert len(done.plans) == 1 and named in [savepoint.id for savepoint in house.taken()]
