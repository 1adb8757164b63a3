"""A job whose bytes lie on another disk of this machine: while that is not mounted nothing begins anew in its place. No Spark."""

from __future__ import annotations

import fcntl
import multiprocessing
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import Conflict, Invalid, TidemarkError, Unavailable
from pipelines.domain.homes import MARK, WORKSPACE, mark_of, unmarked
from pipelines.domain.runs import LEASES, RunState
from pipelines.driver import lease
from pipelines.storage.rights import users_umask
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.fork import Fork, Variant
from pipelines.verbs.homes import ListHomes, SetHome
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.rescale import Rescale
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import RebuildCatalog
from pipelines.verbs.take import Take
from pipelines.workspace import forks, home_leases, job_places, repairs
from pipelines.workspace.forks import PlannedFork
from pipelines.workspace.resumes import restart
from tests.workspace.conftest import CODE, House
from tests.workspace.test_job_places import ran, script


@pytest.fixture(params=["plain", "linked", "file-url"])
def home(request: pytest.FixtureRequest, disk_url: str, tmp_path: Path) -> str:
    """As people name it; what the job's document says of it is a whole path."""
    if request.param == "linked":
        (tmp_path / "mnt").symlink_to(disk_url)
        return f"{tmp_path}/mnt/jobs"
    return f"{'file://' if request.param == 'file-url' else ''}{disk_url}/jobs"


def folder(home: str) -> Path:
    return Path(home.removeprefix("file://"))


@contextmanager
def unmounted(home: str, *lies: str) -> Iterator[None]:
    """A folder is where the disk was, empty but for what `lies` there."""
    aside = folder(home).with_name("aside")
    folder(home).rename(aside)
    for name in ("", *lies):
        (folder(home) / name).mkdir()
    yield
    assert {path.name for path in folder(home).iterdir()} == set(lies)  # nothing was made that the disk would hide
    shutil.rmtree(folder(home))
    aside.rename(folder(home))


