"""The suite's own promises: in CI nothing is skipped, and benchmarks run only when asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SUITE = """
import pytest

def test_passes(): pass
@pytest.mark.xfail(reason="known")
def test_fails_as_expected(): assert False
@pytest.mark.bench
def test_measures(): assert False, "a benchmark ran"
"""
SKIPS = "@pytest.mark.skip(reason='lacks a thing')\ndef test_skipped(): pass\n"
WHOLE_MODULE_SKIPS = "import pytest\npytest.skip('lacks a thing', allow_module_level=True)\n"
NEEDS_A_BROWSER = "@pytest.mark.browser\ndef test_page(chromium): pass\n"


def suite(folder: Path, *modules: str) -> Path:
    """A suite under the real conftest: one test module for each text."""
    for file in ("tests/conftest.py", ".pytest.ini"):
        shutil.copy(ROOT / file, folder)
    for number, text in enumerate(modules):
        (folder / f"test_{number}.py").write_text(text)
    return folder


def run(folder: Path, *options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """pytest's answer about all test modules in `folder`, with only `environ` of what CI and the shell may set."""
    kept = {key: value for key, value in os.environ.items() if key not in ("CI", "PYTEST_ADDOPTS")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, "."]
    return subprocess.run(command, cwd=folder, env={**kept, "PYTHONPATH": str(ROOT), **environ}, capture_output=True, text=True)


def test_all_that_runs_passes_in_ci(tmp_path: Path) -> None:
    answer = run(suite(tmp_path, SUITE), CI="true")
    assert answer.returncode == 0, answer.stdout
    assert "1 passed, 1 deselected, 1 xfailed" in answer.stdout


@pytest.mark.parametrize(("modules"), [(SUITE + SKIPS,), (SUITE, WHOLE_MODULE_SKIPS)], ids=["test", "module"])
def test_a_skip_fails_in_ci_only(tmp_path: Path, modules: tuple[str, ...]) -> None:
    suite(tmp_path, *modules)
    at_home = run(tmp_path)
    assert at_home.returncode == 0, at_home.stdout
    assert "1 skipped" in at_home.stdout
    in_ci = run(tmp_path, CI="true")
    assert in_ci.returncode != 0
    assert "In CI nothing may be skipped" in in_ci.stdout
    assert "lacks a thing" in in_ci.stdout


def test_without_a_browser_the_reason_says_how_to_get_one(tmp_path: Path) -> None:
    answer = run(suite(tmp_path, SUITE + NEEDS_A_BROWSER), PATH="")
    assert answer.returncode == 0, answer.stdout
    assert "1 skipped" in answer.stdout
    assert "apt-get install chromium" in answer.stdout


def test_benchmarks_run_when_asked_for(tmp_path: Path) -> None:
    answer = run(suite(tmp_path, SUITE), "-m", "bench")
    assert answer.returncode == 1
    assert "a benchmark ran" in answer.stdout
