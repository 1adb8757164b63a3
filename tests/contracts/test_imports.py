"""The import rules: the contracts of `.importlinter` hold, and bite; and what only the standard library may serve is allow-listed."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = {"dashboard", "pipelines"}

VIOLATIONS = {
    "pipelines/storage/planted.py": "import pipelines.checkpoint, streamlit, plotly",
    "pipelines/cli/planted.py": "import pipelines.api, fastapi",
    "pipelines/client/planted.py": "import pipelines.workspace",
    "pipelines/driver/planted.py": "import pipelines.storage",
    "pipelines/supervisor/planted.py": "import pipelines.driver, pipelines.hadoop, pyspark",
    "pipelines/jobs/planted.py": "import pipelines.domain",
    "pipelines/verbs/planted.py": "import authlib",
    "pipelines/workspace/planted.py": "import apprise, confluent_kafka, datadog, duckdb, fsspec, pyiceberg, starlette",
    "pipelines/words/planted.py": "import typer, xxhash, zstandard",
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


def verdicts(folder: Path, planted: dict[str, str]) -> dict[str, str]:
    """Contract -> KEPT or BROKEN, for a copy of our packages in `folder` with `planted` modules (path -> text) in it."""
    shutil.copy(ROOT / ".importlinter", folder)
    for package in sorted(OUTSIDE):
        shutil.copytree(ROOT / package, folder / package, ignore=lambda _, names: [n for n in names if "." in n and not n.endswith(".py")])
    for path, text in planted.items():
        (folder / path).write_text(text)
    answer = lint(folder)
    verdict_of = dict(re.findall(r"^(.+?) (KEPT|BROKEN)", answer.stdout, re.MULTILINE))
    assert verdict_of, answer.stdout + answer.stderr
    return verdict_of


def test_every_contract_bites(tmp_path: Path) -> None:
    assert [name for name, verdict in verdicts(tmp_path, VIOLATIONS).items() if verdict == "KEPT"] == []


def test_a_circle_hidden_in_a_function_is_one(tmp_path: Path) -> None:
    planted = {
        "pipelines/domain/planted.py": "import pipelines.domain.planted_back",
        "pipelines/domain/planted_back.py": "def later() -> None:\n    import pipelines.domain.planted",
    }
    broken = [name for name, verdict in verdicts(tmp_path, planted).items() if verdict == "BROKEN"]
    assert broken == ["No import circles"]


def folder_circles(graph: grimp.ImportGraph) -> list[str]:
    """Modules that import the folder they are in while that folder's own `__init__.py` leads to them: no circle of siblings."""
    return [
        f"{module} <-> {folder}"
        for module in sorted(graph.modules)
        for folder in sorted(graph.find_modules_directly_imported_by(module))
        if module.startswith(f"{folder}.") and graph.find_shortest_chain(folder, module)
    ]


def test_no_module_is_in_a_circle_with_its_folder() -> None:
    assert folder_circles(grimp.build_graph(*OUTSIDE, cache_dir=None)) == []


def test_a_circle_with_a_folder_is_seen() -> None:
    graph = grimp.ImportGraph()
    graph.add_import(importer="house", imported="house.room")
    graph.add_import(importer="house.room", imported="house")
    graph.add_import(importer="house.garden", imported="house")
    assert folder_circles(graph) == ["house.room <-> house"]


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
    "pipelines/hadoop": ("pipelines.domain", "pyspark"),
    "pipelines/driver": ("pipelines.domain", "pipelines.hadoop", "pipelines.driver", "pyspark", "py4j"),
    "pipelines/sandbox/java.py": ("pipelines.domain", "pipelines.storage.users"),
    "pipelines/storage/users.py": ("pipelines.domain",),
    "dashboard/__main__.py": ("dashboard",),
    "dashboard/environment.py": ("dashboard.installing", "dashboard.needs"),
    "dashboard/needs.py": (),
    "dashboard/installing.py": (),
    "tests/__main__.py": ("dashboard", "tests.running"),
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


def test_no_name_of_a_package_is_that_of_another_module_in_it() -> None:
    """Whoever imports the module later changes what the name means in the package, without a word."""
    hidden = set()
    for init in (path for package in OUTSIDE for path in (ROOT / package).rglob("__init__.py")):
        package = ".".join(init.parent.relative_to(ROOT).parts)
        parts = {path.stem for path in init.parent.glob("*.py")} | {path.parent.name for path in init.parent.glob("*/__init__.py")}
        for node in (node for node in ast.walk(ast.parse(init.read_text())) if isinstance(node, ast.ImportFrom)):
            names = {alias.asname or alias.name for alias in node.names} & parts
            hidden |= {f"{package}: {name}" for name in names if not f"{node.module}.{name}".startswith(f"{package}.{name}")}
    assert hidden == set()


def test_job_scripts_stand_alone() -> None:
    """A version freezes one file, so a job that imported another of ours would not run from its savepoint."""
    ours = {
        f"{script.name}: {name}"
        for script in (ROOT / "pipelines" / "jobs").rglob("*.py")
        for name in imported(script)
        if name.partition(".")[0] in OUTSIDE
    }
    assert ours == set()
