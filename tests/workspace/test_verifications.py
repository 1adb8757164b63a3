"""Verifications of the workspace: levels add up, and a proof by real Spark holds for every store, harms nothing and leaves nothing."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.domain import verdicts
from pipelines.domain.operations import Amount, Operation, OperationState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust, Verification
from pipelines.savepoint import verify
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.face import do
from pipelines.verbs.operations import CancelOperation, ShowOperation
from pipelines.verbs.savepoints import ReadManifest, ReadVerification, ShowSavepoint
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.verbs.try_code import TryCode
from pipelines.verbs.verify import Verify
from pipelines.workspace import verdicts as known
from pipelines.workspace import versions
from pipelines.workspace.workspace import Workspace
from tests import warm
from tests.places import odd
from tests.waiting import until
from tests.workspace.conftest import House
from tests.workspace.proving import CODE, QUERIES, Stage


@pytest.fixture(scope="module")
def stage(kept_jvms: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(odd(tmp_path_factory.mktemp("proving")))
    yield made
    made.face.close()


def proved(stage: Stage, savepoint: Savepoint) -> Verification:
    warm.one_environment()
    verification = do(stage.face, Verify(savepoint.id, Trust.PROVED))
    assert stage.left() == []
    assert stage.face.ask(ReadVerification(savepoint.id)) == verification
    return verification


def begun(face: Workspace, savepoint: Savepoint, level: Trust) -> Operation:
    operation = face.begin(Verify(savepoint.id, level)).operation
    assert operation is not None
    return operation


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_without_new_data_state_is_compared_but_nothing_is_proved(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_REHEARSAL_PATIENCE_S", "2")
    verification = proved(stage, stage.take())
    assert verification.reached is Trust.INTACT and verification.damages == ()
    assert verification.proof is not None
    assert "nothing new to run a batch with: try again when they have" in verification.proof.note
    assert {state.query for state in verification.proof.states} == set(QUERIES) - {"plain"}


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_a_proof_compares_every_store_runs_a_batch_and_touches_nothing(stage: Stage) -> None:
    """By a process that has read state before it runs the batch."""
    savepoint = stage.take()
    stage.write(3, 1)
    stage.face.context.sparks.open(stage.face.layout.warm, warm.ONE)
    kept, marks, before = sorted(stage.taken.iterdir()), stage.marks(), sorted(stage.output.rglob("*"))
    assert [path.name for path in kept] == ["2.json", "3.json"], "the job itself deleted what it had read"
    verification = proved(stage, savepoint)
    stage.face.context.sparks.close()
    proof = verification.proof
    assert proof is not None and (proof.note, verification.damages) == ("", ())
    assert verification.reached is Trust.PROVED
    assert {state.query: state.name for state in proof.states} == {
        "counts_hdfs": "stateStoreSave",
        "counts_rocks": "stateStoreSave",
        "joined": "symmetricHashJoin",
        "distinct": "dedupe",
        "totals": "transformWithStateInPySparkExec",
    }
    assert all(state.rows == state.expected and state.rows for state in proof.states), proof.states
    executions = {state.query: state.executions for state in proof.states}
    assert executions == {"counts_hdfs": 1, "counts_rocks": 2, "joined": 1, "distinct": 3, "totals": 1}
    batches = {batch.query: (batch.batch, batch.input_rows) for batch in proof.batches}
    assert batches.keys() == set(QUERIES)
    assert all(batch == image.batch + 1 for image in savepoint.queries for batch in [batches[image.query][0]])
    assert batches["plain"][1] == batches["totals"][1] == 8
    assert next(batch for batch in proof.batches if batch.query == "plain").output_rows == 8
    assert stage.marks() == marks, "the script's own sink saw no row"
    assert sorted(stage.output.rglob("*")) == before
    assert sorted(stage.taken.iterdir()) == kept, "a source that deletes what it has read did not"
    shown = stage.face.ask(ShowSavepoint(savepoint.id))
    assert (shown.trust, set(shown.levels), shown.damaged_files) == (Trust.PROVED, set(Trust), 0)
    events = [event for event in stage.face.ask(ListEvents("job")) if event.kind == "savepoint.proved"]
    assert [event.subject for event in events] == [savepoint.id] and "5 of them compared" in events[0].message
    assert do(stage.face, Verify(savepoint.id, Trust.INTACT)).levels[Trust.PROVED] == verification.at_ms
    assert stage.face.ask(ShowSavepoint(savepoint.id)).trust is Trust.PROVED


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_changed_code_is_tried_on_the_state_and_its_rows_are_shown_and_written_nowhere(stage: Stage) -> None:
    savepoint = stage.take()
    stage.write(3, 1)
    marks, before, kept = stage.marks(), sorted(stage.output.rglob("*")), sorted(stage.taken.iterdir())
    warm.one_environment()
    late = CODE.replace("total += row.n", "total += row.n + 0 // TaskContext.get().attemptNumber()")  # fails at a task's first try
    negative = TryCode(savepoint.id, code="from pyspark import TaskContext\n" + late.replace("total=total)", "total=-total)"))
    judged_the_same(stage, negative)
    tried = do(stage.face, negative)
    assert (tried.note, tried.failed, tried.meanings) == ("", False, ())
    assert {query.query for query in tried.queries} == set(QUERIES)
    totals = next(query for query in tried.queries if query.query == "totals")
    sums: Counter[str] = Counter()
    for number, row in itertools.product(range(4), range(8)):
        sums[f"p{(number + row) % 5}"] += number * 10 + row
    assert {tuple(row) for row in totals.rows.rows} == {(post, -total) for post, total in sums.items()}
    assert (totals.batch.input_rows, totals.batch.output_rows) == (8, 5)
    renamed, told = CODE.replace('getValueState("total"', 'getValueState("sum"'), {"totals.0.total": "totals.0.sum"}
    goes_on = do(stage.face, TryCode(savepoint.id, code=renamed, map=told))
    totals = next(query for query in goes_on.queries if query.query == "totals")
    assert (goes_on.failed, {tuple(row) for row in totals.rows.rows}) == (False, set(sums.items())), "under its new name, as a fork would"
    failing = renamed.replace("total += row.n", "total += row.nothing")
    broken = do(stage.face, TryCode(savepoint.id, code=failing, map=told))
    assert broken.failed and "nothing" in broken.note
    assert (stage.marks(), sorted(stage.output.rglob("*")), sorted(stage.taken.iterdir())) == (marks, before, kept)
    assert stage.left() == []


def judged_the_same(stage: Stage, change: TryCode) -> None:
    """As a check does that has found it, so that the trial plans nothing (`test_checks.py` has trials that do)."""
    manifest = stage.face.ask(ReadManifest(change.savepoint))
    version = versions.of_fork(manifest, change, 1)
    known.keep(stage.face.context, manifest, version, (), verdicts.of(manifest.id, version.id, ()), {}, {})


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_other_state_and_unreadable_state_are_damage(stage: Stage) -> None:
    """Both are there before the savepoint is sealed, so no checksum tells of them."""
    savepoint = stage.take()
    folder = Path(savepoint.path)
    swap_state(folder, "counts_hdfs")
    flip(next((folder / "queries/counts_rocks/checkpoint/state/0/0").glob("*.changelog")))
    verification = proved(stage, savepoint)
    assert verification.reached is None and verification.levels == {}
    assert {(damage.path, damage.kind) for damage in verification.damages} == {
        ("queries/counts_hdfs/checkpoint/state/0", "state"),
        ("queries/counts_rocks/checkpoint/state/0", "state"),
    }
    assert any("the job counted" in damage.message for damage in verification.damages)
    assert do(stage.face, Verify(savepoint.id, Trust.INTACT)).damages == verification.damages, "checksums do not make state readable"
    assert stage.face.ask(ShowSavepoint(savepoint.id)).damaged_files == 2


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_a_cancelled_proof_leaves_nothing(stage: Stage) -> None:
    savepoint = stage.take()
    warm.one_environment()
    operation = begun(stage.face, savepoint, Trust.PROVED)
    assert (operation.kind, operation.can_cancel, operation.subject) == ("prove", True, savepoint.id)
    stage.await_step(operation, "reading state")
    until(lambda: list(stage.processes()))
    (kept,) = do(stage.face, Dispose((savepoint.id,))).refused
    assert kept.refusal is not None and kept.refusal.code == "savepoint.in_use"
    do(stage.face, CancelOperation(operation.id))
    until(lambda: stage.face.ask(ShowOperation(operation.id)).state is not OperationState.RUNNING)
    assert stage.face.ask(ShowOperation(operation.id)).state is OperationState.CANCELLED
    assert stage.left() == []
    assert stage.face.ask(ShowSavepoint(savepoint.id)).trust is Trust.COMPLETE


def swap_state(savepoint: Path, query: str) -> None:
    """A partition with fewer or more rows in the place of another: valid state of the same version, and a manifest that has its size."""
    state = savepoint / "queries" / query / "checkpoint" / "state" / "0"
    sizes = {}
    for path in sorted((state / "0").iterdir()):
        if path.suffix in (".delta", ".snapshot"):
            data = (state / "1" / path.name).read_bytes()
            path.unlink()
            path.write_bytes(data)
            (path.parent / f".{path.name}.crc").unlink(missing_ok=True)
            sizes[str(path.relative_to(savepoint))] = len(data)
    manifest = json.loads((savepoint / "manifest.json").read_text())
    files = [file for file in manifest["files"] if (savepoint / file["path"]).exists()]
    manifest["files"] = [{**file, "bytes": sizes.get(file["path"], file["bytes"])} for file in files]
    (savepoint / "manifest.json").write_text(json.dumps(manifest))


def flip(path: Path) -> None:
    """Other bytes of the same number, in a file of the savepoint's own."""
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(bytes(byte ^ 0xFF for byte in data))


