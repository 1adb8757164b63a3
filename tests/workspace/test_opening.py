"""Opening: formats, locks, and what crashes left."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.domain.errors import Corrupt, Unavailable, Unsupported
from pipelines.domain.jobs import StopWanted, Wanted
from pipelines.domain.operations import OperationState
from pipelines.domain.runs import RunState
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.face import do
from pipelines.verbs.fork import Variant
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.operations import ShowOperation
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.workspace.opening import open_workspace
from tests.storage.s3_server import ROOT
from tests.workspace.conftest import House, job


def test_a_newer_workspace_is_refused_and_left_alone(house: House) -> None:
    house.face.close()
    marker = house.face.layout.workspace_file
    newer = json.dumps({"format": 99, "id": "w-1", "created_ms": 1})
    marker.write_text(newer)
    with pytest.raises(Unsupported) as refused:
        open_workspace(house.root)
    assert refused.value.code == "workspace.newer" and marker.read_text() == newer
    marker.write_text(newer.replace("99", "1"))
    house.open()


def test_the_id_of_a_workspace_stays(house: House) -> None:
    first = house.face.layout.workspace_file.read_text()
    house.reopen()
    assert house.face.layout.workspace_file.read_text() == first


def test_a_second_process_is_kept_out(house: House) -> None:
    code = f"from pathlib import Path; from pipelines.workspace.opening import open_workspace; open_workspace(Path({str(house.root)!r}))"
    second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert second.returncode and "catalog" in second.stderr and "is open in process" in second.stderr


def test_a_place_that_cannot_be_made_is_refused_with_what_the_system_says() -> None:
    with pytest.raises(Unavailable) as refused:
        open_workspace(Path("/proc/1/tidemark"))
    assert refused.value.code == "workspace.cannot_be_made" and "/proc/1/tidemark" in refused.value.message and refused.value.hint


def test_a_half_job_is_not_listed_and_its_name_is_free(house: House) -> None:
    run = house.begin("a")
    house.face.layout.wanted_file(run.job).unlink()
    assert house.reopen().ask(ListJobs()) == []
    assert not house.face.layout.job(run.job).exists()
    assert house.begin("a").id != run.id


def test_a_job_that_was_being_forgotten_is_gone(house: House) -> None:
    run = house.begin("a")
    house.face.layout.job(run.job).rename(house.face.layout.jobs / ".forgotten-1")
    assert house.reopen().ask(ListJobs()) == []
    assert list(house.face.layout.jobs.iterdir()) == []


def test_a_resume_that_was_never_wanted_is_undone(house: House) -> None:
    house.ran("a")
    before = house.face.layout.wanted_file(job("a")).read_bytes()
    saved = do(house.face, Take("a"))
    run = do(house.face, Resume("a", from_savepoint=saved.id))
    house.face.layout.wanted_file(job("a")).write_bytes(before)
    house.face.close()
    house.face.layout.catalog_file.unlink()
    house.open()
    assert run.id not in [job_run.id for job_run in house.face.ask(ShowJob("a")).runs]
    assert not house.folder(run).exists() and not house.face.layout.checkpoints(run.job, run.id).exists()


def test_an_experiment_that_was_written_down_is_completed(house: House) -> None:
    house.ran("a")
    saved = do(house.face, Take("a"))
    do(house.face, StartExperiment("try", saved.id, (Variant(name="b"), Variant(name="c"))))
    for name in ("b", "c"):
        house.face.layout.wanted_file(job(name)).unlink()
    house.reopen()
    assert {summary.job.name: summary.state for summary in house.face.ask(ListJobs())} == {
        "a": RunState.STOPPED,
        "b": RunState.WANTED,
        "c": RunState.WANTED,
    }


def test_forks_of_an_experiment_that_was_not_written_down_are_gone(house: House) -> None:
    house.ran("a")
    saved = do(house.face, Take("a"))
    made = do(house.face, StartExperiment("try", saved.id, (Variant(name="b"), Variant(name="c"))))
    for name in ("b", "c"):
        house.face.layout.wanted_file(job(name)).unlink()
    house.face.layout.experiment_file(made.id).unlink()
    house.reopen()
    assert [summary.job.name for summary in house.face.ask(ListJobs())] == ["a"]


def test_an_unfinished_savepoint_is_removed(house: House) -> None:
    house.ran("a")
    saved = do(house.face, Take("a"))
    folder = house.face.layout.savepoint(saved.id)
    (folder / "manifest.json").rename(folder / "making.json")
    assert house.reopen().ask(ListSavepoints()) == []
    assert not house.face.layout.savepoint(saved.id).exists()


def test_a_stop_that_was_recorded_and_not_asked_has_failed(house: House) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    operation = house.stop()
    house.face.context.files.write(house.face.layout.wanted_file(run.job), Wanted(run.id))
    house.reopen()
    assert house.face.ask(ShowOperation(operation.id)).state == OperationState.FAILED


def test_a_stop_that_was_asked_survives_the_loss_of_the_catalog(house: House) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    operation = house.stop()
    house.face.close()
    house.face.layout.catalog_file.unlink()
    house.open()
    assert house.face.ask(ShowOperation(operation.id)).state == OperationState.RUNNING
    asked = house.face.context.files.wanted(run.job).stop
    assert isinstance(asked, StopWanted) and asked.operation == operation.id


def test_a_damaged_catalog_says_how_to_rebuild_and_is_rebuilt(house: House) -> None:
    house.ran("a")
    saved = do(house.face, Take("a"))
    house.face.close()
    house.face.layout.catalog_file.write_bytes(b"not a database" * 1000)
    with pytest.raises(Corrupt):
        open_workspace(house.root)
    house.face = open_workspace(house.root, rebuilding=True)
    assert [savepoint.id for savepoint in house.face.ask(ListSavepoints())] == [saved.id]
    assert house.face.ask(ShowJob("a")).summary.state is RunState.STOPPED


def test_a_damaged_document_hides_nothing_else(house: House) -> None:
    house.ran("a")
    broken = house.ran("b")
    (house.folder(broken) / "run.json").write_text("{")
    house.face.layout.wanted_file(broken.job).write_text("{")
    (house.face.layout.experiments / "e-1.json").write_text("{")
    house.reopen()
    assert house.folder(broken).exists()
    assert {summary.job.name for summary in house.face.ask(ListJobs())} == {"a", "b"}
    assert "document.malformed" in {event.kind for event in house.face.ask(ListEvents())}


def test_documents_whose_writing_was_broken_off_are_removed(house: House) -> None:
    """Everywhere where the workspace writes its own; the job's output is nobody's to clean."""
    run = house.ran("a")
    do(house.face, Take("a"))
    layout = house.face.layout
    folders = [layout.root, layout.exports, layout.experiments, layout.version(run.version), layout.job(run.job), house.folder(run)]
    for folder in folders:
        folder.mkdir(exist_ok=True)
        (folder / ".tmp-0011223344556677").write_text("{")
    theirs = layout.output(run.job) / ".tmp-0011223344556677"
    theirs.write_text("rows")
    house.reopen()
    assert [path for path in house.root.rglob(".tmp-*") if path.is_file()] == [theirs]


@pytest.mark.parametrize("left", [1, 100, 4_096, 20_000, -1])
def test_a_catalog_that_was_cut_short_is_rebuilt(house: House, left: int) -> None:
    house.ran("a")
    saved = do(house.face, Take("a"))
    house.face.close()
    whole = house.face.layout.catalog_file.read_bytes()
    house.face.layout.catalog_file.write_bytes(whole[:left])
    with pytest.raises(Corrupt) as refused:
        open_workspace(house.root)
    assert "catalog rebuild" in refused.value.hint
    house.face = open_workspace(house.root, rebuilding=True)
    assert [listed.id for listed in house.face.ask(ListSavepoints())] == [saved.id]


def test_on_a_disk_that_takes_nothing_savepoints_are_listed_and_on_a_full_one_disposed_of(tmp_path: Path) -> None:
    """Without a server. Really full, to the last byte: the catalog cannot even be opened."""
    command = ["unshare", "-rm", sys.executable, "-m", "tests.workspace.full_disk", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    answered = json.loads(done.stdout)
    assert [ended["failed"] for ended in answered] == [""] * 15
    read_only, (jobs, savepoints, annotated, rebuilt, *recording, disposed, left) = answered[:5], answered[5:]
    assert [ended["code"] for ended in read_only] == [0, 9, 9, 9, 9] and "large" in read_only[0]["out"]
    assert all("read-only" in ended["err"] for ended in read_only)
    assert rebuilt["code"] == 9 and "no space left" in rebuilt["err"]
    assert (jobs["code"], savepoints["code"]) == (0, 0) and "large" in savepoints["out"] and "the disk is full" in savepoints["err"]
    assert annotated["code"] == 9 and "dispose of savepoints" in annotated["err"]
    assert all(ended["code"] == 9 and "no space left" in ended["err"] and "dispose of savepoints" in ended["err"] for ended in recording)
    assert "was found complete, which cannot be recorded" in recording[0]["err"]
    assert not list(tmp_path.parent.glob(f"{tmp_path.name}-elsewhere*")), "an export that cannot be noted has not begun"
    assert (disposed["code"], left["code"], left["out"].strip()) == (0, 0, "[]")


def test_a_catalog_that_is_a_folder_is_a_typed_error(house: House) -> None:
    house.face.close()
    house.face.layout.catalog_file.unlink()
    house.face.layout.catalog_file.mkdir()
    with pytest.raises((Unavailable, Corrupt)):
        open_workspace(house.root)
    house.face.layout.catalog_file.rmdir()
    house.open()
