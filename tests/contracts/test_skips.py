"""The suite's own promises: in CI nothing is skipped, only a browser's test is tried twice, and benchmarks run only when asked for."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["pytester"]

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


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder for test modules, under the real conftest, without what CI and the shell may set."""
    for file in ("tests/conftest.py", ".pytest.ini"):
        shutil.copy(ROOT / file, pytester.path)
    for name in ("CI", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    return pytester


def run(suite: pytest.Pytester, *modules: str, options: tuple[str, ...] = (), **environ: str) -> tuple[int, str]:
    """pytest's exit code and words about one test module for each text. It runs in this process: what it imports is there already."""
    for number, text in enumerate(modules):
        (suite.path / f"test_{number}.py").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environ.items():
            patch.setenv(name, value)
        answer = suite.runpytest_inprocess("-p", "no:cacheprovider", *options, ".")
    return int(answer.ret), answer.stdout.str()


def test_all_that_runs_passes_in_ci(suite: pytest.Pytester) -> None:
    code, output = run(suite, SUITE, CI="true")
    assert code == 0, output
    assert "1 passed, 1 deselected, 1 xfailed" in output


@pytest.mark.parametrize(("modules"), [(SUITE + SKIPS,), (SUITE, WHOLE_MODULE_SKIPS)], ids=["test", "module"])
def test_a_skip_fails_in_ci_only(suite: pytest.Pytester, modules: tuple[str, ...]) -> None:
    code, at_home = run(suite, *modules)
    assert code == 0, at_home
    assert "1 skipped" in at_home
    code, in_ci = run(suite, *modules, CI="true")
    assert code != 0
    assert "In CI nothing may be skipped" in in_ci
    assert "lacks a thing" in in_ci


def test_without_a_browser_the_reason_says_how_to_get_one(suite: pytest.Pytester) -> None:
    code, output = run(suite, SUITE + NEEDS_A_BROWSER, PATH="")
    assert code == 0, output
    assert "1 skipped" in output
    assert "apt-get install chromium" in output


FAILS_ONCE = """
import pytest
from pathlib import Path
{mark}
def test_fails_once():
    tried = Path("tried")
    before = tried.exists()
    tried.touch()
    assert before, "the first time"
"""


@pytest.mark.parametrize(
    ("mark", "environ", "tried"),
    [("@pytest.mark.browser", {"CI": "true"}, True), ("", {"CI": "true"}, False), ("@pytest.mark.browser", {}, False)],
)
def test_only_a_browsers_test_is_tried_twice_and_only_in_ci(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, mark: str, environ: Mapping[str, Any], tried: bool
) -> None:
    monkeypatch.chdir(suite.path)
    code, output = run(suite, FAILS_ONCE.format(mark=mark), **environ)
    assert (code == 0, "1 rerun" in output, "RERUN" in output) == (tried, tried, tried), output


def test_benchmarks_run_when_asked_for(suite: pytest.Pytester) -> None:
    code, output = run(suite, SUITE, options=("-m", "bench"))
    assert code == 1
    assert "a benchmark ran" in output
