"""Budgets of folders and areas, and the order of files: what they say of runs that are made up here, and that every file has its own."""

from __future__ import annotations

import fnmatch
import subprocess
import sys
from collections import Counter
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
    limits = budgets.read()
    folders = {path.parent.name for path in TESTS.glob("*/test_*.py")} - BY_HAND
    assert limits.minutes.keys() == folders
    assert [file for file in limits.seconds if file != budgets.OTHERS and not (TESTS.parent / file).is_file()] == []


def test_what_is_run_by_hand_has_its_mark() -> None:
    """Without it every run would have it, and be over budget, as the folder has none."""
    files = {path: folder for folder in BY_HAND for path in (TESTS / folder).glob("test_*.py")}
    assert files and [path.name for path, folder in files.items() if f"pytest.mark.{folder}" not in path.read_text()] == []


def test_every_pattern_of_an_area_names_files_that_no_other_area_names() -> None:
    areas = budgets.read().areas
    files = [str(path.relative_to(TESTS.parent)) for path in TESTS.rglob("test_*.py") if not BY_HAND & set(path.parts)]
    patterns = [pattern for area in areas.values() for pattern in area.files]
    assert [pattern for pattern in patterns if not fnmatch.filter(files, pattern)] == []
    named = Counter(file for area in areas.values() for file in {file for pattern in area.files for file in fnmatch.filter(files, pattern)})
    assert [file for file, times in named.items() if times > 1] == []
    assert areas[budgets.HOUSE].files == (), "it has the rest"


def test_files_are_summed_by_folder_and_by_area() -> None:
    areas = {"versions": budgets.Area(1, ("tests/*/test_fork*.py", "tests/a/test_other.py")), "house": budgets.Area(1)}
    took = {"tests/a/test_fork.py": 1.0, "tests/b/test_forks.py": 2.0, "tests/a/test_other.py": 4.0, "tests/a/test_house.py": 8.0}
    assert budgets.sums(took, budgets.folder) == {"a": 13.0, "b": 2.0}
    assert budgets.sums(took, lambda file: budgets.area(file, areas)) == {"house": 8.0, "versions": 7.0}


def test_what_is_named_is_marked_and_what_is_not_there_is_said() -> None:
    given = items("tests/a/test_one.py::t", "tests/a/test_one.py::t[x]", "tests/a/test_one.py::u[x]", "tests/b/test_one.py::t")
    marked: list[str] = []
    for item in given:
        item.name = item.nodeid.partition("::")[2]
        item.originalname = item.name.partition("[")[0]
        item.add_marker = lambda mark, item=item: marked.append(f"{item.nodeid} {mark.name}")
    assert budgets.mark_by_hand(given, {"tests/a/test_one.py": ("t", "u[x]", "gone")}) == ["tests/a/test_one.py::gone"]
    assert marked == [f"tests/a/test_one.py::{name} long" for name in ("t", "t[x]", "u[x]")]


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
    assert budgets.over(took, {"driver": 1, "savepoint": 1}, "tests/") == [
        "tests/driver took 1.0 minutes, its budget is 1",
        "tests/new has no budget in budgets.toml",
    ]


CONFTEST = """
from tests.running import budgets

def pytest_configure(config):
    areas = {"patience": budgets.Area(AREA, ("tests/slow/test_s*.py",)), "house": budgets.Area(0)}
    budgets.read = lambda: budgets.Budgets({"slow": MINUTES}, {"others": 5}, areas)
    budgets.register(config)
"""
SLOW = "import time\n\ndef test_slow():\n    end = time.process_time() + 0.8\n    while time.process_time() < end: pass\n"


def run(folder: Path, minutes: float, area: float, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "tests" / "slow").mkdir(parents=True)
    (folder / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    (folder / "conftest.py").write_text(CONFTEST.replace("MINUTES", str(minutes)).replace("AREA", str(area)))
    (folder / "tests" / "slow" / "test_slow.py").write_text(SLOW)
    # the folder `tests` is here and there: ours is the one that is imported
    options = ["-p", "xdist", "-n", "1", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
    environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(TESTS.parent), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("minutes", "area", "arguments", "over"),
    [
        (60, 60, (), None),
        (0.0001, 60, (), "tests/slow"),
        (60, 0.0001, (), "area patience"),
        (0.0001, 0.0001, ("-k", "slow"), None),
    ],
    ids=["under", "a folder", "an area", "a part"],
)
def test_a_whole_run_over_a_budget_fails(tmp_path: Path, minutes: float, area: float, arguments: tuple[str, ...], over: str | None) -> None:
    answer = run(tmp_path, minutes, area, *arguments)
    assert (answer.returncode == 0) is (over is None), answer.stdout + answer.stderr
    lines = [line.partition(" took")[0] for line in answer.stdout.splitlines() if line.startswith("OVER BUDGET")]
    assert lines == ([f"OVER BUDGET: {over}"] if over else [])
    assert "1 passed" in answer.stdout
