"""Requirements become environments: made once, whole or not at all, with pins that every later one has, wherever it is made."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.client import requirements as requirements_file
from pipelines.domain import files
from pipelines.domain.differences import Outcome
from pipelines.domain.errors import Invalid, NotFound, TidemarkError, Unavailable
from pipelines.domain.jobs import Run, Wanted
from pipelines.domain.runs import RunState
from pipelines.domain.versions import Version, version
from pipelines.sandbox import installations
from pipelines.verbs.experiments import Diff, ShowVersion
from pipelines.verbs.export import Export
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.import_ import Import
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.operations import CancelOperation, ListOperations
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from pipelines.workspace import environments, operations
from tests import wheels
from tests.waiting import until
from tests.workspace.conftest import CODE, House

CARRIED = "--no-index\n--find-links {code}/wheels\ntiny\n"
"""Requirements that need nothing but the version's own files."""


def requirements(folder: Path, *lines: str) -> str:
    return "\n".join(["--no-index", f"--find-links {folder}", *lines, ""])


def script(name: str, asked: str, **more: object) -> RunScript:
    return replace(RunScript(name=name, script="job.py", code=CODE, args=("--output", "{output}"), requirements=asked), **more)  # type: ignore[arg-type]


def carried(number: str) -> dict[str, str | None]:
    """The one wheel that a version has with it."""
    code = f"NUMBER = {number!r}\n"
    return {f"wheels/{wheels.file_name('tiny', number)}": files.packed(wheels.wheel("tiny", number, code))}


def of(house: House, run: Run) -> Version:
    return house.face.ask(ShowVersion(run.version))


def interpreter(house: House, run: Run) -> Path:
    """What the supervisor starts the run's driver with."""
    return Path(environments.entered(house.face.context, of(house, run)).python)


