"""Python functions taken apart: what is the same, what is another, and what cannot be taken apart whole."""

from __future__ import annotations

import decimal
import sys
import types
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import pytest

from pipelines.driver.planning.functions import Reading, digest
from pipelines.driver.planning.own import Own, is_beside
from tests.driver.planning.codes import spec

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
    exec(compile(code, "script.py", "exec", dont_inherit=True), scope)
    reading = Reading()
    return digest(reading.settled(reading.form(scope[name], ""))), reading


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


LOCAL = "CODE = 1\ndef f(x):\n    'doubles'\n    y = x * 2\n    return (y, None)"


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("y", "doubled"),
        ("'doubles'", "'twice'"),
        ("    'doubles'\n", ""),
        ("f(x):", "f(x: int) -> int:"),
        ("y =", "y: int ="),
        ("x * 2", "(x * 2)"),
    ],
)
def test_names_of_local_variables_docstrings_and_annotations_are_no_part_of_a_function(was: str, now: str) -> None:
    assert read(LOCAL)[0] == read(LOCAL.replace(was, now))[0]


@pytest.mark.parametrize(
    ("head", "body", "was", "now"),
    [
        ("class R(int):\n    def of(self, x): return x * self\nM = R(2)", "M.of(x)", "x * self", "x + self"),
        ("class R(float):\n    pass\nM = R(2)\nM.rate = 3", "M.rate", "rate = 3", "rate = 4"),
        ("import enum\nclass E(enum.IntEnum):\n    A = 2\n    def of(self): return self * 2\nM = E.A", "M.of()", "* 2\nM", "* 3\nM"),
        ("import enum\nclass E(enum.Enum):\n    A = 1\nE.A.rate = 2\nM = E.A", "M.rate", "rate = 2", "rate = 3"),
        (
            "import enum\nclass E(enum.Enum):\n    A = 1\nM = E.A",
            "str(M)",
            "class E(enum.Enum):\n    A = 1\nM = E",
            "class D(enum.Enum):\n    A = 1\nM = D",
        ),
        ("class M(type):\n    def of(cls): return 2\nclass C(metaclass=M): pass", "C.of()", "return 2", "return 3"),
        ("import functools\nclass P(functools.partial):\n    def __call__(self): return 1\np = P(len)", "p()", "return 1", "return 2"),
        ("import pathlib\nclass P(type(pathlib.PurePath())):\n    def of(self): return 1\np = P('a')", "p.of()", "return 1", "return 2"),
        ("import collections\nD = collections.deque([1], maxlen=3)", "D.append(x)", "maxlen=3", "maxlen=4"),
        ("import abc\nclass B(abc.ABC): pass\nclass C: pass\nB.register(C)\nc = C()", "isinstance(c, B)", "B.register(C)", ""),
        ("class A:\n    pass\na = A()", "type(a).__name__", "class A:\n    pass\na = A()", "class B:\n    pass\na = B()"),
        (
            "import datetime as d\nclass Z(d.tzinfo):\n    HOURS = 1\n    def __repr__(self): return 'Z'\nT = d.time(1, tzinfo=Z())",
            "T",
            "HOURS = 1",
            "HOURS = 2",
        ),
        ("import numpy\nS = numpy.int64(2)", "x * S", "(2)", "(3)"),
        ("class P:\n    __slots__ = ('__rate',)\n    def __init__(self, r): self.__rate = r\np = P(2)", "p", "P(2)", "P(3)"),
        ("class S(str):\n    def __str__(self): return '***'\nT = S('a')", "T[0]", "S('a')", "S('b')"),
        ("class R(int):\n    def __int__(self): return 0\nM = R(2)", "x * M", "R(2)", "R(3)"),
        ("class R(float):\n    def __float__(self): return 0.0\nM = R(2)", "x * M", "R(2)", "R(3)"),
        ("class B(bytes):\n    def __bytes__(self): return b''\nT = B(b'a')", "T[0]", "b'a'", "b'b'"),
        ("class L(list):\n    def __iter__(self): return iter(())\nT = L([2])", "T[0]", "[2]", "[3]"),
        ("class D(dict):\n    def keys(self): return ()\nT = D(a=2)", "T['a']", "a=2", "a=3"),
        ("class P:\n    __match_args__ = ('a', 'b')", "P()", "('a', 'b')", "('b', 'a')"),
        ("class A:\n    pass\na = A()", "str(type(a))", "class A:\n    pass\na = A()", "class B:\n    pass\na = B()"),
        ("class A:\n    pass\na = A()", "f'{a.__class__}'", "class A:\n    pass\na = A()", "class B:\n    pass\na = B()"),
        ("class B(typing.Generic[T]): pass\nclass C(B[int]): pass", "C.__orig_bases__[0]", "B[int]", "B[float]"),
        ("class A:\n    KIND = list[int]", "A.KIND", "list[int]", "list[float]"),
        ("class A:\n    KIND = typing.Optional[int]", "A.KIND", "[int]", "[float]"),
        ("import functools\nclass A:\n    @functools.cached_property\n    def of(self): return 1", "A().of", "return 1", "return 2"),
        (
            "import functools\n@functools.singledispatch\ndef g(x): return 1\n@g.register\ndef _(x: int): return 2",
            "g(x)",
            "x: int",
            "x: str",
        ),
        ("import functools\n@functools.singledispatch\ndef g(x): return 1\n@g.register\ndef _(x: int): return 2", "g(x)", "urn 2", "urn 3"),
        (
            "import functools\nclass A:\n    @functools.singledispatchmethod\n    def of(self, x): return 1\n"
            "    @of.register\n    def _(self, x: int): return 2",
            "A().of(x)",
            "x: int",
            "x: str",
        ),
        ("NUMBERS = {8, 0}", "list(NUMBERS)[0]", "{8, 0}", "{0, 8}"),
    ],
)
def test_an_object_is_seen_with_all_that_its_class_makes_of_it(head: str, body: str, was: str, now: str) -> None:
    code = f"import typing\nT = typing.TypeVar('T')\n{head}\ndef f(x):\n    return {body}\n"
    (before, reading), (commented, _), (after, _) = (read(text) for text in (code, f"# a comment\n\n{code}", code.replace(was, now)))
    assert was in code and before == commented and (before != after or reading.gaps)


