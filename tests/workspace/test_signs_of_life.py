"""What shows signs of life is never cleaned away: it is repaired, or reported, and goes only when somebody says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain.errors import AlreadyExists, Corrupt, NotFound, TidemarkError, Unsupported
from pipelines.domain.processes import PROCESS_FILE
from pipelines.domain.runs import LOG_FILE, RunState
from pipelines.domain.trust import Trust
from pipelines.verbs.attach import Attach
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.fork import Variant
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints, ShowSavepoint
from pipelines.verbs.system import ListEvents, RebuildCatalog
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from pipelines.workspace.trash import KEPT_MS
from tests.savepoint.golden import lay_checkpoint
from tests.workspace.conftest import CODE, House, Ticking, job


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def kinds(house: House) -> set[str]:
    return {event.kind for event in house.face.ask(ListEvents())}


@pytest.mark.parametrize("state", [RunState.STOPPED, RunState.RUNNING])
def test_a_job_that_lost_its_wanted_file_is_repaired(house: House, state: RunState) -> None:
    run = house.ran("a", state=state)
    folder = house.face.layout.job(run.job)
    before = files(folder)
    house.face.layout.wanted_file(run.job).unlink()
    house.reopen()
    assert files(folder) == before
    assert house.face.context.files.wanted(run.job).run == run.id and "job.repaired" in kinds(house)
    assert do(house.face, RebuildCatalog())["jobs"] == 1
    assert [summary.job.name for summary in house.face.ask(ListJobs())] == ["a"]


def test_a_repaired_job_goes_on(house: House) -> None:
    run = house.ran("a")
    house.face.layout.wanted_file(run.job).unlink()
    house.reopen()
    assert do(house.face, Resume("a")).id != run.id
    assert len(house.face.ask(ShowJob("a")).runs) == 2


def test_output_alone_is_a_sign(house: House) -> None:
    output = house.face.layout.output(job("a"))
    output.mkdir(parents=True)
    (output / "part-0.parquet").write_bytes(b"rows")
    house.reopen()
    assert files(output) == {"part-0.parquet"}
    do(house.face, Forget("a"))
    assert not output.exists() and not house.face.layout.trash.exists(), "what a person disposes of is freed at once"


def test_a_name_whose_job_lost_its_wanted_file_is_taken(house: House) -> None:
    """Also while the workspace is open: beginning another job of that name would delete it."""
    run = house.ran("a")
    before = files(house.face.layout.job(run.job))
    house.face.layout.wanted_file(run.job).unlink()
    with pytest.raises(AlreadyExists):
        house.begin("a")
    assert files(house.face.layout.job(run.job)) == before - {"wanted.json"}


def test_a_run_that_somebody_started_is_never_unwanted(house: House) -> None:
    run = house.ran("a")
    (house.folder(run) / LOG_FILE).write_text("[tidemark] query counts started\n")
    (house.folder(run) / PROCESS_FILE).unlink()
    (house.folder(run) / "exit.json").unlink()
    other = do(house.face, Resume("a"))
    house.reopen()
    assert house.folder(run).is_dir() and Path(run.checkpoints).is_dir() and other.id != run.id


def test_a_half_job_is_in_the_trash_for_a_week(house: House) -> None:
    run = house.begin("a")
    house.face.layout.wanted_file(run.job).unlink()
    house.reopen()
    (aside,) = house.face.layout.trash.iterdir()
    assert files(aside) >= {"job.json", f"runs/{run.id}/run.json"} and "job.cleaned" in kinds(house)
    (file := aside.with_name(aside.name.replace(aside.name.partition("-")[2], "audit.jsonl"))).touch()
    house.clock = Ticking(house.clock() + KEPT_MS - 1_000)
    house.reopen()
    assert aside.is_dir() and file.exists()
    house.clock = Ticking(house.clock() + 2_000)
    house.reopen()
    assert not aside.exists() and not file.exists()


@pytest.mark.parametrize("sealed", [True, False])
def test_a_savepoint_that_lost_its_manifest_stays_until_somebody_disposes_of_it(house: House, sealed: bool) -> None:
    house.ran("a")
    saved = do(house.face, Take("a"))
    if sealed:
        do(house.face, Verify(saved.id, Trust.INTACT))
    folder = house.face.layout.savepoint(saved.id)
    manifest = (folder / "manifest.json").read_bytes()
    (folder / "manifest.json").unlink()
    before = files(folder)
    house.reopen()
    assert files(folder) == before and "savepoint.lost" in kinds(house)
    house.reopen()
    assert len(house.face.ask(ListEvents(kind="savepoint.lost"))) == 1, "one is enough, though every command opens the workspace"
    (folder / "manifest.json").write_bytes(manifest)
    house.reopen()
    assert [listed.id for listed in house.face.ask(ListSavepoints())] == [saved.id]
    (folder / "manifest.json").unlink()
    house.reopen()
    outcome = do(house.face, Dispose((saved.id,)))
    assert outcome.outcomes[0].refusal is None and outcome.frees_bytes > 0 and not folder.exists()


def test_a_savepoint_with_a_damaged_manifest_can_be_disposed_of(house: House) -> None:
    house.ran("a")
    saved = do(house.face, Take("a"))
    folder = house.face.layout.savepoint(saved.id)
    (folder / "manifest.json").write_text("{")
    house.reopen()
    assert do(house.face, Dispose((saved.id,))).outcomes[0].refusal is None and not folder.exists()


@pytest.mark.parametrize(
    ("text", "group", "says"), [("{", Corrupt, "is damaged"), ('{"format": 99}', Unsupported, "has format 99")], ids=["damaged", "newer"]
)
def test_a_savepoint_whose_manifest_cannot_be_read_is_not_said_to_be_none(
    house: House, text: str, group: type[TidemarkError], says: str
) -> None:
    house.ran("a")
    saved = do(house.face, Take("a"))
    (house.face.layout.savepoint(saved.id) / "manifest.json").write_text(text)
    house.reopen()
    for name in (saved.id, saved.path):
        for call in (lambda name=name: house.face.ask(ShowSavepoint(name)), lambda name=name: do(house.face, Diagnose(name))):
            with pytest.raises(group, match=says):
                call()
    with pytest.raises(NotFound):
        house.face.ask(ShowSavepoint(saved.id[:-1]))


@pytest.mark.parametrize("index", ["kept", "lost"])
def test_a_job_that_lost_its_job_file_is_repaired(house: House, index: str) -> None:
    """Of what the catalog says, or, where that is lost too, of its runs, its savepoint and its experiment."""
    house.ran("a")
    saved = do(house.face, Take("a"))
    do(house.face, StartExperiment("e", saved.id, (Variant(name="b", code=CODE + "#\n"),), with_parent=True))
    documents = {name: house.face.context.files.job(job(name)) for name in ("a", "b")}
    for name in documents:
        house.face.layout.job_file(job(name)).unlink()
    house.face.close()
    if index == "lost":
        house.face.layout.catalog_file.unlink()
    house.open()
    repaired = {name: house.face.context.files.job(job(name)) for name in documents}
    assert {name: made and made.origin for name, made in repaired.items()} == {name: was and was.origin for name, was in documents.items()}
    assert {summary.job.name for summary in house.face.ask(ListJobs())} == documents.keys() and "job.repaired" in kinds(house)


def test_a_rebuild_loses_no_job(house: House) -> None:
    house.ran("a")
    house.face.layout.job_file(job("a")).unlink()
    assert do(house.face, RebuildCatalog())["jobs"] == 1
    assert house.face.layout.job_file(job("a")).is_file() and "job.repaired" in kinds(house)


def test_an_attached_job_that_lost_its_job_file_stays_attached(house: House, tmp_path: Path) -> None:
    lay_checkpoint("rocksdb_format2", tmp_path / "elsewhere")
    do(house.face, Attach(name="a", checkpoints={"counts": str(tmp_path / "elsewhere")}))
    house.face.close()
    house.face.layout.job_file(job("a")).unlink()
    house.face.layout.catalog_file.unlink()
    (summary,) = house.open().ask(ListJobs())
    assert summary.job.attached and summary.state is RunState.WATCHED


def test_a_run_that_lost_its_specification_is_told_of(house: House) -> None:
    run = house.ran("a")
    (house.folder(run) / "run.json").unlink()
    house.reopen()
    assert "run.lost" in kinds(house) and house.folder(run).is_dir()
    do(house.face, Forget("a"))
    assert not house.face.layout.job(run.job).exists()
