"""The import rules: the contracts of `.importlinter` hold, and bite; and what only the standard library may serve is allow-listed."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = {"dashboard", "pipelines"}

VIOLATIONS = {
    "pipelines/storage/planted.py": "import pipelines.checkpoint, streamlit, plotly",
    "pipelines/cli/planted.py": "import pipelines.api, fastapi",
    "pipelines/driver/planted.py": "import pipelines.storage",
    "pipelines/supervisor/planted.py": "import pipelines.driver, pyspark",
    "pipelines/jobs/planted.py": "import pipelines.domain",
    "pipelines/workspace/planted.py": "import duckdb, fsspec, starlette, typer, zstandard",
}
"""One for every contract."""


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """import-linter's answer about the packages in `folder`."""
    code = "from importlinter.cli import lint_imports_command as run; run(['--no-logo', '--no-cache'])"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={"NO_COLOR": "1", "COLUMNS": "200"})


def test_every_contract_is_kept() -> None:
    answer = lint(ROOT)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_every_contract_bites(tmp_path: Path) -> None:
    shutil.copy(ROOT / ".importlinter", tmp_path)
    for package in sorted(OUTSIDE):
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=lambda _, names: [n for n in names if "." in n and not n.endswith(".py")]
        )
    for path, text in VIOLATIONS.items():
        (tmp_path / path).write_text(text)
    answer = lint(tmp_path)
    verdicts = re.findall(r"^(.+?) (KEPT|BROKEN)", answer.stdout, re.MULTILINE)
    assert verdicts, answer.stdout + answer.stderr
    assert [name for name, verdict in verdicts if verdict == "KEPT"] == []


def imported(module: Path) -> set[str]:
    """Every module that `module` names in an import, at any depth of its code."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative imports hide what is imported"
            names.add(node.module or "")
    return names


STANDARD_ONLY = {
    "pipelines/domain": ("pipelines.domain",),
    "pipelines/driver": ("pipelines.domain", "pipelines.driver", "pyspark", "py4j"),
    "pipelines/sandbox/java.py": ("pipelines.domain",),
    "dashboard/__main__.py": ("dashboard",),
    "dashboard/environment.py": ("dashboard.installing",),
    "dashboard/installing.py": (),
    "tests/__main__.py": ("dashboard",),
}
"""Where -> what it may import beside the standard library."""


@pytest.mark.parametrize(("where", "beside"), STANDARD_ONLY.items(), ids=STANDARD_ONLY)
def test_standard_library_only(where: str, beside: tuple[str, ...]) -> None:
    modules = [ROOT / where] if where.endswith(".py") else sorted((ROOT / where).rglob("*.py"))
    assert modules
    foreign = {
        f"{module.relative_to(ROOT)}: {name}"
        for module in modules
        for name in imported(module)
        if name.partition(".")[0] not in sys.stdlib_module_names and not any(f"{name}.".startswith(f"{allowed}.") for allowed in beside)
    }
    assert foreign == set()


def test_job_scripts_stand_alone() -> None:
    """A version freezes one file, so a job that imported another of ours would not run from its savepoint."""
    ours = {
        f"{script.name}: {name}"
        for script in (ROOT / "pipelines" / "jobs").rglob("*.py")
        for name in imported(script)
        if name.partition(".")[0] in OUTSIDE
    }
    assert ours == set()