@pytest.mark.parametrize(
    ("made", "other"),
    [
        ("collections.Counter(a=2)", "collections.Counter(a=3)"),
        ("collections.OrderedDict(a=1, b=2)", "collections.OrderedDict(b=2, a=1)"),
        ("collections.defaultdict(int, a=1)", "collections.defaultdict(float, a=1)"),
        ("operator.itemgetter(0)", "operator.itemgetter(1)"),
        ("operator.methodcaller('a', 1)", "operator.methodcaller('a', 2)"),
        ("types.SimpleNamespace(a=1)", "types.SimpleNamespace(a=2)"),
        ("bytearray(b'a')", "bytearray(b'b')"),
        ("slice(1, 2)", "slice(1, 3)"),
        ("functools.lru_cache(helper)", "functools.lru_cache(len)"),
        ("collections.namedtuple('P', 'a b')(1, 2)", "collections.namedtuple('P', 'b a')(1, 2)"),
        ("P()", "P([1])"),
        ("functools.partialmethod(helper, 1)", "functools.partialmethod(helper, 2)"),
    ],
)
def test_objects_of_pythons_own_classes_are_compared_whole(made: str, other: str) -> None:
    head = "import collections, functools, operator, types\nfrom dataclasses import dataclass, field\n"
    head += "@dataclass\nclass P:\n    a: list = field(default_factory=list)\ndef helper(x): return x\n"
    code = f"{head}M = {made}\ndef f(x):\n    return M\n"
    (before, reading), (again, _), (after, _) = (read(text) for text in (code, code, code.replace(made, other)))
    assert before == again != after and not reading.gaps, reading.gaps


