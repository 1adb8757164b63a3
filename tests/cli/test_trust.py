"""Trust on the command line: verify, the doctor, levels and sizes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain.errors import Corrupt, NotFound
from pipelines.domain.trust import Trust
from pipelines.storage.documents import plain
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.face import do
from pipelines.verbs.savepoints import ReadVerification, ShowSavepoint
from pipelines.verbs.system import ShowSpace
from pipelines.verbs.verify import Verify
from tests import samples
from tests.cli.doors import Door
from tests.faces import NOW_MS, ROOT, FakeFace

FIRST = "sp-000000000002"
PROVED = "sp-000000000007"
JOB = "post_engagement"


@pytest.fixture
def busy() -> Door:
    return Door(FakeFace.busy())


def damaged(face: FakeFace) -> None:
    """The first savepoint, and any other subject, is found to be damaged."""
    face.answers(Verify, samples.verification(face.savepoints_by_id[FIRST], Trust.INTACT, damaged=True))
    face.answers(Diagnose, lambda asked: [samples.diagnosis(asked.subject, "/c", damaged=True)])


@pytest.mark.parametrize(("words", "level"), [([], Trust.INTACT), (["--level", "complete"], Trust.COMPLETE)])
def test_verify_a_savepoint(tidemark: Door, words: list[str], level: Trust) -> None:
    done = tidemark("verify", FIRST, *words)
    assert (done.exit_code, tidemark.face.begun) == (0, [Verify(FIRST, level)])
    assert f"reached    {level}\n" in done.stdout


def test_verify_to_a_proof_prints_its_counts(tidemark: Door) -> None:
    lines = [line.split() for line in tidemark("verify", FIRST, "--level", "proved").stdout.splitlines()]
    assert ["reached", "proved"] in lines
    assert ["counts", "0", "·", "stateStoreSave", "116", "116", "yes"] in lines
    assert ["counts", "10", "40", "12", "812", "ms"] in lines


def test_verify_by_the_path_of_a_savepoint(tidemark: Door) -> None:
    verification = tidemark.json("verify", f"{ROOT}/{FIRST}")
    assert (verification["savepoint"], verification["reached"], verification["diagnosis"]) == (FIRST, "intact", [])


def test_verify_of_a_damaged_one_has_the_doctors_word(tidemark: Door) -> None:
    damaged(tidemark.face)
    done = tidemark("verify", FIRST)
    assert done.exit_code == 7
    assert "missing    queries/counts/checkpoint/metadata: the file is gone" in done.stdout
    assert "can be restored   batches 7–8\n" in done.stdout and "state of operator 0, partition 3" in done.stdout
    advice = do(tidemark.face, Diagnose(FIRST))[0].advice
    assert done.stderr == f"error: {FIRST} has 1 damaged file, first queries/counts/checkpoint/metadata\nhint: {advice}\n"


def test_verify_of_a_damaged_one_as_json(tidemark: Door) -> None:
    damaged(tidemark.face)
    done = tidemark("verify", FIRST, "--json")
    verification = json.loads(done.stdout)
    assert (done.exit_code, verification["damages"][0]["kind"]) == (7, "missing")
    assert verification["diagnosis"] == plain(do(tidemark.face, Diagnose(FIRST)))
    assert json.loads(done.stderr)["error"]["code"] == "savepoint.damaged"


def test_a_doctor_who_cannot_look_takes_nothing_away(tidemark: Door) -> None:
    damaged(tidemark.face)
    tidemark.face.refuses(Diagnose, Corrupt("manifest.damaged", "the manifest is no JSON", "Restore it."))
    done = tidemark("verify", FIRST)
    assert (done.exit_code, done.stderr) == (7, "error: the manifest is no JSON\nhint: Restore it.\n")
    assert "missing    queries/counts/checkpoint/metadata" in done.stdout


def test_a_level_that_is_not_reached_without_damage_is_a_conflict(tidemark: Door) -> None:
    note = "the sources had nothing new to run a batch with"
    savepoint = tidemark.face.ask(ShowSavepoint(FIRST))
    verification = replace(samples.verification(savepoint, Trust.INTACT), asked=Trust.PROVED, proof=replace(samples.proof(), note=note))
    tidemark.face.answers(Verify, verification)
    done = tidemark("verify", FIRST, "--level", "proved")
    assert done.exit_code == 5
    assert "reached    intact" in done.stdout
    assert done.stderr == f"error: {FIRST} is intact, not proved\nhint: {note}\n"


SUBJECTS = [(JOB, JOB), ("/lake/counts", "/lake/counts"), ("live", "{here}/live"), ("./gone/../live", "{here}/gone/../live")]


@pytest.mark.parametrize(("typed", "subject"), SUBJECTS)
def test_the_doctor_on_a_job_and_on_a_checkpoint(
    tidemark: Door, typed: str, subject: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "live").mkdir()
    monkeypatch.chdir(tmp_path)
    subject = subject.format(here=tmp_path)
    assert tidemark.json("verify", typed) == plain(do(tidemark.face, Diagnose(subject)))
    shown = tidemark("verify", typed).stdout
    assert "can be restored   batches 7–9" in shown and "damaged           nothing" in shown
    damaged(tidemark.face)
    answer = tidemark("verify", typed)
    assert answer.exit_code == 7
    assert answer.stderr.startswith(f"error: {subject} has 1 damaged file\nhint: Batch 8 is whole")
    assert "can be restored   batches 7–8" in answer.stdout and "state/0/3/9.delta" in answer.stdout


def test_the_doctor_on_nothing(tidemark: Door) -> None:
    tidemark.face.refuses(Diagnose, NotFound("checkpoint.not_found", "there is none", "Give a job, a savepoint or a path."))
    assert tidemark("verify", "nobody").exit_code == 3
    assert tidemark("verify", "/lake/gone").exit_code == 3


@pytest.mark.parametrize("subject", [JOB, "/lake/counts"])
def test_only_a_savepoint_has_levels(tidemark: Door, subject: str) -> None:
    done = tidemark("verify", subject, "--level", "intact")
    assert done.exit_code == 2 and "only a savepoint has levels" in done.stderr


def test_show_has_each_level_with_its_time_and_the_proof(busy: Door) -> None:
    lines = [line.split() for line in busy("show", PROVED).stdout.splitlines()]
    assert ["trust", "proved"] in lines
    reached = {line[0]: " ".join(line[4:]) for line in lines if line and line[0] in ("complete", "intact", "proved")}
    assert reached == {"complete": "(1 min ago)", "intact": "(1 min ago)", "proved": "(just now)"}
    assert ["counts", "0", "·", "stateStoreSave", "116", "116", "yes"] in lines
    assert busy.json("show", PROVED)["verification"] == plain(busy.face.ask(ReadVerification(PROVED)))


def test_show_of_one_that_was_never_verified(tidemark: Door) -> None:
    lines = [line.split() for line in tidemark("show", FIRST).stdout.splitlines()]
    assert ["trust", "complete"] in lines and ["proved", "–"] in lines
    assert tidemark.json("show", FIRST)["verification"] is None


def test_savepoints_show_the_best_level_or_the_damage(busy: Door) -> None:
    busy.face.savepoints_by_id[FIRST] = replace(busy.face.ask(ShowSavepoint(FIRST)), damaged_files=2, verified_ms=NOW_MS)
    rows = {line.split()[0]: line.split() for line in busy("savepoints").stdout.splitlines()}
    assert "proved" in rows[PROVED] and "damaged" in rows[FIRST] and "complete" in rows["sp-000000000003"]
    assert "2 damaged files, found" in busy("show", FIRST).stdout


def test_the_best_level_is_not_the_last_one_asked_for(busy: Door) -> None:
    busy.face.savepoints_by_id[PROVED] = replace(busy.face.savepoints_by_id[PROVED], trust=Trust.COMPLETE)
    assert busy.json("show", PROVED)["trust"] == "complete"
    assert ["trust", "proved"] in [line.split() for line in busy("show", PROVED).stdout.splitlines()]


def test_sizes(tidemark: Door) -> None:
    lines = [" ".join(line.split()) for line in tidemark("savepoints", "--sizes").stdout.splitlines()]
    assert lines == [
        "SAVEPOINT JOB FULL SIZE FREES IF DELETED SHARED",
        "sp-000000000003 post_engagement 2.0 MB 4.1 kB 2.0 MB",
        "sp-000000000002 post_engagement 2.0 MB 4.1 kB 2.0 MB",
        "together on disk 2.0 MB 8.2 kB 2.0 MB",
    ]
    assert tidemark.json("savepoints", "--sizes") == plain(tidemark.face.ask(ShowSpace()))
    assert tidemark("savepoints", "post_events", "--sizes").stdout == ""
