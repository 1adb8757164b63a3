"""Budgets of folders and the order of files: what they say of runs that are made up here, and that every folder has one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.running import budgets

TESTS = Path(__file__).resolve().parents[1]
BY_HAND = {"bench", "long"}


def items(*tests: str) -> list[Any]:
    return [SimpleNamespace(nodeid=test) for test in tests]


def test_every_folder_has_a_budget_and_every_file_that_is_named_exists() -> None:
    found = budgets.read()
    folders = {path.parent.name for path in TESTS.glob("*/test_*.py")} - BY_HAND
    assert found.minutes.keys() == folders
    assert [file for file in found.seconds if file != budgets.OTHERS and not (TESTS.parent / file).is_file()] == []


def test_the_longest_file_comes_first_and_a_files_tests_stay_in_order() -> None:
    seconds = {"tests/a/test_long.py": 90.0, "tests/a/test_short.py": 1.0, "others": 5.0}
    given = items("tests/a/test_short.py::t", "tests/a/test_other.py::t", "tests/a/test_long.py::z", "tests/a/test_long.py::b")
    ordered = [item.nodeid for item in budgets.longest_first(given, seconds)]
    assert ordered == ["tests/a/test_long.py::z", "tests/a/test_long.py::b", "tests/a/test_other.py::t", "tests/a/test_short.py::t"]


def test_files_that_share_a_browser_stay_together() -> None:
    seconds = {"tests/browser/test_walk.py": 90.0, "tests/a/test_one.py": 50.0, "others": 5.0}
    given = items("tests/a/test_one.py::t", "tests/browser/test_tabs.py::t", "tests/browser/test_walk.py::t")
    ordered = [item.nodeid for item in budgets.longest_first(given, seconds)]
    assert ordered == ["tests/browser/test_walk.py::t", "tests/browser/test_tabs.py::t", "tests/a/test_one.py::t"]


def test_what_is_over_is_said_with_where() -> None:
    took = {"driver": 61.0, "savepoint": 59.0, "new": 0.1}
    assert budgets.over(took, {"driver": 1, "savepoint": 1}) == [
        "tests/driver took 1.0 minutes, its budget is 1",
        "tests/new has no budget in budgets.toml",
    ]


CONFTEST = """
from tests.running import budgets

def pytest_configure(config):
    budgets.read = lambda: budgets.Budgets({"slow": MINUTES}, {"others": 5})
    budgets.register(config)
"""
SLOW = "import time\n\ndef test_slow():\n    end = time.process_time() + 0.3\n    while time.process_time() < end: pass\n"


def run(folder: Path, minutes: float, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "tests" / "slow").mkdir(parents=True)
    (folder / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    (folder / "conftest.py").write_text(CONFTEST.replace("MINUTES", str(minutes)))
    (folder / "tests" / "slow" / "test_slow.py").write_text(SLOW)
    # the folder `tests` is here and there: ours is the one that is imported
    options = ["-p", "xdist", "-n", "1", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
    environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(TESTS.parent), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("minutes", "arguments", "passes"),
    [(60, (), True), (0.0001, (), False), (0.0001, ("-k", "slow"), True)],
    ids=["under", "over", "a part"],
)
def test_a_whole_run_over_a_budget_fails(tmp_path: Path, minutes: float, arguments: tuple[str, ...], passes: bool) -> None:
    answer = run(tmp_path, minutes, *arguments)
    assert (answer.returncode == 0) is passes, answer.stdout + answer.stderr
    assert ("OVER BUDGET: tests/slow took" in answer.stdout) is not passes
    assert "1 passed" in answer.stdout