GIVEN = """
import dataclasses, typing
import json, pydantic
@dataclasses.dataclass
class Item:
    rate: int
    name: str = dataclasses.field(default="", metadata={"in": "a"})
@dataclasses.dataclass(repr=False)
class Order:
    items: list[Item]
class Kind(typing.Generic[typing.TypeVar("T")]):
    pass
class Of(Kind[bytes]):
    pass
def total(rows: tuple):
    return 1
MADE = (Order, Of, total)
def f(x: complex):
    return pydantic.TypeAdapter(MADE)
"""


@pytest.mark.parametrize(
    ("was", "now", "counts"),
    [
        ("rate: int", "rate: float", True),
        ('{"in": "a"}', '{"in": "b"}', True),
        ("Kind[bytes]", "Kind[str]", True),
        ("rows: tuple", "rows: list", True),
        ("total", "totals", True),
        ("Order", "Orders", True),
        ("rows: tuple):", "rows: tuple):\n    'A text.'", True),
        ("class Of(Kind[bytes]):", "class Of(Kind[bytes]):\n    'A text.'", True),
        ("f(x: complex):", "f(x: complex):\n    'A text.'", False),
        ("\ndef f(", "\ndef g(x): return 1\ndef f(", False),
    ],
)
def test_annotations_and_names_are_a_part_of_what_a_package_gets(was: str, now: str, counts: bool) -> None:
    """A validator converts by annotations, and pandas calls columns as functions are called."""
    for asked, is_asked in (("pydantic.TypeAdapter", True), ("json.dumps", False)):
        code = GIVEN.replace("pydantic.TypeAdapter", asked)
        (before, reading), (after, _) = read(code), read(code.replace(was, now))
        assert was in code and (before != after) == (counts and is_asked), asked
        assert not reading.gaps and bool(reading.packages) == is_asked


HELPED = "from shop.helper import g\ndef f(x):\n    return g(x)\n"
ON_IMPORT = {
    "shop/__init__.py": "",
    "shop/settings.py": "import decimal\n'A text.'\ndef adjust():\n    decimal.getcontext().prec = 7\n",
    "shop/told.py": """
import colorsys, decimal, functools, string
def put(function):
    string.Template.put = function
    return function
def around(factor):
    def decorator(function):
        @functools.wraps(function)
        def inner(x):
            return factor * function(x)
        return inner
    return decorator
@put
def hidden(x):
    return x - 11
@around(3)
def unused(x):
    return x - 12
class Told:
    def __init_subclass__(cls):
        string.Template.told = cls
class Meta(type):
    def __init__(cls, name, bases, inside):
        string.Template.made = cls
class First(Told):
    RATE = 13
class Second(metaclass=Meta):
    class Inner(Told):
        RATE = 14
    RATE = 15
class Plain:
    RATE = 16
    @property
    def rate(self):
        return 17
    @rate.setter
    def rate(self, rate):
        self.RATE = rate - 18
def seven():
    decimal.getcontext().prec = 19
class Made:
    adjust = staticmethod(seven)
    def again(self):
        decimal.getcontext().Emax = 21
NOTHING = Made.adjust()
STILL = Made().again()
BY = {"least": lambda: setattr(decimal.getcontext(), "Emin", -22)}
KINDS = dict[str, int]()
LEAST = BY["least"]()
def default(x=seven()):
    return x
with decimal.localcontext(decimal.Context(prec=20)):
    pass
""",
    "shop/helper.py": """
import colorsys, string
import logging
from . import told
from typing import TYPE_CHECKING
from . import settings
colorsys.rgb_to_hls = lambda *parts: 1
string.Template.twice = lambda template, x: x * 2
if TYPE_CHECKING:
    import nothing
TABLE = {"a": 1}
TABLE["b"] = 2
NAMES = []
NAMES.append('a')
logger = logging.getLogger(__name__)
settings.adjust()
if __name__ == "__main__":
    print("run")
def g(x):
    return colorsys.rgb_to_hls(x)
def other():
    return TABLE, NAMES
""",
}


