"""How far an operation is, as text, line and bar."""

from __future__ import annotations

import io

import pytest

from pipelines.cli import progress
from pipelines.cli.progress import Course
from pipelines.domain.operations import Amount

COPYING = [Amount("copying", done, 8_000_000) for done in (0, 4_000_000, 6_000_000, 7_000_000)]
READING = [Amount("reading state", done, 8, "stores") for done in (0, 4)]
COURSES = {
    "nothing yet": ([(0, COPYING[0])], "0 B of 8.0 MB"),
    "at once": ([(0, COPYING[0]), (400, COPYING[1])], "4.0 MB of 8.0 MB"),
    "half": ([(0, COPYING[0]), (2_000, COPYING[1])], "4.0 MB of 8.0 MB, 2.0 MB/s, 2 s left"),
    "a step seen late": ([(0, COPYING[2]), (1_000, COPYING[3])], "7.0 MB of 8.0 MB, 1.0 MB/s, 1 s left"),
    "each step by itself": ([(0, COPYING[0]), (9_000, READING[0]), (11_000, READING[1])], "4 of 8 stores, 2 stores/s, 2 s left"),
    "the same step of the next operation": (
        [(0, COPYING[1]), (9_000, COPYING[0]), (11_000, COPYING[1])],
        "4.0 MB of 8.0 MB, 2.0 MB/s, 2 s left",
    ),
    "one of one": ([(0, Amount("running a batch", 0, 1, "batches"))], "0 of 1 batch"),
    "a wait": ([(0, Amount("waiting for the sandbox"))], ""),
    "no total": ([(0, Amount("copying", 0)), (1_000, Amount("copying", 3_000))], "3.0 kB, 3.0 kB/s"),
}


@pytest.mark.parametrize(("seen", "line"), COURSES.values(), ids=COURSES)
def test_courses(seen: list[tuple[int, Amount]], line: str) -> None:
    now_ms = 0
    course = Course(lambda: now_ms)
    last = ""
    for at_ms, amount in seen:
        now_ms = at_ms
        last = course.words(amount)
    assert last == line


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, *, as_json: bool) -> str:
    """What is written while half of a copy is shown."""
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("sys.stderr", terminal)
    with progress.shown(lambda: 0, as_json=as_json) as show:
        show(None)
        show(COPYING[1])
    return terminal.getvalue()


def test_a_terminal_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = on_a_terminal(monkeypatch, as_json=False)
    assert "copying" in drawn and "4.0 MB of 8.0 MB" in drawn


def test_json_has_no_bar_even_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert on_a_terminal(monkeypatch, as_json=True) == ""


def test_elsewhere_a_line_every_few_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    now_ms = 0
    with progress.shown(lambda: now_ms, as_json=False) as show:
        for now_ms in range(0, 12_000, 250):
            show(Amount("copying", now_ms, 12_000))
    assert capsys.readouterr().err.splitlines() == [
        "copying: 5.0 kB of 12.0 kB, 1.0 kB/s, 7 s left",
        "copying: 10.0 kB of 12.0 kB, 1.0 kB/s, 2 s left",
    ]


def test_nothing_is_drawn_before_anything_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress.shown(lambda: 0, as_json=False) as show:
        show(None)
    assert terminal.getvalue() == ""


def test_a_wait_is_said_once_and_without_an_amount(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter(range(0, 600_000, 5_000))
    with progress.shown(lambda: next(times), as_json=False) as show:
        for _ in range(12):
            show(Amount("waiting for the sandbox"))
    assert capsys.readouterr().err == "waiting for the sandbox\n"
