"""What commands print never steers who prints it: control characters are shown, in tables, texts, errors and JSON."""

from __future__ import annotations

import json

import pytest

from pipelines.cli import output
from pipelines.cli.output import Table
from pipelines.domain.errors import Corrupt

HOSTILE = "a\x1b]0;own\x07\x9b2J\ud800\u202eb\rc"
STEERING = set("\x1b\x07\x9b\ud800\u202e\r")


def test_a_cell_is_one_line() -> None:
    """Else a label forges rows of a list that another program reads."""
    text = Table(("ID", "LABEL"), [("sp-1", "x\nsp-2  forged"), ("sp-3", "\ty")]).plain()
    assert text.splitlines() == ["ID    LABEL", "sp-1  x\\nsp-2  forged", "sp-3  \\ty"]


def test_a_table_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_human(Table(("LABEL",), [(HOSTILE,)]))
    out = capsys.readouterr().out
    assert not STEERING & set(out) and "\\x1b]0;own\\x07\\x9b2J\\ud800\\u202eb\\rc" in out


def test_a_log_shows_them_and_keeps_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_text(f"one\n\t{HOSTILE}\n")
    out = capsys.readouterr().out
    assert not STEERING & set(out) and out.splitlines()[0] == "one" and out.splitlines()[1].startswith("\ta\\x1b")


@pytest.mark.parametrize("as_json", [True, False])
def test_an_error_shows_them(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    output.print_error(Corrupt("x", HOSTILE, HOSTILE), as_json=as_json)
    assert not STEERING & set(capsys.readouterr().err)


def test_json_stays_the_same_value(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"label": "ä\x1b\x9b\u202e"})
    out = capsys.readouterr().out
    assert not STEERING & set(out) and json.loads(out) == {"label": "ä\x1b\x9b\u202e"}