@pytest.mark.parametrize(
    ("file", "was", "now", "is_other"),
    [
        ("helper", "*parts: 1", "*parts: 2", True),
        ("helper", "x * 2", "x * 3", True),
        ("settings", "prec = 7", "prec = 5", True),
        ("settings", "import decimal", "import decimal\ndecimal.getcontext().Emin = -9", True),
        ("helper", "from . import settings", "from . import settings, third", True),
        ("helper", '"b"] = 2', '"b"] = 3', False),
        ("helper", "return TABLE", "return 1, TABLE", False),
        ("helper", 'print("run")', 'print("ran")', False),
        ("helper", "logger =", "log =", False),
        ("told", "x - 11", "x + 11", True),
        ("told", "x - 12", "x + 12", False),
        ("told", "RATE = 13", "RATE = 3", True),
        ("told", "RATE = 14", "RATE = 4", True),
        ("told", "RATE = 15", "RATE = 5", True),
        ("told", "RATE = 16", "RATE = 6", False),
        ("told", "rate - 18", "rate + 18", False),
        ("told", "prec = 19", "prec = 9", True),
        ("told", "x=seven()", "x=7", True),
        ("told", "Emax = 21", "Emax = 23", True),
        ("told", '"Emin", -22', '"Emin", -24', True),
        ("told", "dict[str, int]", "dict[str, bool]", False),
        ("helper", "append('a')", "append('b')", False),
        ("settings", "'A text.'", "'Another text.'", False),
    ],
)
def test_what_the_modules_of_a_function_do_as_they_are_imported_counts(
    file: str, was: str, now: str, is_other: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in (("colorsys", "rgb_to_hls"), ("string", "Template")):
        monkeypatch.setattr(sys.modules.get(module) or __import__(module), name, None if name == "rgb_to_hls" else type("Template", (), {}))
    path = f"shop/{file}.py"
    files = {**ON_IMPORT, "shop/third.py": "import decimal\ndecimal.getcontext().prec = 5\n"}
    assert was in files[path]
    with decimal.localcontext():
        (before, _), (after, _) = (
            imported(HELPED, {**files, path: text}, tmp_path / name, monkeypatch)
            for name, text in (("a", files[path]), ("b", files[path].replace(was, now)))
        )
    assert (before != after) == is_other


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("numpy.random.default_rng(1).random()", None),
        ("len(open('/etc/hostname').read())", "uses open"),
        ("len(os.environ)", "Python's os"),
        ("eval('1')", "uses eval"),
        ("WEIGHTS.random()", "object of numpy.random"),
        ("hash(LOCK)", "object of _thread"),
        ("locale.atof('1')", "Python's locale"),
        ("sys.modules['shop'].RATE", "sys.modules"),
        ("len(sys.argv)", "sys.argv"),
        ("inspect.signature(helper)", "Python's inspect"),
        ("dataclasses.fields(Price)[0].type(x)", "dataclasses.fields"),
        ("helper.__annotations__", "__annotations__"),
        ("Price.__doc__", "__doc__"),
        ("getattr(Price, '__doc__')", "names __doc__"),
        ("getattr(Price, '__' + x + '__')", "names __,"),
        ("getattr(Price, f'__{x}__')", "names __,"),
        ("getattr(sys, 'f_lineno', 'my f_linenos')", "names f_lineno"),
        ("list(vars(BASE).values())[0]", "uses vars"),
        ("[kind.RATE for kind in Price.__subclasses__()]", "__subclasses__"),
        ("TaskContext.get().getLocalProperty('rate')", "getLocalProperty"),
        ("print(x, file=sys.stderr)", None),
    ],
)
def test_what_cannot_be_seen_whole_is_never_the_same(body: str, why: str | None) -> None:
    more = """
import dataclasses, inspect, locale, sys, threading
from pyspark import TaskContext
LOCK = threading.Lock()
WEIGHTS = numpy.random.default_rng(1)
"""
    _, reading = read(CODE.replace("RATE = 1", f"RATE = 1\n{more}").replace("len(LIMITS)", body))
    assert "numpy" not in body or "numpy" in reading.packages
    assert not reading.gaps if why is None else any(why in gap for gap in reading.gaps), reading.gaps


