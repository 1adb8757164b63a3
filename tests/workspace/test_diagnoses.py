"""The doctor on whatever is named, and what it advises."""

from __future__ import annotations

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.diagnosis import Diagnosis
from pipelines.domain.errors import Conflict, Corrupt, NotFound
from pipelines.domain.jobs import Run
from pipelines.domain.operations import DAMAGED, SOUND, OperationState
from pipelines.domain.runs import PROGRESS_FILE, QUERIES_FILE
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ListRetained
from pipelines.verbs.operations import CancelOperation, ListOperations, ShowOperation
from pipelines.verbs.take import Take
from pipelines.workspace import operations
from pipelines.workspace.tickets import Ticket
from tests.verified import verified
from tests.waiting import until
from tests.workspace.conftest import NEWEST, House, progress_line, query_line

PATIENCE_S = 30


def only_diagnosis(house: House, subject: str) -> Diagnosis:
    diagnoses = do(house.face, Diagnose(subject))
    assert len(diagnoses) == 1
    return diagnoses[0]


def take(house: House, batch: int | None = None) -> Savepoint:
    return do(house.face, Take("a", batch=batch))


def lose(run: Run, path: str) -> None:
    (Path(run.checkpoints) / "counts" / path).unlink()


def harm(house: House, savepoint: Savepoint, path: str) -> None:
    """Another content of the same size, in the savepoint alone."""
    victim = house.face.layout.savepoint(savepoint.id) / path
    data = victim.read_bytes()
    victim.unlink()
    victim.write_bytes(data[:-3] + bytes([data[-3] ^ 0xFF]) + data[-2:])


def test_a_sound_job(house: House) -> None:
    house.ran("a")
    diagnosis = only_diagnosis(house, "a")
    assert diagnosis.sound and diagnosis.restorable == tuple(range(NEWEST + 1)) and diagnosis.newest_committed == NEWEST
    assert (diagnosis.subject, diagnosis.query, diagnosis.files > 200) == ("a", "counts", True)
    assert "batches 0 to 13 can be restored" in diagnosis.advice


def test_a_job_whose_newest_batch_is_lost_is_sent_back_to_the_newest_whole_one(house: House) -> None:
    run = house.ran("a", golden="hdfs")
    lose(run, f"state/0/1/{NEWEST + 1}.delta")
    diagnosis = only_diagnosis(house, "a")
    assert [(finding.damage.kind, finding.batches, finding.part) for finding in diagnosis.findings] == [
        ("missing", (NEWEST,), "state of operator 0, partition 1")
    ]
    assert diagnosis.restorable[-1] == NEWEST - 1
    assert f"resume a --batch {NEWEST - 1}" in diagnosis.advice
    assert take(house, NEWEST - 1).batch == NEWEST - 1, "the advice works"


def test_a_job_with_nothing_to_restore_is_sent_to_its_savepoints(house: House) -> None:
    run = house.ran("a")
    saved, broken = take(house), take(house, 9)
    (house.face.layout.savepoint(broken.id) / "queries" / "counts" / "checkpoint" / "commits" / "9").unlink()
    lose(run, "metadata")
    diagnosis = only_diagnosis(house, "a")
    assert diagnosis.restorable == ()
    assert f"resume a --from {saved.id}" in diagnosis.advice and broken.id not in diagnosis.advice


def test_the_log_of_a_jobs_file_sink_is_examined_too(house: House) -> None:
    run = house.ran("a")
    (house.face.layout.output(run.job) / "counts" / "_spark_metadata" / "12").unlink()
    diagnosis = only_diagnosis(house, "a")
    assert [(finding.damage.path, finding.batches) for finding in diagnosis.findings] == [("_spark_metadata/12", (12, 13))]
    assert 12 not in [kept.batch for kept in house.face.ask(ListRetained("a"))], "what is offered works"


