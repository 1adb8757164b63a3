"""Nothing that can be typed is undocumented, and help imports nothing heavy (`tests/bench/test_command.py` has what it takes)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from pipelines import __version__
from pipelines.cli.app import app
from pipelines.domain.errors import STATUS_AND_EXIT_CODES

ROOT = Path(__file__).parents[2]
HEAVY = {"duckdb", "pyspark", "fastapi", "streamlit", "pandas", "httpx", "psutil", "fsspec", "uvicorn", "plotly", "rich"}
PROMISED = [
    "run",
    "list",
    "show",
    "logs",
    "stop",
    "cancel",
    "resume",
    "savepoint",
    "savepoints",
    "state",
    "verify",
    "annotate",
    "dispose",
    "export",
    "import",
    "attach",
    "fork",
    "experiment",
    "compare",
    "versions",
    "operations",
    "cancel-operation",
    "events",
    "forget",
    "example",
]


def commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(words, command) of every command that does something."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name), command


COMMANDS = dict(commands(typer.main.get_command(app)))


def test_every_promised_verb_is_there() -> None:
    assert {(verb,) for verb in PROMISED} | {("catalog", "rebuild")} <= COMMANDS.keys()


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_and_option_has_help(words: tuple[str, ...]) -> None:
    command = COMMANDS[words]
    shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"}).stdout
    assert command.help and command.help.splitlines()[0][:40] in shown
    usage, names = shown.split("\n", 1)[0], re.findall(r"^  (\S.*?)  ", shown, re.MULTILINE)
    assert not re.search(r"[{}]|\.\.\.\]\.\.\.", usage), "it is written as it is typed"
    assert not [name for name in names if re.search(r"<|list\[|\brange\b|\bNone\b", name)], "no type of Python"
    for parameter in command.params:
        assert parameter.help, (words, parameter.name)
        assert parameter.help[:20] in shown
        for option in parameter.opts if parameter.param_type_name == "option" else ():
            assert option in shown, (words, option)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_takes_json_and_workspace(words: tuple[str, ...]) -> None:
    options = {option for parameter in COMMANDS[words].params for option in parameter.opts}
    assert {"--json", "--workspace"} <= options


def test_help_lists_every_command_and_exit_code() -> None:
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert all(re.search(rf"^  {words[0]} ", shown, re.MULTILINE) for words in COMMANDS)
    assert all(f"  {code}  {group}: " in shown for group, (_, code) in STATUS_AND_EXIT_CODES.items())
    assert "  130  interrupted: " in shown


def test_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"tidemark {__version__}\n"


def test_help_imports_nothing_heavy() -> None:
    child = _child("-c", f"import sys; from pipelines.cli.app import app; app(['--help'], standalone_mode=False); {_PRINT_MODULES}")
    assert {name for name in json.loads(child.stderr) if name in HEAVY} == set()


_PRINT_MODULES = "import json; json.dump(sorted({m.partition('.')[0] for m in sys.modules}), sys.stderr)"


def _child(*words: str) -> subprocess.CompletedProcess[str]:
    """It may keep the bytecode that it makes: without it each run would compile all modules again."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run([sys.executable, *words], cwd=ROOT, env=environ, capture_output=True, text=True, check=True)