def test_an_experiment_of_which_one_variant_cannot_be_made_leaves_nothing_there(
    house: House, disk_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, prepare = f"{disk_url}/jobs", forks.prepare
    house.see(ran(house, home, conf={}), RunState.STOPPED)
    taken = do(house.face, Take("a"))
    before = {path for path in folder(home).rglob("*") if "lease" not in path.name}

    def prepared(context: Any, fork: PlannedFork, *more: Any) -> Any:
        if fork.job == "c":
            raise Unavailable("storage.full", "No space is left", "Make room.")
        return prepare(context, fork, *more)

    monkeypatch.setattr(forks, "prepare", prepared)
    with pytest.raises(Unavailable):
        do(house.face, StartExperiment("try", taken.id, (Variant(name="b", home=home), Variant(name="c", home=home))))
    assert {path for path in folder(home).rglob("*") if "lease" not in path.name} == before


def test_nothing_is_done_while_its_disk_is_away(house: House, home: str) -> None:
    run = ran(house, home, conf={})
    house.see(run, RunState.STOPPED)
    taken = do(house.face, Take("a"))
    assert taken.path == str(folder(home) / taken.id)
    spec = house.face.context.files.spec(run.job, run.id)
    assert spec.mark == str(folder(home) / MARK)
    lease.refuse_away(spec)
    fork = Fork(taken.id, name="b", code=CODE)
    changes = (Resume("a"), Take("a"), Rescale("a", 4), Forget("a"), Diagnose("a"), script(home, {}, "c"))
    for lies, asked in ((("lost+found",), changes), ((), (*changes, fork, replace(fork, home=home)))):
        with unmounted(home, *lies):
            for change in asked:
                with pytest.raises(Unavailable) as error:
                    do(house.face, change)
                assert error.value.code == "home.away" and "ount it" in error.value.hint
    with unmounted(home):
        with pytest.raises(Unavailable):  # what a driver says that began before, or is begun again
            lease.refuse_away(spec)
        house.reopen()
        assert [savepoint.id for savepoint in house.face.ask(ListSavepoints())] == [taken.id]
        assert house.face.ask(ShowJob("a")).summary.job.place == job_places.of_job(house.face.context, run.job)
    assert do(house.face, Resume("a")).checkpoints == run.checkpoints


def test_a_restart_is_begun_and_left_to_its_driver_which_is_begun_again(house: House, home: str) -> None:
    """One that was refused would end the job's restarts, and the disk may come back."""
    run = ran(house, home, conf={})
    house.see(run, RunState.FAILED)
    with unmounted(home):
        begun = restart(house.face.context, run.job, 1)
        spec = house.face.context.files.spec(run.job, begun.id)
        assert begun.checkpoints == run.checkpoints and spec.mark == str(folder(home) / MARK)
        with pytest.raises(Unavailable, match="not mounted"):
            lease.refuse_away(spec)


def test_what_a_crash_left_stays_until_its_disk_is_back(house: House, home: str) -> None:
    run = ran(house, home, conf={})
    house.face.layout.wanted_file(run.job).unlink()
    (house.folder(run) / "queries.jsonl").unlink()
    with unmounted(home):
        house.reopen()
    assert [path.name for path in folder(home).iterdir() if path.name != MARK] == [f"a-{run.id}"]
    house.reopen()
    assert [path.name for path in folder(home).iterdir()] == [MARK]


def test_its_document_is_made_anew_from_its_runs(house: House, home: str) -> None:
    run = ran(house, home, conf={})
    before = job_places.of_job(house.face.context, run.job)
    house.face.layout.job_file(run.job).unlink()
    do(house.face, RebuildCatalog())
    assert repairs.known_job(house.face.context, run.job).place == before == str(folder(home) / f"a-{run.id}")


def test_only_its_output_is_open_to_others(house: House, home: str) -> None:
    run = ran(house, home, conf={})
    place = Path(job_places.of_job(house.face.context, run.job))
    modes = {path.name: path.stat().st_mode & 0o777 for path in (place, place / "checkpoints", place / "output")}
    given = ~users_umask()
    assert modes == {place.name: 0o711 & given, "checkpoints": 0o700, "output": 0o777 & given}


def locking(path: str, locked: Event, done: Event) -> None:
    with open(path, "w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        locked.set()
        done.wait()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process has it."""
    context: Any = multiprocessing.get_context("spawn")
    has, done = context.Event(), context.Event()
    process = context.Process(target=locking, args=(str(path), has, done))
    process.start()
    has.wait()
    yield
    done.set()
    process.join()


def test_nobody_takes_it_from_the_process_that_works_there(house: House, home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver of another workspace, as of a copy of this one, or a Spark that outlives its driver."""
    run = ran(house, home, conf={})
    house.see(run, RunState.STOPPED)
    lock = Path(run.checkpoints, LEASES, "counts.lock")
    lock.parent.mkdir()
    monkeypatch.setattr(home_leases, "ENDING_S", 0.5)
    with locked(lock):
        for change in (Forget("a"), Resume("a")):
            with pytest.raises(Conflict) as error:
                do(house.face, change)
            assert error.value.code == "checkpoint.leased" and str(lock.with_suffix(".json")) in error.value.hint
    do(house.face, Forget("a"))
    assert [path.name for path in folder(home).iterdir()] == [MARK]


def test_a_fork_is_made_of_links_on_its_disk_and_copied_to_another(house: House, home: str) -> None:
    house.see(ran(house, home, conf={}), RunState.STOPPED)
    taken = do(house.face, Take("a"))
    run = do(house.face, Fork(taken.id, name="b", home=home, code=CODE, script="job.py"))
    there = list(files(folder(run.checkpoints)))
    assert any(path.stat().st_nlink > 2 for path in there)
    here = do(house.face, Fork(taken.id, name="c", code=CODE, script="job.py"))
    assert names(here.checkpoints) == names(run.checkpoints)
    shutil.rmtree(folder(home) / taken.id)
    assert all(path.read_bytes() for path in there if path.stat().st_size)


def names(checkpoints: str) -> set[str]:
    return {str(path.relative_to(checkpoints)) for path in files(Path(checkpoints))}


def files(root: Path) -> Iterator[Path]:
    return (path for path in root.rglob("*") if path.is_file())


@pytest.mark.parametrize(("home", "mark"), [("/mnt/jobs", f"/mnt/jobs/{MARK}"), ("s3://b/jobs", ""), ("hdfs://nn:1/jobs", ""), ("", "")])
def test_only_a_folder_of_this_machine_has_a_mark(home: str, mark: str) -> None:
    assert mark_of(home) == mark


def test_the_error_names_the_file_that_may_be_made_again() -> None:
    error: TidemarkError = unmarked("/mnt/jobs/.tidemark-home")
    assert "/mnt/jobs is not there" in error.message and "/mnt/jobs/.tidemark-home" in error.hint


def test_a_disk_that_takes_nothing_is_told_by_the_plan(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    monkeypatch.setattr("os.access", denying(str(tmp_path / "closed")))
    with pytest.raises((Unavailable, Invalid)) as error:
        house.face.plan(script(f"{tmp_path}/closed/jobs", {}))
    assert error.value.code == "storage.denied" and not any((tmp_path / "closed").iterdir())


def denying(folder: str) -> Callable[..., bool]:
    """Root, whom nothing is denied, is told what another user would be."""
    import os

    access = os.access
    return lambda path, mode, **options: str(path) != folder and access(path, mode, **options)


def test_new_jobs_begin_where_the_workspace_says(house: House, disk_url: str) -> None:
    house.see(ran(house, "", name="before", conf={}), RunState.STOPPED)
    usual, other = f"{disk_url}/jobs", f"{disk_url}/other"
    do(house.face, SetHome(usual, jobs=True))
    shown = house.face.ask(ListHomes())
    assert (shown.usual, shown.of_new_jobs) == (usual, usual)
    run = ran(house, "", conf={})
    assert run.checkpoints.startswith(f"{usual}/a-") and (Path(usual) / MARK).is_file()
    taken = do(house.face, Take("a"))
    assert taken.path == f"{usual}/{taken.id}"
    do(house.face, SetHome(other))  # of savepoints alone; the job that is there keeps its own there
    assert house.face.ask(ListHomes()).of_new_jobs == usual and do(house.face, Take("a")).path.startswith(f"{usual}/sp-")
    assert do(house.face, Take("before")).path.startswith(other)
    for fork, at in ((Fork(taken.id, name="b"), usual), (Fork(taken.id, name="c", home=WORKSPACE), str(house.root))):
        assert house.face.plan(fork).checkpoints.startswith(at)
    assert house.face.plan(replace(Fork(taken.id, name="d"), lock_step=True)).checkpoints.startswith(str(house.root))
    do(house.face, SetHome(WORKSPACE, jobs=True))
    assert house.face.plan(script("", {}, "e")).place == ""


def test_what_is_no_home_of_new_jobs_is_refused(house: House, disk_url: str) -> None:
    house.ran("a")
    for change, code in (
        (SetHome(disk_url, "a", jobs=True), "home.jobs"),
        (SetHome("memory://there/home", jobs=True, untested=True), "home.scheme"),
    ):
        with pytest.raises(TidemarkError) as error:
            house.face.plan(change)
        assert error.value.code == code
    assert house.face.ask(ListHomes()).of_new_jobs == WORKSPACE
