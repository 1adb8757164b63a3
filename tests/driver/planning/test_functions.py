"""Python functions taken apart: what is the same, what is another, and what cannot be taken apart whole."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.driver.planning.functions import Reading, digest

CODE = """
import numpy, os, random, re, datetime
from dataclasses import dataclass
from decimal import Decimal
RATE = 1
LIMITS = {"a": (1, 2.5), "b": [Decimal("1.10"), re.compile("x+")]}
@dataclass
class Price:
    amount: int
    def taxed(self):
        return self.amount * RATE
BASE = Price(3)
def helper(x, y=2):
    return x + y + BASE.taxed()
def f(x):
    return helper(x) + len(LIMITS)
"""


def read(code: str, name: str = "f") -> tuple[str, Reading]:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "script.py", "exec"), scope)
    reading = Reading()
    return digest(reading.form(scope[name], "")), reading


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("def f(x):", "# a comment\n\n\ndef f(x):"),
        ("def f(x):\n", "def f( x ):\n    # another\n"),
        ("\nimport numpy", "\nimport json, numpy"),
    ],
)
def test_what_changes_no_code_is_the_same(was: str, now: str) -> None:
    (before, reading), (after, _) = read(CODE), read(CODE.replace(was, now))
    assert before == after and not reading.gaps and not reading.packages


@pytest.mark.parametrize(
    ("was", "now", "part"),
    [
        ("len(LIMITS)", "2 * len(LIMITS)", "f"),
        ("x + y", "x - y", "f → helper"),
        ("y=2", "y=3", "f → helper"),
        ("RATE = 1", "RATE = 2", "f → helper → BASE → taxed → RATE"),
        ("* RATE", "+ RATE", "f → helper → BASE → taxed"),
        ("Price(3)", "Price(4)", "f → helper → BASE"),
        ("2.5", "2.50001", "f → LIMITS"),
        ("1.10", "1.1", "f → LIMITS"),
        ("x+", "x*", "f → LIMITS"),
    ],
)
def test_what_a_function_refers_to_is_seen_however_far_away(was: str, now: str, part: str) -> None:
    (before, old), (after, new) = read(CODE), read(CODE.replace(was, now))
    assert before != after
    changed = {name for name in {**old.parts, **new.parts} if old.parts.get(name) != new.parts.get(name)}
    assert any(name.startswith(part) for name in changed), changed


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("numpy.random.default_rng(1).random()", None),
        ("len(open('/etc/hostname').read())", "uses open"),
        ("len(os.environ)", "Python's os"),
        ("eval('1')", "uses eval"),
        ("WEIGHTS.random()", "object of numpy.random"),
        ("hash(LOCK)", "object of _thread"),
    ],
)
def test_what_cannot_be_seen_whole_is_never_the_same(body: str, why: str | None) -> None:
    more = "import threading\nLOCK = threading.Lock()\nWEIGHTS = numpy.random.default_rng(1)\n"
    _, reading = read(CODE.replace("RATE = 1", f"RATE = 1\n{more}").replace("len(LIMITS)", body))
    assert "numpy" in reading.packages if why is None else any(why in gap for gap in reading.gaps), reading.gaps


def test_arrays_are_compared_by_their_bytes() -> None:
    code = CODE.replace("RATE = 1", "RATE = 1\nWEIGHTS = numpy.zeros(5000)").replace("len(LIMITS)", "int(WEIGHTS[0])")
    assert read(code)[0] != read(code.replace("zeros(5000)", "zeros(5000); WEIGHTS[2500] = 1"))[0]
    assert not read(code)[1].gaps


def test_the_clock_and_chance_are_named() -> None:
    _, reading = read(CODE.replace("len(LIMITS)", "random.random() + datetime.datetime.now().hour"))
    assert list(reading.varies) == ["Python's random", "now() in f"]