def test_a_verification_is_an_operation_with_its_level_as_the_result(house: House) -> None:
    house.ran()
    taken = do(house.face, Take("a"))
    assert house.face.ask(ReadVerification(taken.id)) is None
    operation = begun(house.face, taken, Trust.INTACT)
    until(lambda: house.face.ask(ShowOperation(operation.id)).state is not OperationState.RUNNING)
    done = house.face.ask(ShowOperation(operation.id))
    assert (done.state, done.kind, done.result, done.subject) == (OperationState.DONE, "verify", "intact", taken.id)
    assert done.amount is not None and done.amount.done >= done.amount.total == taken.bytes
    verification = house.face.ask(ReadVerification(taken.id))
    assert verification is not None and verification.levels.keys() == {Trust.COMPLETE, Trust.INTACT}


def refused(*_: object) -> Verification:
    raise AssertionError("files are read in the server's process")


def test_a_new_savepoint_is_sealed_beside_the_servers_process(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "check", refused)
    house.ran()
    house.face.background = True
    taken = do(house.face, Take("a"))
    until(lambda: house.face.ask(ShowSavepoint(taken.id)).trust is Trust.INTACT)


def test_a_proof_waits_for_the_one_that_runs_and_can_be_cancelled_meanwhile(house: House) -> None:
    house.ran()
    taken = do(house.face, Take("a"))
    context = house.face.context
    with context.proving:
        operation = begun(house.face, taken, Trust.PROVED)
        until(lambda: (house.face.ask(ShowOperation(operation.id)).amount or Amount("")).step == "waiting for the sandbox")
        context.in_sandbox.append(operation.id)
        told = "waiting for the sandbox (prove of a runs)"
        until(lambda: (house.face.ask(ShowOperation(operation.id)).amount or Amount("")).step == told)
        context.in_sandbox.clear()
        do(house.face, CancelOperation(operation.id))
        until(lambda: house.face.ask(ShowOperation(operation.id)).state is OperationState.CANCELLED)
    assert not context.proving.locked()


def test_a_damaged_savepoint_is_not_restored_for_a_proof(house: House) -> None:
    house.ran()
    taken = do(house.face, Take("a"))
    do(house.face, Verify(taken.id))
    flip(Path(taken.path) / "queries/counts/checkpoint/offsets/13")
    verification = do(house.face, Verify(taken.id, Trust.PROVED))
    assert (verification.reached, verification.proof) == (None, None)
    assert [damage.kind for damage in verification.damages] == ["checksum"]
    assert [event.kind for event in house.face.ask(ListEvents("a"))].count("savepoint.damaged") == 1


def test_what_a_dead_server_left_of_a_proof_is_removed_at_the_opening(house: House) -> None:
    left = house.face.layout.sandbox / "o-1" / "checkpoints"
    left.mkdir(parents=True)
    (left / "file").touch()
    house.reopen()
    assert not house.face.layout.sandbox.exists()