@pytest.mark.parametrize(
    ("body", "counts"),
    [
        ("len(traceback.format_exc())", True),
        ("warned[0].lineno", True),
        ("x.with_traceback(None)", False),
    ],
)
def test_where_code_stands_in_its_file_counts_where_it_is_asked_for(body: str, counts: bool) -> None:
    code = CODE.replace("len(LIMITS)", body).replace("RATE = 1", "import traceback\nwarned = ()\nRATE = 1")
    (before, reading), (same, _) = read(code), read(code)
    for was, now in (("\ndef f(", "\n\ndef f("), ("return x +", "\n    return x +")):
        assert (before != read(code.replace(was, now))[0]) == counts
    assert before == same and not reading.gaps


def test_an_object_of_a_compiled_class_is_never_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("native")
    module.__file__ = f"/code/native{EXTENSION_SUFFIXES[0]}"
    monkeypatch.setitem(sys.modules, "native", module)
    code = "class Model: pass\nModel.__module__ = '{}'\nMODEL = Model()\ndef f(x):\n    return MODEL(x)\n"
    assert any("object of native.Model" in gap for gap in read(code.format("native"))[1].gaps)
    assert not read(code.format("__main__"))[1].gaps


def test_arrays_are_compared_by_their_bytes() -> None:
    code = CODE.replace("RATE = 1", "RATE = 1\nWEIGHTS = numpy.zeros(5000)").replace("len(LIMITS)", "int(WEIGHTS[0])")
    assert read(code)[0] != read(code.replace("zeros(5000)", "zeros(5000); WEIGHTS[2500] = 1"))[0]
    assert not read(code)[1].gaps


def test_the_clock_and_chance_are_named() -> None:
    _, reading = read(CODE.replace("len(LIMITS)", "random.random() + datetime.datetime.now().hour"))
    assert list(reading.varies) == ["Python's random", "now() in f"]
    _, reading = read(CODE.replace("len(LIMITS)", "numpy.random.rand()"))
    assert "numpy.random" in reading.varies


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
            reading = Reading(own_of(model.parent, tmp_path / "output"))
            reading.form(scope["f"], "")
            assert bool(reading.gaps) == has_gap, (code, reading.gaps)


def own_of(version: Path, output: Path) -> Own:
    return Own(spec(script=str(version / "job.py"), output=str(output)))


@pytest.mark.parametrize(
    ("made", "is_same"),
    [
        ("'{output}/models'", True),
        ("pathlib.Path('{output}')", True),
        ("pathlib.Path('{code}') / 'model.bin'", True),
        ("['{output}']", True),
        ("'{output}-other/models'", False),
        ("'{sides}'", False),
    ],
)
def test_folders_of_a_sides_own_are_no_change(made: str, is_same: bool, tmp_path: Path) -> None:
    digests, readings = [], []
    for side in ("old", "new"):
        version, output = tmp_path / side / "code", tmp_path / side / "output"
        for folder in (version, output / "models"):
            folder.mkdir(parents=True)
        (version / "model.bin").write_bytes(b"")
        text = made.format(output=output, code=version, sides=output.parent)
        scope: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(f"import pathlib\nPLACE = {text}\ndef f(x):\n    return PLACE\n", "script.py", "exec"), scope)
        readings.append(Reading(own_of(version, output)))
        digests.append(digest(readings[-1].form(scope["f"], "")))
    assert (digests[0] == digests[1]) == is_same
    assert not is_same or (not readings[0].gaps and readings[0].parts == readings[1].parts)
    scope = {"__name__": "__main__"}
    exec(compile("PLACE = '{output}/models'\ndef f(x):\n    return PLACE\n", "script.py", "exec"), scope)
    assert digest(Reading(own_of(tmp_path, tmp_path)).form(scope["f"], "")) not in digests, "a text that only looks like one"


