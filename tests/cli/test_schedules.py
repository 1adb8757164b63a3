"""`schedule` and `prune` as text: what holds, the next times, what goes and why."""

from __future__ import annotations

import json

from pipelines.domain.ids import SavepointId
from pipelines.domain.schedules import Attempt, Outcome, Schedule, Times
from pipelines.verbs.prune import Prune
from pipelines.verbs.schedule import SetSchedule
from tests.cli.doors import Door
from tests.faces import FakeFace
from tests.samples import NOW_MS

JOB = "post_engagement"


def test_it_shows_what_holds_and_the_next_three_times() -> None:
    face = FakeFace.sample()
    face.schedules = {"": Schedule(Times(cron="0 * * * *"), keep=24), JOB: Schedule(zone="Europe/Berlin", blackouts=("22:00-06:00",))}
    face.attempts[JOB] = Attempt(NOW_MS, NOW_MS, Outcome.FAILED, message="the disk is full")
    door = Door(face)
    shown = door("schedule", JOB)
    assert "every hour in Europe/Berlin, not 22:00-06:00; keeps 24" in shown.stdout
    assert shown.stdout.count("\nnext ") == 1 and shown.stdout.count("\nthen ") == 2
    assert "failed: the disk is full" in shown.stdout
    assert len(json.loads(door("schedule", JOB, "--json").stdout)["next_ms"]) == 3
    assert "every hour; keeps 24" in door("schedule").stdout
    assert face.begun == []


def test_it_sets_and_refuses() -> None:
    face = FakeFace.sample()
    door = Door(face)
    assert "every 30m; keeps all" in door("schedule", JOB, "--every", "30m").stdout
    assert face.begun == [SetSchedule(JOB, every_ms=1_800_000)]
    refused = door("schedule", JOB, "--every", "1s")
    assert (refused.exit_code, "from 10 s to 366 days" in refused.stderr) == (2, True)
    assert door("schedule", JOB, "--every", "1h", "--cron", "0 * * * *").exit_code == 2


def test_proofs_are_set_and_shown() -> None:
    face = FakeFace.sample()
    face.proof_attempts[JOB] = Attempt(NOW_MS, NOW_MS, Outcome.FAILED, SavepointId("sp-1"), "proof.damage", "state/0: has 4 rows")
    door = Door(face)
    assert "keeps all; proves the newest every day at midnight" in door("schedule", JOB, "--prove-at", "0 0 * * *").stdout
    assert face.begun == [SetSchedule(JOB, prove_at="0 0 * * *")]
    limited = door("schedule", JOB, "--prove-at", "0 0 * * *", "--proof-limit", "45m", "--proof-processors", "1").stdout
    assert "proves the newest every day at midnight, within 45m, on 1 processor" in limited
    face.schedules = {"": Schedule(prove_at="0 0 * * *")}
    shown = door("schedule", JOB).stdout
    assert "next proof" in shown and "failed: state/0: has 4 rows" in shown
    assert json.loads(door("schedule", JOB, "--json").stdout)["last_proof"]["outcome"] == "failed"


def test_prune_says_what_goes_why_and_what_that_frees() -> None:
    face = FakeFace.sample()
    door = Door(face)
    shown = door("prune", JOB, "--dry-run")
    assert "would prune 1 savepoint, which frees 4.1 kB" in shown.stderr
    assert "more than are kept, older than is kept" in shown.stdout and "4.1 kB" in shown.stdout
    assert face.begun == []
    assert "pruned 1 savepoint" in door("prune", JOB).stderr
    assert face.begun == [Prune(JOB)]