def test_a_savepoint_by_id_by_a_beginning_of_it_and_by_its_path(house: House) -> None:
    house.ran("a")
    saved = take(house)
    for named in (saved.id, saved.id[:-1], saved.path):
        diagnosis = only_diagnosis(house, named)
        assert diagnosis.sound and diagnosis.restorable == (NEWEST,) and diagnosis.subject == saved.id
        assert f"fork {saved.id}" in diagnosis.advice


@pytest.mark.parametrize("sealed", [False, True])
def test_a_damaged_savepoint_names_what_else_there_is(house: House, sealed: bool) -> None:
    house.ran("a")
    other, saved = take(house, 11), take(house)
    if sealed:
        verified(house.face.context.library, saved.id, Trust.INTACT, 1)
    harm(house, saved, "queries/counts/checkpoint/commits/13")
    diagnosis = only_diagnosis(house, saved.id)
    assert [(finding.damage.path, finding.batches) for finding in diagnosis.findings] == [("commits/13", (NEWEST,))]
    assert diagnosis.restorable == ()
    assert f"fork {other.id}" in diagnosis.advice and f"savepoint a --batch {NEWEST}" in diagnosis.advice


def test_what_only_the_seal_tells(house: House) -> None:
    """The code and the rewritten source log have no checksums of Spark's."""
    house.ran("a")
    saved = take(house)
    verified(house.face.context.library, saved.id, Trust.INTACT, 1)
    harm(house, saved, "code/job.py")
    diagnosis = only_diagnosis(house, saved.id)
    assert [(finding.damage.path, finding.damage.kind, finding.part) for finding in diagnosis.findings] == [
        ("code/job.py", "checksum", "code of the version")
    ]
    assert diagnosis.restorable == ()


def test_a_whole_query_of_a_damaged_savepoint_is_not_advised_to_start_from(house: House) -> None:
    run = house.ran("a")
    late = Path(run.checkpoints) / "late"
    shutil.copytree(Path(run.checkpoints) / "counts", late)
    line = json.loads(query_line(str(late), "")) | {"query": "late", "sink": "foreachBatch"}
    house.append(run, QUERIES_FILE, json.dumps(line) + "\n")
    other, saved = take(house), take(house)
    assert all(f"fork {saved.id} --name" in diagnosis.advice for diagnosis in do(house.face, Diagnose(saved.id)))
    verified(house.face.context.library, saved.id, Trust.INTACT, 1)
    harm(house, saved, "queries/late/checkpoint/offsets/13")
    counts, damaged = do(house.face, Diagnose(saved.id))
    assert (len(counts.findings), len(damaged.findings)) == (0, 1)
    assert "do not start from it" in counts.advice and saved.id not in counts.advice + damaged.advice
    assert f"{other.id} (batch {NEWEST} of counts, batch {NEWEST} of late)" in damaged.advice


def test_a_savepoint_without_a_readable_manifest(house: House) -> None:
    house.ran("a")
    saved = take(house)
    (house.face.layout.savepoint(saved.id) / "manifest.json").write_text("{")
    diagnosis = only_diagnosis(house, saved.id)
    assert [finding.damage.path for finding in diagnosis.findings] == ["manifest.json"]
    assert "Do not start from it" in diagnosis.advice


def test_a_checkpoint_anywhere(house: House) -> None:
    run = house.ran("a", golden="hdfs")
    place = str(Path(run.checkpoints) / "counts")
    assert only_diagnosis(house, place).restorable == only_diagnosis(house, f"file://{place}").restorable == tuple(range(NEWEST + 1))
    lose(run, "offsets/5")
    diagnosis = only_diagnosis(house, place)
    assert [(finding.damage.path, finding.batches) for finding in diagnosis.findings] == [("offsets/5", (5, 6))]
    assert {5, 6}.isdisjoint(kept.batch for kept in house.face.ask(ListRetained("a")))


