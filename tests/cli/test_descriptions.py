"""The text of any answer, and the command of a declaration that nobody wrote a word for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from pipelines.cli import commands
from pipelines.cli.descriptions import described, text
from pipelines.cli.output import Table
from pipelines.cli.session import Session
from pipelines.domain.resources import ALL, Resources
from pipelines.domain.trust import Trust
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Begun, Change, Http, argument, named, option
from tests.cli.doors import NOW
from tests.faces import NOW_MS


@dataclass(frozen=True)
class Part:
    name: str
    new_bytes: int
    took_ms: float | None
    level: Trust = Trust.INTACT


@dataclass(frozen=True)
class Whole:
    job: str
    bytes: int
    at_ms: int
    took_ms: int
    batches: dict[str, int] = field(default_factory=dict)
    input_rate: float = 1.5
    sound: bool = True
    steps: tuple[str, ...] = ("stop", "start")
    note: str = ""
    parts: tuple[Part, ...] = ()
    first: Part | None = None


PART = Part("a", 1_500, 90_000)
RECORD = """
job         a
size        2.0 MB
at          {now} (just now)
took        812 ms
batches     q: 9
input rate  1.5 rows/s
sound       yes
steps       stop, start
""".strip()
TABLE = """
NAME  NEW BYTES         TOOK  LEVEL
a        1.5 kB  1m 30s  intact
""".strip()


def test_a_record_is_lines_in_units_and_tables_of_its_records() -> None:
    whole = Whole("a", 2_000_000, NOW_MS, 812, {"q": 9}, parts=(PART,), first=PART)
    lines, table, nested = text(whole, NOW_MS).split("\n\n")
    assert lines == RECORD.format(now=NOW.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z"))
    assert [line.split() for line in table.splitlines()] == [["parts:"], *(line.split() for line in TABLE.splitlines())]
    assert nested.splitlines()[:2] == ["first:", "name       a"]


SIMPLE: list[tuple[Any, str]] = [
    (None, ""),
    ([], ""),
    (["a", "b"], "a\nb"),
    ({"jobs": 3}, "jobs  3"),
    (True, "yes"),
    (Trust.PROVED, "proved"),
]


@pytest.mark.parametrize(("value", "shown"), SIMPLE)
def test_other_values(value: Any, shown: str) -> None:
    assert text(value, NOW_MS) == shown


def test_records_are_a_table_with_numbers_to_the_right() -> None:
    shown = described([PART, Part("b", 1, None)], NOW_MS)
    assert isinstance(shown, Table) and shown.titles == ("NAME", "NEW BYTES>", "TOOK>", "LEVEL")


@dataclass(frozen=True)
class Polish(Change[Sequence[Part], Whole]):
    """Polish a job's parts. Nothing is lost."""

    job: str = named("Name of a job.")
    parts: tuple[str, ...] = argument("What to polish.", (), metavar="[PART...]")
    until_ms: int | None = option("No longer.", None, flag="--until", metavar="TIME", reads=Reads.MOMENT)
    level: Trust = option("How bright.", Trust.INTACT)
    gently: bool = option("Without force.", False)

    call, topic = "polish", "jobs"
    http = Http("POST", "/jobs/{job}/polish")
    command, shell = "polish", "Prints what shines."


class Polishing:
    """A face that has only this."""

    def __init__(self) -> None:
        self.begun: list[Polish] = []

    def plan(self, change: Polish) -> Whole:
        return Whole(change.job, 0, NOW_MS, 1)

    def begin(self, change: Polish) -> Begun[Sequence[Part]]:
        self.begun.append(change)
        return Begun(change, answer=(PART,))

    def answer(self, begun: Begun[Sequence[Part]]) -> Sequence[Part] | None:
        return begun.answer


def test_a_declaration_is_enough_for_a_command() -> None:
    face, app = Polishing(), typer.Typer()
    app.command()(commands.function_of(commands.of_declaration(Polish)))

    @contextmanager
    def opener(path: object, *, rebuilding: bool = False, absent: object = None) -> Any:
        yield Session(face, lambda: None, lambda: NOW, lambda seconds: None)  # type: ignore[arg-type]

    def run(*words: str) -> Any:
        return CliRunner().invoke(app, words, obj=opener, env={"COLUMNS": "200"})

    done = run("a", "x", "y", "--until", "-10m", "--level", "proved", "--gently")
    assert (done.exit_code, done.stdout.splitlines()[0].split()) == (0, ["NAME", "NEW", "BYTES", "TOOK", "LEVEL"]), done.output
    assert face.begun == [Polish("a", ("x", "y"), NOW_MS - 600_000, Trust.PROVED, True)]
    assert "took" in run("a", "--dry-run").stdout and len(face.begun) == 1
    assert run("a", "--until", "soon").exit_code == 2 and run().exit_code == 2
    helped = " ".join(run("--help").stdout.split())
    assert "Polish a job's parts. Nothing is lost. Prints what shines." in helped and "Without force." in helped


@dataclass(frozen=True)
class Bounded:
    job: str
    resources: Resources


def test_a_record_without_anything_in_it_has_no_heading() -> None:
    assert text(Bounded("a", ALL), NOW_MS) == "job  a"
    assert "resources:" in text(Bounded("a", Resources(memory_bytes=1)), NOW_MS)
