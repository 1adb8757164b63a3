"""The supervisor's proofs by schedule, without Spark: what they are of, what they come to, what is said, and that nothing is left."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.domain.findings import Problem
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.schedules import Attempt, Outcome
from pipelines.domain.trust import Trust, Verification
from pipelines.sandbox.processes import Share
from pipelines.savepoint import verify, worker
from pipelines.verbs.attach import Attach
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.savepoints import ReadVerification
from pipelines.verbs.schedule import SetSchedule, ShowSchedule
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.workspace import proofs, rehearsals, savepoints
from pipelines.workspace.schedules.proofs import LIMIT_VARIABLE, NICENESS, Proofs
from tests.supervisor.scheduling import HOUR_MS, MINUTE_MS, House
from tests.waiting import until
from tests.workspace.conftest import GOLDEN

DAY_MS = 24 * HOUR_MS


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """The job runs elsewhere, without state and with code that nobody knows: its proof needs no Spark, and leaves a question open."""
    here = House(tmp_path / "ws", Proofs)
    do(here.face, Attach(name="a", checkpoints={"counts": str(GOLDEN / "stateless" / "checkpoint")}))
    do(here.face, SetSchedule("a", prove_at="0 3 * * *"))
    yield here
    here.scheduler.close()
    here.face.close()


def problems(house: House) -> list[Problem]:
    return [finding.problem for finding in house.face.ask(ShowJob("a")).summary.findings]


def left(house: House) -> list[Path]:
    return list(house.face.layout.sandbox.glob("*"))


def told(attempt: Attempt | None) -> tuple[Outcome, str]:
    assert attempt is not None
    return attempt.outcome, attempt.savepoint


def test_the_newest_scheduled_one_is_proved_at_its_time(house: House) -> None:
    house.scheduled()
    newest = house.scheduled()
    do(house.face, Take("a", label="by hand"))
    next_ms = house.face.ask(ShowSchedule("a")).next_proof_ms
    assert next_ms is not None and next_ms % DAY_MS == 3 * HOUR_MS
    assert house.after(next_ms - house.hand.now_ms - 1) is None
    attempt = house.after(1)
    assert told(attempt) == (Outcome.OPEN, newest.id)
    verification = house.face.ask(ReadVerification(newest.id))
    assert verification is not None and verification.asked is Trust.PROVED and verification.reached is Trust.INTACT
    assert attempt is not None and attempt.message == rehearsals.NO_CODE
    assert house.messages("proof.open") == [f"{newest.id} of a is not proved: {rehearsals.NO_CODE}"]
    assert Problem.UNPROVED not in problems(house), "nothing speaks against it"
    assert house.after(10 * MINUTE_MS) == attempt == house.face.ask(ShowSchedule("a")).last_proof, "once"
    assert left(house) == []


def prove_by_hand(house: House, savepoint: Savepoint) -> None:
    """What a proof by Spark would keep."""
    verification = Verification(savepoint.id, Trust.PROVED, Trust.PROVED, house.hand.now_ms, 1, 1)
    verify.record(house.face.context.library, verification)
    savepoints.refresh(house.face.context, savepoint.id)


def test_what_was_proved_is_not_proved_again(house: House) -> None:
    newest = house.scheduled()
    prove_by_hand(house, newest)
    assert told(house.after(DAY_MS)) == (Outcome.UNCHANGED, newest.id)


def test_a_job_without_a_scheduled_savepoint_has_nothing_to_prove(house: House) -> None:
    do(house.face, Take("a"))
    assert told(house.after(DAY_MS)) == (Outcome.NOTHING, "")


def test_damage_is_a_finding_until_a_later_proof_finds_none(house: House) -> None:
    broken = house.scheduled()
    offsets = Path(broken.path) / "queries/counts/checkpoint/offsets"
    newest = max(offsets.glob("[0-9]*"), key=lambda path: int(path.name))
    kept = newest.read_bytes()
    newest.unlink()
    assert told(house.after(DAY_MS)) == (Outcome.FAILED, broken.id)
    finding = next(finding for finding in house.face.ask(ShowJob("a")).summary.findings if finding.problem is Problem.UNPROVED)
    assert (finding.title, finding.code) == ("proof failed", "proof.damage") and broken.id in finding.words
    assert "proof.failed" in house.kinds() and "savepoint.damaged" in house.kinds()
    newest.write_bytes(kept)
    assert told(house.after(DAY_MS)) == (Outcome.OPEN, broken.id), "one that is not proved is proved again"
    assert Problem.UNPROVED not in problems(house)


def test_one_that_takes_too_long_is_ended(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "0")
    house.scheduled()
    attempt = house.after(DAY_MS)
    assert attempt is not None and (attempt.outcome, attempt.code) == (Outcome.FAILED, "operation.late")
    assert Problem.UNPROVED in problems(house) and left(house) == []
    do(house.face, SetSchedule("a", prove_at="off"))
    assert house.after(DAY_MS) is None, "a failure goes with the schedule"


def test_the_limit_is_the_schedules_before_the_servers(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "0")
    newest = house.scheduled()
    do(house.face, SetSchedule(proof_limit_ms=HOUR_MS))
    assert told(house.after(DAY_MS)) == (Outcome.OPEN, newest.id), "the workspace's"
    do(house.face, SetSchedule("a", proof_limit_ms=1))
    attempt = house.after(DAY_MS)
    assert attempt is not None and (attempt.outcome, attempt.code) == (Outcome.FAILED, "operation.late")
    assert "--proof-limit" in attempt.message


@pytest.mark.parametrize(("own", "usual", "expected"), [(None, None, 2), (None, 3, 3), (1, 3, 1), (0, 3, 3)])
def test_it_has_so_many_processors(
    house: House, monkeypatch: pytest.MonkeyPatch, own: int | None, usual: int | None, expected: int
) -> None:
    house.scheduled()
    do(house.face, SetSchedule("a", proof_cpus=own))
    do(house.face, SetSchedule(proof_cpus=usual, zone="UTC"))
    shares, prove = [], proofs.prove

    def watched(context, *given):  # type: ignore[no-untyped-def]
        shares.append(context.sparks.share)
        return prove(context, *given)

    cpus, check = [], worker.check

    def checked(*given):  # type: ignore[no-untyped-def]
        cpus.append(given[-1])
        return check(*given)

    monkeypatch.setattr(proofs, "prove", watched)
    monkeypatch.setattr(worker, "check", checked)
    house.after(DAY_MS)
    assert shares == [Share(NICENESS, expected)] and cpus == [expected], "its Spark, and what reads the files before that"


def test_a_failure_ends_with_a_proof_by_hand_or_with_its_savepoint(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    first = house.scheduled()
    monkeypatch.setenv(LIMIT_VARIABLE, "0")
    assert told(house.after(DAY_MS)) == (Outcome.FAILED, "")
    prove_by_hand(house, first)
    assert told(house.after(MINUTE_MS)) == (Outcome.UNCHANGED, first.id)
    monkeypatch.delenv(LIMIT_VARIABLE)
    broken = house.scheduled()
    (Path(broken.path) / "queries/counts/checkpoint/metadata").unlink()
    assert told(house.after(DAY_MS)) == (Outcome.FAILED, broken.id)
    do(house.face, Dispose((broken.id,)))
    attempt = house.after(MINUTE_MS)
    assert attempt is not None and (attempt.outcome, attempt.savepoint) == (Outcome.UNCHANGED, first.id), "the newest now is proved"
    assert Problem.UNPROVED not in problems(house)


def test_what_was_missed_is_said_and_made_up_for_once(house: House) -> None:
    newest = house.scheduled()
    house.scheduler.close()
    house.hand.now_ms += 3 * DAY_MS
    house.restart()
    assert told(house.after(0)) == (Outcome.OPEN, newest.id)
    message = "a: 3 proofs of its schedule were missed: no server ran; the newest scheduled savepoint is proved now, if it is not yet"
    assert house.messages("proof.missed") == [message]
    house.restart()
    house.after(MINUTE_MS)
    assert len(house.messages("proof.missed")) == len(house.messages("proof.open")) == 1


def test_the_workspaces_time_holds_for_every_job_one_after_the_other(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    do(house.face, SetSchedule("a", prove_at="usual"))
    other = shutil.copytree(GOLDEN / "stateless" / "checkpoint", tmp_path / "other")
    do(house.face, Attach(name="b", checkpoints={"counts": str(other)}))
    do(house.face, SetSchedule(prove_at="0 3 * * *"))
    for name in ("a", "b"):
        house.scheduled(name)
    prove, under_way, seen = proofs.prove, threading.Semaphore(1), list[bool]()

    def watched(*given):  # type: ignore[no-untyped-def]
        seen.append(under_way.acquire(blocking=False))
        try:
            return prove(*given)
        finally:
            under_way.release()

    monkeypatch.setattr(proofs, "prove", watched)
    house.after(DAY_MS)
    assert seen == [True, True]
    assert {event.job for event in house.face.ask(ListEvents(kind="proof.open"))} == {"a", "b"}


def test_a_server_that_ends_cancels_it_and_the_next_one_proves(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    newest = house.scheduled()
    prove, entered = proofs.prove, threading.Event()

    def endless(context, savepoint, operation, ticket):  # type: ignore[no-untyped-def]
        entered.set()
        until(ticket._ending.is_set)
        ticket.check()

    monkeypatch.setattr(proofs, "prove", endless)
    house.hand.now_ms += DAY_MS
    house.scheduler.tick()
    assert entered.wait(60)
    house.scheduler.close()
    assert house.face.ask(ShowSchedule("a")).last_proof is None and left(house) == []
    monkeypatch.setattr(proofs, "prove", prove)
    house.restart()
    assert told(house.after(0)) == (Outcome.OPEN, newest.id)
