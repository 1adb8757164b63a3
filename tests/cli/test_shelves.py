"""What the text of the modules says of commands is what they do when all of them are imported; a command imports little besides itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable

import pytest
from typer.testing import CliRunner

from pipelines import verbs
from pipelines.cli import additions, commands, descriptions, shelves
from pipelines.cli.app import app
from pipelines.cli.start import app_of
from tests.cli.test_help import ROOT

WORDS = sorted(word for word, _ in commands.every())


def test_every_declaration_is_found_by_its_word() -> None:
    assert {word: sorted(modules) for word, modules in shelves._declared().items()} == {
        kind.command: [kind.__module__] for kind in verbs.every() if kind.command
    }


def test_every_addition_is_found_by_the_name_of_what_it_is_about() -> None:
    commands.every()
    about = shelves._about()
    for kind, addition in additions._additions.items():
        for function in filter(None, (addition.shows, addition.plans, addition.completes, addition.becomes)):
            assert function.__module__ in about[kind.__name__], kind
        assert about[kind.__name__], kind
    for kind, function in descriptions._described.items():
        assert function.__module__ in about[kind.__name__] or not function.__module__.startswith("pipelines.cli.nouns"), kind
    for alias in additions.ALIASES:
        assert shelves._added()[alias.word], alias
    for hand in additions.BY_HAND:
        assert hand.function.__module__ in shelves._added()[hand.word], hand.word


@pytest.mark.parametrize("word", WORDS)
def test_a_command_alone_is_the_same_as_among_all(word: str) -> None:
    typed = word.split()
    alone = CliRunner().invoke(app_of(typed), [*typed, "--help"])
    assert alone.stdout == CliRunner().invoke(app, [*typed, "--help"]).stdout
    assert alone.exit_code == 0 and alone.stdout


@pytest.mark.parametrize("typed", [[], ["--help"], ["savepiont"], ["token"], ["token", "--help"], ["token", "nonsense"]], ids=" ".join)
def test_what_names_no_command_has_all_of_them(typed: list[str]) -> None:
    assert app_of(typed) is app


def imported(*typed: str) -> Iterable[str]:
    code = "import sys, json; from pipelines.cli.start import app_of; app_of(sys.argv[1:]); print(json.dumps(list(sys.modules)))"
    child = subprocess.run([sys.executable, "-c", code, *typed], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(child.stdout))


def test_a_savepoint_waits_for_no_other_declaration() -> None:
    every = {kind.__module__ for kind in verbs.every()}
    assert len(every & set(imported("savepoint", "job"))) < len(every) / 3
    assert every <= set(imported("--help"))