def says(python: Path, code: str) -> str:
    return subprocess.run([python, "-I", "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def made(house: House) -> list[Path]:
    folder = house.face.layout.environments
    return sorted(folder.iterdir()) if folder.is_dir() else []


def test_equal_requirements_are_one_environment_based_on_the_python_of_the_job(house: House, tmp_path: Path) -> None:
    wheels.lay(tmp_path / "wheels", "tiny", "1.0", "import sys\ndef main():\n    print(sys.prefix)\n")
    asked = requirements(tmp_path / "wheels", "tiny")
    assert house.face.plan(script("a", asked)).builds
    run = do(house.face, script("a", asked))
    assert not house.face.plan(script("b", asked)).builds
    other = do(house.face, script("b", asked, code="x = 1\n"))
    (environment,) = made(house)
    assert interpreter(house, run) == interpreter(house, other) == environment / "bin" / "python"
    assert (of(house, run).requirements, of(house, run).pins) == (asked, "tiny==1.0\n") == (asked, of(house, other).pins)
    assert run.version != version("job.py", CODE, args=("--output", "{output}")).id, "requirements are part of what a version is"
    spark = "import importlib.util as util; print(util.find_spec('pyspark').origin)"
    assert says(interpreter(house, run), spark) == says(Path(sys.executable), spark), "Spark is that of the Python it is based on"
    assert subprocess.check_output([environment / "bin" / "tiny"], text=True) == f"{environment}\n", "its programs run where it is now"
    assert do(house.face, script("c", "")) and interpreter(house, do(house.face, script("d", ""))) == Path("")


@pytest.mark.parametrize(
    ("lines", "code", "kind"),
    [
        (["gone"], "environment.unknown", Invalid),
        (["tiny==1.0", "needy"], "environment.conflict", Invalid),
        (["not a requirement at all"], "environment.failed", Invalid),
    ],
)
def test_what_cannot_be_installed_is_refused_with_pips_words_and_nothing_is_left(
    house: House, tmp_path: Path, lines: list[str], code: str, kind: type[TidemarkError]
) -> None:
    for name, needs in (("tiny", ()), ("needy", ("tiny>=2",))):
        wheels.lay(tmp_path / "wheels", name, "1.0", needs=needs)
    with pytest.raises(kind) as refused:
        do(house.face, script("a", requirements(tmp_path / "wheels", *lines)))
    assert refused.value.code == code and refused.value.hint and "pip says: " in refused.value.message, refused.value.message
    assert made(house) == [] and list(house.face.layout.sandbox.iterdir()) == []
    with pytest.raises(NotFound):
        house.face.ask(ShowJob("a"))


def test_an_index_that_is_not_there_is_said_so(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setattr("pipelines.sandbox.installer.RETRIES", "0")
    with pytest.raises(Unavailable, match="tiny") as refused:
        do(house.face, script("a", "--index-url http://127.0.0.1:9/simple\ntiny\n"))
    assert refused.value.code == "environment.offline"


def test_while_it_is_made_the_run_is_an_operation_that_can_be_cancelled(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "NOTICED_S", 0)
    monkeypatch.setattr(operations, "AT_ONCE_S", 0.1)
    slow, reached = wheels.lay_slow(tmp_path / "slow")
    begun = house.face.begin(script("a", f"{slow}\n"))
    assert begun.operation is not None
    until(reached.exists)
    (operation,) = house.face.ask(ListOperations(running=True))
    assert (operation.kind, operation.job, operation.amount and operation.amount.step) == ("run", "a", "making the environment")
    do(house.face, CancelOperation(operation.id))
    with pytest.raises(TidemarkError, match="cancelled"):
        house.face.answer(begun)
    assert made(house) == [] and list(house.face.layout.sandbox.iterdir()) == []
    assert not (house.face.layout.jobs / "a").exists()


def test_two_jobs_at_once_make_it_once(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheels.lay(tmp_path / "wheels", "tiny", "1.0")
    calls: list[Path] = []
    make = installations.make
    monkeypatch.setattr(installations, "make", lambda folder, *more: (calls.append(folder), make(folder, *more))[1])
    asked = requirements(tmp_path / "wheels", "tiny")
    threads = [threading.Thread(target=do, args=(house.face, script(name, asked))) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == len(made(house)) == 1


def test_another_machine_gets_the_same_packages_though_newer_ones_are_there(house: House, tmp_path: Path) -> None:
    """What the requirements leave open, the first environment decides; pins come along with savepoint, export and import."""
    links = tmp_path / "wheels"
    wheels.lay(links, "tiny", "1.0", "NUMBER = '1.0'\n")
    run = saved_job(house, requirements(links, "tiny"))
    saved = do(house.face, Take("a"))
    do(house.face, Export(saved.id, str(tmp_path / "sp.tar.zst")))
    wheels.lay(links, "tiny", "2.0", "NUMBER = '2.0'\n")
    other = House(tmp_path / "other")
    try:
        do(other.face, Import(str(tmp_path / "sp.tar.zst")))
        assert other.face.plan(Fork(saved.id, name="b")).builds
        fork = do(other.face, Fork(saved.id, name="b"))
        assert fork.version == run.version and of(other, fork).pins == "tiny==1.0\n"
        assert says(interpreter(other, fork), "import tiny; print(tiny.NUMBER)") == "1.0"
        edited = do(other.face, Fork(saved.id, name="c", requirements=requirements(links, "tiny>1")))
        assert edited.version != run.version and of(other, edited).pins == "tiny==2.0\n"
        differences = other.face.ask(Diff(saved.id, "c"))
        changed = {entry.name for section in differences.sections for entry in section.entries if entry.outcome is Outcome.CHANGED}
        assert {"requirements", "packages"} <= changed
        assert of(other, do(other.face, Fork(saved.id, name="d", requirements=""))).requirements == ""
    finally:
        other.face.close()


def saved_job(house: House, asked: str, **more: object) -> Run:
    """A job with requirements on a golden checkpoint, stopped."""
    begin, house.begin = house.begin, lambda name="a", args=(): do(house.face, script(name, asked, **more))  # type: ignore[method-assign]
    try:
        return house.ran()
    finally:
        house.begin = begin  # type: ignore[method-assign]


def test_a_version_carries_its_own_wheels(house: House) -> None:
    run = saved_job(house, CARRIED, files=carried("1.0"))
    assert of(house, run).pins == "tiny==1.0\n" and str(house.root) not in of(house, run).requirements
    upgrade = do(house.face, Resume("a", files=carried("2.0")))
    assert of(house, upgrade).pins == "tiny==2.0\n", "the files of the requirements are part of them"
    assert says(interpreter(house, upgrade), "import tiny; print(tiny.NUMBER)") == "2.0"


def test_a_requirements_file_that_names_others_and_local_packages_is_whole_in_its_version(house: House, tmp_path: Path) -> None:
    project, wheel = tmp_path / "project", wheels.lay(tmp_path / "wheels", "tiny", "1.0", "NUMBER = '1.0'\n")
    (project / "more").mkdir(parents=True)
    (project / "all.txt").write_text("--no-index\n-r more/others.txt\n-c more/limits.txt\n")
    (project / "more/others.txt").write_text(f"../../wheels/{wheel.name}\n")
    (project / "more/limits.txt").write_text("tiny<2\n")
    needed = requirements_file.read(project / "all.txt")
    shutil.rmtree(project)
    shutil.rmtree(wheel.parent)
    run = do(house.face, script("a", needed.text, files=needed.files))
    assert says(interpreter(house, run), "import tiny; print(tiny.NUMBER)") == "1.0"
    assert str(tmp_path) not in of(house, run).requirements + of(house, run).pins


def test_a_path_that_the_version_does_not_hold_is_refused_before_anything_is_made(house: House) -> None:
    for change in (script("a", "-r other.txt\n"), script("a", "./lib\n")):
        with pytest.raises(Invalid, match="does not hold"):
            house.face.plan(change)


def test_an_environment_that_is_gone_is_made_anew_and_until_then_said(house: House) -> None:
    run = saved_job(house, CARRIED, files=carried("1.0"))
    (environment,) = made(house)
    (environment / "pins.txt").unlink()  # the cache was cleaned, and not whole
    with pytest.raises(Unavailable, match="is gone") as refused:
        interpreter(house, run)
    assert "Resume" in refused.value.hint
    again = do(house.face, Resume("a"))
    assert again.version == run.version and says(interpreter(house, again), "import tiny; print(tiny.NUMBER)") == "1.0"
    house.see(again, RunState.STOPPED)


def test_what_nobody_used_for_a_month_goes_when_the_workspace_opens(house: House, tmp_path: Path) -> None:
    """But not that of a job that is to run, however long ago it began."""
    for number in ("1", "2", "3"):
        (tmp_path / number).mkdir()
        (tmp_path / number / wheels.file_name("tiny", number)).write_bytes(wheels.wheel("tiny", number, f"NUMBER = {number!r}\n"))
    old, running, young = (do(house.face, script(f"job{number}", requirements(tmp_path / number, "tiny"))) for number in ("1", "2", "3"))
    for run in (old, young):
        house.see(run, RunState.FINISHED)
        house.face.context.files.write(house.face.layout.wanted_file(run.job), Wanted(None))
    places = {run: interpreter(house, run).parents[1] for run in (old, running, young)}
    for run in (old, running):
        os.utime(places[run] / "pins.txt", (0, 0))
    house.reopen()
    assert [run for run, place in places.items() if place.exists()] == [running, young]
