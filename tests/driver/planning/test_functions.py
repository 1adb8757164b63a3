"""Python functions taken apart: what is the same, what is another, and what cannot be taken apart whole."""

from __future__ import annotations

import sys
from pathlib import Path
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


SHOP = {
    "shop/__init__.py": "",
    "shop/types.py": "RATE = 1\ndef rated(x):\n    return x * RATE\n",
    "shop/prices.py": """
def taken(x):
    from .types import rated
    return rated(x)
def submodule(x):
    from . import types
    return types.rated(x)
def beyond(x):
    from ...other import f
    return f(x)
""",
    "shop/lazy.py": "def __getattr__(name):\n    return 1\n__RATE = 1\n",
}


@pytest.mark.parametrize(
    ("body", "file", "was", "now"),
    [
        ("from shop import types\n    return types.rated(x)", "shop/types.py", "RATE = 1", "RATE = 2"),
        ("import shop\n    from shop import types as t\n    return t.rated(x)", "shop/types.py", "x * RATE", "x + RATE"),
        ("import shop.types\n    return shop.HELPED", "shop/__init__.py", "", "HELPED = 1"),
        ("import shop.types as t\n    return t.rated(x)", "shop/types.py", "x * RATE", "x + RATE"),
        ("from shop.prices import taken\n    return taken(x)", "shop/types.py", "RATE = 1", "RATE = 2"),
        ("from shop import prices\n    return prices.submodule(x)", "shop/types.py", "x * RATE", "x + RATE"),
        ("from shop import lazy\n    return lazy.anything", "shop/lazy.py", "return 1", "return 2"),
        ("from shop import lazy\n    return lazy.__RATE", "shop/lazy.py", "__RATE = 1", "__RATE = 2"),
    ],
)
def test_what_a_function_imports_is_seen_as_it_finds_it(
    body: str, file: str, was: str, now: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = f"def f(x):\n    {body}\n"
    (before, _), (after, _) = (
        imported(code, {**SHOP, **changed}, tmp_path / name, monkeypatch)
        for name, changed in (("a", dict[str, str]()), ("b", {file: SHOP[file].replace(was, now)}))
    )
    assert before != after
    assert imported(code, SHOP, tmp_path / "c", monkeypatch)[0] == before


def test_what_cannot_be_imported_is_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for body in ("from . import x", "from shop.prices import beyond\n    return beyond(x)", "from shop import broken"):
        files = {**SHOP, "shop/broken.py": "1 / 0\n"}
        _, reading = imported(f"def f(x):\n    {body}\n", files, tmp_path / str(len(body)), monkeypatch)
        assert any("cannot be imported here" in gap for gap in reading.gaps), (body, reading.gaps)


def imported(code: str, files: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Reading]:
    """What is read of `code` beside these files, as if they were the first of their names."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(folder))
        try:
            return read(code)
        finally:
            for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
                del sys.modules[name]


@pytest.mark.parametrize(
    ("head", "body", "reader"),
    [
        ("import pandas as pd", "pd.read_csv(x)", "read_csv"),
        ("from pandas import read_csv as table", "table(x)", "read_csv"),
        ("import numpy", "numpy.load(x)", "numpy.load"),
        ("import zipfile", "zipfile.ZipFile(x).namelist()", "zipfile.ZipFile"),
        ("from configparser import ConfigParser", "ConfigParser().read(x)", ".read,"),
        ("import xml.etree.ElementTree as ET", "ET.parse(x)", "ElementTree.parse"),
        ("import bz2", "bz2.BZ2File(x)", "BZ2File"),
        ("import json", "json.load(x)", "json.load"),
        ("import pathlib\nP = pathlib.PurePath('a')", "P.read_text()", "read_text"),
        ("import functools, numpy\nrows = functools.partial(numpy.genfromtxt, 'a')", "rows()", "genfromtxt"),
        ("", "[__import__('numpy').load(x)]", "__import__"),
        ("import json", "json.loads(x), x.load()", "json.load"),
        ("import json, re, csv, numpy", "json.loads(x), next(csv.reader([x])), re.match('a', x), numpy.sum(x), x.read()", None),
        ("import xml.etree.ElementTree as ET, bz2", "ET.fromstring(x), bz2.decompress(x)", None),
    ],
)
def test_what_may_read_files_through_a_package_is_never_the_same(head: str, body: str, reader: str | None) -> None:
    _, reading = read(f"{head}\ndef f(x):\n    return {body}\n")
    assert any(reader in gap for gap in reading.gaps) if reader else not reading.gaps, reading.gaps
    inside = f"def f(x):\n    {head.replace(chr(10), '; ')}\n    return {body}\n"
    assert bool(read(inside)[1].gaps) == bool(reader)


def test_a_text_that_names_a_file_is_never_the_same_but_for_files_of_the_version(tmp_path: Path) -> None:
    model, elsewhere = tmp_path / "version" / "model.onnx", tmp_path / "elsewhere.onnx"
    model.parent.mkdir()
    for path in (model, elsewhere):
        path.write_bytes(b"")
    for text, has_gap in ((str(elsewhere), True), (str(tmp_path), True), (str(model), False), ("/", False), ("no/such", False)):
        for code in (f"def f(x):\n    return x.run({text!r})\n", f"P = [{text!r}]\ndef f(x):\n    return P\n"):
            scope: dict[str, Any] = {"__name__": "__main__"}
            exec(compile(code, "script.py", "exec"), scope)
            reading = Reading(str(model.parent))
            reading.form(scope["f"], "")
            assert bool(reading.gaps) == has_gap, (code, reading.gaps)