NAMED = """
OTHERS = {"rate": 3}
def helper(rate, more=2):
    return rate - more
def f(x, y=4):
    z = y
    return helper(x) + sorted([x], key=len)[0] + helper(z, 7)
"""
RATE = ("rate, more=2):\n    return rate", "price, more=2):\n    return price")
SWAPPED = ("rate, more=2):\n    return rate - more", "more, rate=2):\n    return more - rate")
OWN_NAME = ("f(x, y=4):\n    z = y", "f(x, other=4):\n    z = other")


@pytest.mark.parametrize(
    ("other", "change", "is_same"),
    [
        ("", OWN_NAME, True),
        ("", RATE, True),
        ("", SWAPPED, True),
        ("", (SWAPPED[0], "more, rate=2):\n    return rate - more"), False),
        ("helper(z, more=7)", RATE, False),
        ("helper(rate=z, more=7)", SWAPPED, False),
        ("helper(**OTHERS)", RATE, False),
        ("helper(*OTHERS)", RATE, False),
        ("sum(map(helper, [z]))", RATE, False),
        ("[helper][0](z)", RATE, False),
        ("(helper or len)(z)", RATE, False),
        ("helper.__call__(z)", RATE, False),
        ("(lambda: helper(rate=z))()", SWAPPED, False),
        ("(lambda: [helper])()", RATE, False),
        ("f(y=z)", OWN_NAME, False),
        ("len(helper.__name__)", RATE, False),
        ("len(numpy.sum(z))", OWN_NAME, False),
    ],
)
@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 does not show what it calls")
def test_names_of_arguments_that_nobody_gives_are_no_part_of_a_function(other: str, change: tuple[str, str], is_same: bool) -> None:
    digests = []
    code = f"import numpy{NAMED}".replace("helper(z, 7)", other or "helper(z, 7)")
    for text in (code, code.replace(*change)):
        scope: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(text, "script.py", "exec"), scope)
        reading = Reading()
        digests.append(digest(reading.settled(reading.called(scope["f"], ""))))
    assert change[0] in code and (digests[0] == digests[1]) == is_same


def test_names_of_arguments_that_code_can_ask_for_are_a_part_of_a_function() -> None:
    for body in ("len(locals())", "len(vars())", "len(dir())", "(lambda: {})()"):
        digests = []
        for name in ("x", "y"):
            scope: dict[str, Any] = {"__name__": "__main__"}
            exec(compile(f"def f({name}):\n    return {body.format(name)}\n", "script.py", "exec"), scope)
            reading = Reading()
            digests.append(digest(reading.settled(reading.called(scope["f"], ""))))
        assert digests[0] != digests[1] or reading.gaps, body


def test_tables_lie_in_the_warehouse_of_the_side_that_was_planned_first_and_no_other_folder_is_one() -> None:
    own = Own(spec(warehouse="/w s/o/old/warehouse"))
    for place in ("file:/w s/o/new/warehouse/tables", "/data/warehouse/tables", "file:/w s/other/warehouse/tables"):
        own.put_tables(place)
    named = "{warehouse}/tables/t"
    assert [own.named(f"{folder}/warehouse/tables/t") for folder in ("/w s/o/new", "/w%20s/o/new", "/w s/o/old")] == [named] * 3
    assert own.named("/data/warehouse/tables/t") == "/data/warehouse/tables/t"
    assert not is_beside("/data/warehouse/tables", "") and not is_beside("/data/warehouse/tables", "/w s/o/old/warehouse")
