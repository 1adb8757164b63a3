"""What is loaded, by the truth of `sys.modules`: commands that only talk load nothing heavy, the set-up runs on a bare Python."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"pyspark", "py4j", "duckdb", "streamlit", "plotly", "pandas", "numpy", "pyarrow", "fastapi", "starlette", "uvicorn", "fsspec"}
COMMANDS = [name for name in ("pipelines", "dashboard") if (ROOT / name / "__main__.py").exists()]
BEFORE_ANYTHING_IS_INSTALLED = ("dashboard.environment", "dashboard.installing", "pipelines.sandbox.java", "tests.__main__")
REPORT = "import atexit, sys; atexit.register(lambda: print('LOADED', *sorted(sys.modules)))"


def python(code: str, *options: str, interpreter: str = sys.executable) -> subprocess.CompletedProcess[str]:
    """`code` run by a Python of its own in the root."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "TIDEMARK"))}
    return subprocess.run([interpreter, *options, "-c", code], cwd=ROOT, env=environ, capture_output=True, text=True)


def loaded(answer: subprocess.CompletedProcess[str]) -> set[str]:
    """The top-level modules that were loaded when it ended."""
    last = answer.stdout.strip().splitlines()[-1]
    assert last.startswith("LOADED"), answer.stdout + answer.stderr
    return {name.partition(".")[0] for name in last.split()}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_loads_nothing_heavy(command: str) -> None:
    run = f"import runpy; sys.argv = ['{command}', '--help']; runpy.run_module('{command}', run_name='__main__', alter_sys=True)"
    answer = python(f"{REPORT}; {run}")
    assert answer.returncode == 0, answer.stderr
    assert "usage" in answer.stdout.lower()
    assert loaded(answer) & HEAVY == set()


def test_a_driver_loads_nothing_of_what_only_a_server_decides() -> None:
    """What a job and a savepoint are takes as long to load as all that a driver needs, and hundreds of drivers start."""
    server = {f"pipelines.domain.{name}" for name in ("jobs", "savepoints", "supervision")}
    answer = python(f"import sys, pipelines.driver.run; print(*{server} & sys.modules.keys())")
    assert (answer.returncode, answer.stdout.strip()) == (0, ""), answer.stdout + answer.stderr


@pytest.mark.parametrize("module", BEFORE_ANYTHING_IS_INSTALLED)
def test_runs_on_a_bare_python(module: str) -> None:
    bare = getattr(sys, "_base_executable", sys.executable)
    answer = python(f"{REPORT}; sys.path.insert(0, ''); import {module}", "-I", "-S", interpreter=bare)
    assert answer.returncode == 0, answer.stderr
    assert loaded(answer) & HEAVY == set()


@pytest.mark.parametrize("entry", ["dashboard/__main__.py", "tests/__main__.py", "dashboard/__init__.py", "tests/__init__.py"])
def test_an_old_python_can_say_that_it_is_too_old(entry: str) -> None:
    ast.parse((ROOT / entry).read_text(), feature_version=(3, 6))