@pytest.mark.parametrize("subject", ["nothing", "", "/nowhere/at/all", "nosuch://scheme/at/all"])
def test_nothing_of_that_name(house: House, subject: str) -> None:
    with pytest.raises(NotFound) as refused:
        do(house.face, Diagnose(subject))
    assert refused.value.code == "diagnose.nothing"
    assert "offsets/" in refused.value.hint


def test_a_folder_that_is_no_checkpoint_is_not_walked(house: House, tmp_path: Path) -> None:
    """Two links to the folder that they are in make as many paths as there are atoms."""
    for name in ("around", "again"):
        (tmp_path / name).symlink_to(tmp_path)
    with pytest.raises(NotFound) as refused:
        do(house.face, Diagnose(str(tmp_path)))
    assert refused.value.code == "diagnose.nothing"


def test_a_diagnosis_is_json(house: House) -> None:
    from pipelines.storage import documents

    house.ran("a")
    assert json.loads(documents.encode(only_diagnosis(house, "a")))["restorable"][-1] == NEWEST


@pytest.fixture
def listed(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look takes long enough to be seen as an operation."""
    monkeypatch.setattr(operations, "NOTICED_S", 0)
    step = Ticket.step

    def stepping(ticket: Ticket, *args: Any) -> None:
        until(lambda: ticket.operation in [operation.id for operation in house.face.ask(ListOperations(running=True))], PATIENCE_S)
        step(ticket, *args)

    monkeypatch.setattr(Ticket, "step", stepping)


def test_a_look_is_an_operation_that_can_be_ended(house: House, listed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    reading, go_on = threading.Event(), threading.Event()
    step = Ticket.step

    def slow(*args: Any) -> None:
        step(*args)
        reading.set()
        go_on.wait(PATIENCE_S)

    monkeypatch.setattr(Ticket, "step", slow)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(do, house.face, Diagnose("a"))
        assert reading.wait(PATIENCE_S)
        [running] = house.face.ask(ListOperations(running=True))
        assert (running.kind, running.job, running.subject, running.can_cancel) == ("diagnose", "a", "", True)
        assert running.amount is not None and running.amount.step == "reading" and running.amount.total > 0
        do(house.face, CancelOperation(running.id))
        go_on.set()
        with pytest.raises(Conflict) as caught:
            answer.result(PATIENCE_S)
    assert caught.value.code == "operation.cancelled"
    assert house.face.ask(ShowOperation(running.id)).state is OperationState.CANCELLED


def test_what_was_found_is_the_operations_result(house: House, listed: None) -> None:
    run = house.ran("a")
    do(house.face, Diagnose("a"))
    assert house.face.ask(ListOperations())[0].result == SOUND
    lose(run, "metadata")
    do(house.face, Diagnose("a"))
    assert house.face.ask(ListOperations())[0].result == DAMAGED
    with pytest.raises(NotFound):
        do(house.face, Diagnose("nothing"))
    assert len(house.face.ask(ListOperations())) == 2


@pytest.mark.parametrize("golden", ["hdfs", "rocksdb"])
def test_state_that_is_gone_is_neither_sound_nor_saved(house: House, golden: str) -> None:
    """In format 1 nothing in the checkpoint says that there was any; the job's own progress does."""
    run = house.ran("a", golden)
    operators = {"stateOperators": [{"operatorName": "stateStoreSave", "numRowsTotal": 3}]}
    house.append(run, PROGRESS_FILE, json.dumps({**json.loads(progress_line(NEWEST, "2026-11-20T09:00:00.000Z")), **operators}) + "\n")
    house.reopen()
    assert take(house).id
    shutil.rmtree(Path(run.checkpoints) / "counts" / "state")
    for batch in (None, NEWEST):
        with pytest.raises((Corrupt, NotFound, Conflict)) as refused:
            take(house, batch)
        assert batch is not None or refused.value.code == "checkpoint.missing_file"
    assert only_diagnosis(house, "a").restorable == () and not only_diagnosis(house, "a").sound
