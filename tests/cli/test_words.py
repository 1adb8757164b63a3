"""Numbers, times and tables as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
import typer

from pipelines.cli import words
from pipelines.cli.output import Table, details
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.moments import best_before_ms, moment_ms

NOW = datetime(2027, 1, 15, 8, 30, 10, 500_000, timezone(timedelta(hours=2)))

MOMENTS = [
    ("2027-01-15T08:00", datetime(2027, 1, 15, 6, 0, tzinfo=UTC)),
    ("2027-01-15 08:00:01.5", datetime(2027, 1, 15, 6, 0, 1, 500_000, UTC)),
    ("2027-01-15T08:00:00Z", datetime(2027, 1, 15, 8, 0, tzinfo=UTC)),
    ("2027-01-15T08:00:00+05:30", datetime(2027, 1, 15, 2, 30, tzinfo=UTC)),
    ("2027-01-15", datetime(2027, 1, 14, 22, 0, tzinfo=UTC)),
    ("08:00", datetime(2027, 1, 15, 6, 0, tzinfo=UTC)),
    ("8:00:30", datetime(2027, 1, 15, 6, 0, 30, tzinfo=UTC)),
    ("-10m", datetime(2027, 1, 15, 6, 20, 10, 500_000, UTC)),
    ("-1h30m", datetime(2027, 1, 15, 5, 0, 10, 500_000, UTC)),
    ("-2d", datetime(2027, 1, 13, 6, 30, 10, 500_000, UTC)),
    ("-45s", datetime(2027, 1, 15, 6, 29, 25, 500_000, UTC)),
]


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_file_is_no_folder_and_has_none_below_it(tmp_path: Path, below: str) -> None:
    (tmp_path / "passwd").write_text("")
    with pytest.raises(typer.BadParameter, match=f"'{tmp_path / 'passwd'}' is a file, and a folder is needed"):
        words.folder(str(tmp_path / "passwd" / below))
    assert words.folder(str(tmp_path / below)) == tmp_path / below


@pytest.mark.parametrize(("text", "at"), MOMENTS)
def test_moments(text: str, at: datetime) -> None:
    assert moment_ms(text, NOW) == round(at.timestamp() * 1000)


@pytest.mark.parametrize("text", ["", "-", "soon", "25:00", "10:60", "-10", "10m", "-1m1h", "2027-13-01", "1700000000000"])
def test_no_moments(text: str) -> None:
    with pytest.raises(Invalid) as raised:
        moment_ms(text, NOW)
    assert raised.value.code == "time.invalid"


DATES = [
    ("2027-01-15", datetime(2027, 1, 15, 21, 59, 59, 999_000, UTC)),
    ("2026-12-31", datetime(2026, 12, 31, 21, 59, 59, 999_000, UTC)),
    ("2027-01-15T08:00", datetime(2027, 1, 15, 6, 0, tzinfo=UTC)),
    ("+30d", datetime(2027, 2, 14, 21, 59, 59, 999_000, UTC)),
    ("+0d", datetime(2027, 1, 15, 21, 59, 59, 999_000, UTC)),
]


@pytest.mark.parametrize(("text", "at"), DATES)
def test_a_best_before_date_is_its_last_moment(text: str, at: datetime) -> None:
    assert best_before_ms(text, NOW) == round(at.timestamp() * 1000)


@pytest.mark.parametrize("text", ["", "soon", "+d", "-3d", "+99999999d", "2027-02-30", "15.1.2027", "30d", "+99999d0"])
def test_no_best_before_dates(text: str) -> None:
    with pytest.raises(Invalid) as raised:
        best_before_ms(text, NOW)
    assert raised.value.code == "date.invalid"


def test_tables_are_aligned() -> None:
    assert Table(("A", "N>", "Z"), [("long", "5", "x"), ("b", "1,000", "")]).plain() == "A         N  Z\nlong      5  x\nb     1,000"
    assert details([("a", "1"), ("long", "2"), ("none", "")]) == "a     1\nlong  2\nnone"


def test_a_function_is_named_with_its_file_or_by_a_word_of_ours(tmp_path: Path) -> None:
    file = tmp_path / "a:b.py"
    file.write_text("def f(): ...\n")
    assert words.function("columns") == {"columns": ""}
    assert words.function(f"{file}:f") == {"f": "def f(): ...\n"}
    with pytest.raises(NotFound, match="cannot be read"):
        words.function("gone.py:f")
    for text in (":f", "a.py:", "colums"):
        with pytest.raises(typer.BadParameter):
            words.function(text)
