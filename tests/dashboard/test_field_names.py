"""Hints name options of commands; pages say which of their fields those are."""

from __future__ import annotations

from pathlib import Path

import pytest

import dashboard
from dashboard import field_names
from tests.cli.test_help import COMMANDS

OPTIONS = {option for command in COMMANDS.values() for parameter in command.params for option in parameter.opts}
VIEWS = "\n".join(path.read_text() for path in Path(dashboard.__file__).parent.joinpath("views").rglob("*.py"))


@pytest.mark.parametrize("option", field_names.NAMES)
def test_each_is_an_option_of_a_command_and_the_label_of_a_field(option: str) -> None:
    assert f'"{field_names.NAMES[option].partition("…")[0].rstrip()}' in VIEWS
    assert option in OPTIONS


@pytest.mark.parametrize(
    ("hint", "sentence"),
    [
        ("Name a Java (--java-home).", "On pages --java-home is “Java”."),
        (
            "--drop a.0, or --drop b.0, or --map a.0=b.0",
            "On pages --drop is “Drop the state of …”, --map is “The state of … goes on as …”.",
        ),
        ("Go on with --batch 7, or with `fork SP --home URL`.", ""),
        ("Give --out {output} to the script, and --home-made.", ""),
        ("", ""),
    ],
)
def test_a_hint_is_followed_by_the_names_of_its_fields(hint: str, sentence: str) -> None:
    assert field_names.said(hint) == sentence
