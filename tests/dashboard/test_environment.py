"""The set-up: what it finds needed, that a killed one is done over, and what it says while it works."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dashboard import environment, installing, needs
from dashboard.needs import STAMP, UNFINISHED, Need

ROOT = Path(__file__).resolve().parents[2]
BARE = getattr(sys, "_base_executable", sys.executable)


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    """No requirements at all, so that pip is quick and needs no network."""
    (tmp_path / "requirements.txt").write_text("# none\n")
    return tmp_path / "requirements.txt"


@pytest.fixture
def ready(tmp_path: Path, requirements: Path) -> Path:
    """What a finished set-up leaves, as far as `need` looks at it."""
    venv = tmp_path / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(sys.executable)
    want = needs.wanted(venv, requirements, tests=False)
    (venv / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {want.python}.2\n")
    (venv / STAMP).write_text(json.dumps(want.as_json()))
    return venv


def needed(venv: Path, requirements: Path, *, tests: bool = False) -> Need:
    return needs.need(venv, needs.wanted(venv, requirements, tests=tests))


def test_a_ready_environment_needs_nothing(ready: Path, requirements: Path) -> None:
    assert needed(ready, requirements) is Need.NOTHING


def test_nothing_there_is_created(tmp_path: Path, requirements: Path) -> None:
    assert needed(tmp_path / ".venv", requirements) is Need.CREATE


def test_other_requirements_are_installed(ready: Path, requirements: Path) -> None:
    requirements.write_text("something==1\n")
    assert needed(ready, requirements) is Need.INSTALL


def test_what_tests_alone_need_is_installed_for_them(ready: Path, requirements: Path) -> None:
    requirements.write_text(f"# none\n{needs.FOR_TESTS}\nsomething==1\n")
    assert (needed(ready, requirements), needed(ready, requirements, tests=True)) == (Need.NOTHING, Need.INSTALL)
    (ready / STAMP).write_text(json.dumps(needs.wanted(ready, requirements, tests=True).as_json()))
    assert (needed(ready, requirements), needed(ready, requirements, tests=True)) == (Need.NOTHING, Need.NOTHING)
    requirements.write_text(f"# none\n{needs.FOR_TESTS}\nsomething==2\n")
    assert (needed(ready, requirements), needed(ready, requirements, tests=True)) == (Need.NOTHING, Need.INSTALL)


def test_an_environment_that_somebody_made_is_completed(ready: Path, requirements: Path) -> None:
    (ready / STAMP).unlink()
    assert needed(ready, requirements) is Need.INSTALL


def test_an_unfinished_one_is_created_anew(ready: Path, requirements: Path) -> None:
    (ready / UNFINISHED).touch()
    assert needed(ready, requirements) is Need.CREATE


def test_another_python_creates_anew(ready: Path, requirements: Path) -> None:
    (ready / "pyvenv.cfg").write_text("version = 3.9.1\n")
    assert needed(ready, requirements) is Need.CREATE


def test_a_python_that_is_gone_creates_anew(ready: Path, requirements: Path) -> None:
    (ready / "bin" / "python").unlink()
    (ready / "bin" / "python").symlink_to("/gone/python3")
    assert needed(ready, requirements) is Need.CREATE


def test_a_moved_environment_is_created_anew(ready: Path, requirements: Path) -> None:
    moved = ready.rename(ready.with_name("moved"))
    assert needed(moved, requirements) is Need.CREATE


def test_a_stamp_that_was_cut_short_is_none(ready: Path, requirements: Path) -> None:
    (ready / STAMP).write_text('{"python": "3.')
    assert needed(ready, requirements) is Need.INSTALL


def test_a_killed_set_up_is_done_over_and_a_failed_installation_says_why_and_is_taken_up_again(
    tmp_path: Path, requirements: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real environment, which takes long to make: all that is said of one is said of this."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    venv = tmp_path / ".venv"
    (venv / "lib").mkdir(parents=True)
    (venv / "lib" / "half a package").touch()
    (venv / UNFINISHED).touch()
    requirements.write_text("no-such-package-of-ours==1.0\n")
    with pytest.raises(installing.SetupFailed, match=r"(?s)no-such-package-of-ours.*network"):
        environment.prepare(venv, requirements, lambda line: None)
    assert not (venv / "lib" / "half a package").exists()
    assert needed(venv, requirements) is Need.INSTALL
    for part_of_pip in venv.glob("lib/*/site-packages/pip*"):  # as where another tool made it
        shutil.rmtree(part_of_pip)
    requirements.write_text("# none\n")
    lines: list[str] = []
    environment.prepare(venv, requirements, lines.append)
    assert needed(venv, requirements) is Need.NOTHING
    assert lines[-1] == "ready"
    assert _prefix(venv) == str(venv)


def _prefix(venv: Path) -> str:
    command: list[str | Path] = [venv / "bin" / "python", "-c", "import sys; print(sys.prefix)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_second_set_up_waits_for_the_first(ready: Path, requirements: Path) -> None:
    """The first is played by a lock on the folder, which ends when the second has said that it waits."""
    held = os.open(ready.parent, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        fcntl.flock(held, fcntl.LOCK_UN)

    environment.prepare(ready, requirements, say)
    os.close(held)
    assert lines == ["another start is preparing the environment; waiting for it"]


def test_a_link_to_an_environment_of_another_folder_is_left_alone(ready: Path, tmp_path: Path, requirements: Path) -> None:
    linked = tmp_path / "another" / ".venv"
    linked.parent.mkdir()
    linked.symlink_to(ready)
    with pytest.raises(installing.SetupFailed, match=r"is a link to .* Delete the link"):
        environment.prepare(linked, requirements, lambda line: None)
    assert needed(ready, requirements) is Need.NOTHING


def test_a_python_without_the_venv_module_says_what_to_install(tmp_path: Path, requirements: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "ensurepip" else there(name, *a))
    with pytest.raises(installing.SetupFailed, match=r"apt-get install python3\.\d+-venv"):
        environment.prepare(tmp_path / ".venv", requirements, lambda line: None)
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Collecting duckdb==2.0.0 (from -r /a/requirements.txt (line 2))\n", "1/23 duckdb"),
        ("Requirement already satisfied: numpy==2.4.6 in ./.venv/lib (from -r requirements.txt (line 8)) (2.4.6)\n", "1/23 numpy"),
        ("Collecting six>=1.5 (from python-dateutil>=2.8.2->pandas==2.3.3->-r requirements.txt (line 9))\n", None),
        ("  Downloading pyspark-4.3.0.tar.gz (434.2 MB)\n", "downloading pyspark (434.2 MB)"),
        ("  Downloading six-1.17.0-py2.py3-none-any.whl (11 kB)\n", None),
        ("  Building wheel for pyspark (pyproject.toml): started\n", "building pyspark"),
        ("Installing collected packages: six, numpy, pandas\n", "installing 3 packages"),
    ],
)
def test_what_is_said_of_pips_lines(line: str, told: str | None) -> None:
    assert installing.Narration(23)(line) == told


@pytest.mark.parametrize("version", ["(3, 10, 1)", "(3, 6, 0)"])
@pytest.mark.parametrize("module", ["dashboard", "tests"])
def test_an_old_python_is_told_which_one_to_use(module: str, version: str) -> None:
    code = f"import runpy, sys; sys.version_info = {version}; sys.argv = ['{module}']; runpy.run_module('{module}', run_name='__main__')"
    answer = subprocess.run([BARE, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode == 1
    assert "needs Python 3.11 or newer" in answer.stderr


def test_help_answers_without_a_set_up() -> None:
    answer = subprocess.run([BARE, "-m", "dashboard", "--help"], cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode == 0
    assert all(option in answer.stdout for option in ("--port", "--host", "--workspace", "--example"))
