"""What differs between two points of jobs, decided from what their versions, manifests and checkpoints say; nothing is guessed.

Spark keeps no logical plan of a query: what is left of it in a checkpoint are its stateful operators, and those are compared.
"""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pipelines.domain.files import text
from pipelines.domain.offsets import positions
from pipelines.domain.plan_differences import PlanDifference
from pipelines.domain.points import Point, PointHead, QueryPoint, StateOperator, head
from pipelines.domain.secrets import given, shown
from pipelines.domain.versions import Version, options

Value = str | int | None
"""What a side has; None where that is not known."""
ABSENT = "/dev/null"
"""What stands for a file that a side lacks, as `diff` has it."""


class Unit(enum.StrEnum):
    """How a value is to be read."""

    TEXT = "text"
    COUNT = "count"
    BYTES = "bytes"
    MOMENT = "moment"
    """Epoch ms."""


class Outcome(enum.StrEnum):
    """How the two sides of an entry differ."""

    SAME = "same"
    CHANGED = "changed"
    ONLY_A = "only_a"
    ONLY_B = "only_b"
    UNKNOWN = "unknown"
    """Both have it, and at least one side's value is not known."""


@dataclass(frozen=True)
class CodeDifference:
    """The frozen scripts of both sides, or a file beside them; `unified` is empty where they are equal."""

    a: str
    b: str
    unified: str
    added: int
    removed: int
    path: str = ""
    """Of a file beside the script: its path below the script's folder. `a` and `b` are empty where it is no text."""


@dataclass(frozen=True)
class Entry:
    """One compared value; a side may lack it. `of` names the query, source or operator that it is of."""

    of: str
    name: str
    outcome: Outcome
    a: Value
    b: Value
    unit: Unit = Unit.TEXT
    apart: int | None = None
    """B less A, of whole numbers."""


@dataclass(frozen=True)
class Section:
    """Entries of one kind, in A's order, then what B alone has; `compared` is False where a side has no checkpoint."""

    name: str
    entries: tuple[Entry, ...]
    compared: bool = True

    @property
    def differing(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.outcome is not Outcome.SAME)


@dataclass(frozen=True)
class Differences:
    """Two points and what differs between them; the sections are always the same ones, in this order."""

    a: PointHead
    b: PointHead
    code: CodeDifference
    sections: tuple[Section, ...]
    files: tuple[CodeDifference, ...] = ()
    """The files beside the scripts that differ, by path."""
    plans: PlanDifference | None = None
    """What both codes compute; None until it was asked for (`diff --plans`), since Spark plans it."""

    def section(self, name: str) -> Section:
        return next(section for section in self.sections if section.name == name)


@dataclass(frozen=True)
class Fact:
    """One value of one side."""

    of: str
    name: str
    value: Value
    unit: Unit = Unit.TEXT


def differences(a: Point, b: Point) -> Differences:
    """All values of both points, side by side."""
    code, files = code_difference(a.version, b.version), file_differences(a.version, b.version)
    return Differences(head(a), head(b), code, (*_settings(a, b), *_checkpoints(a, b)), files)


def code_difference(a: Version, b: Version) -> CodeDifference:
    """The scripts' difference as `diff -u` writes it, with the lines it adds and removes."""
    return _compared(a.code, b.code, a.script, b.script, "")


def file_differences(a: Version, b: Version) -> tuple[CodeDifference, ...]:
    """The files beside the scripts that one side lacks or has otherwise."""
    paths = sorted({*a.files, *b.files})
    return tuple(_file(path, a.files.get(path), b.files.get(path)) for path in paths if a.files.get(path) != b.files.get(path))


def _file(path: str, a: str | None, b: str | None) -> CodeDifference:
    texts = [text("" if packed is None else packed) for packed in (a, b)]
    if None in texts:
        return CodeDifference("", "", f"Binary files {path} differ\n", 0, 0, path)
    names = [ABSENT if packed is None else path for packed in (a, b)]
    return _compared(texts[0] or "", texts[1] or "", names[0], names[1], path)


def _compared(a: str, b: str, name_a: str, name_b: str, path: str) -> CodeDifference:
    """An empty file that one side lacks differs in its heads alone."""
    lines = list(difflib.unified_diff(a.splitlines(), b.splitlines(), name_a, name_b, lineterm=""))
    lines = lines or ([f"--- {name_a}", f"+++ {name_b}"] if path else [])
    added, removed = (sum(line.startswith(sign) for line in lines[2:]) for sign in "+-")
    return CodeDifference(a, b, "\n".join(lines) + "\n" if lines else "", added, removed, path)


def _settings(a: Point, b: Point) -> Iterable[Section]:
    told, compared = entries(_arguments(a), _arguments(b)), entries(_confs(a), _confs(b))  # that a secret differs is told, not what it is
    yield Section("arguments", tuple(replace(it, name=given("", it.name), a=given(it.name, it.a), b=given(it.name, it.b)) for it in told))
    yield Section("confs", tuple(replace(conf, a=shown(conf.name, conf.a), b=shown(conf.name, conf.b)) for conf in compared))
    yield Section("runtime", entries(_runtime(a), _runtime(b)))


def _checkpoints(a: Point, b: Point) -> Iterable[Section]:
    for name, facts in (("pinned confs", _pinned), ("progress", _progress), ("sources", _sources), ("state", _state), ("sinks", _sinks)):
        if a.queries is None or b.queries is None:
            yield Section(name, (), compared=False)
        else:
            sides = [[fact for query in queries for fact in facts(query)] for queries in (a.queries, b.queries)]
            yield Section(name, entries(*sides))


def entries(a: Sequence[Fact], b: Sequence[Fact]) -> tuple[Entry, ...]:
    """Facts paired by `of` and name."""
    in_a, in_b = ({(fact.of, fact.name): fact for fact in side} for side in (a, b))
    return tuple(_entry(in_a.get(key), in_b.get(key)) for key in dict.fromkeys([*in_a, *in_b]))


def _entry(a: Fact | None, b: Fact | None) -> Entry:
    fact = a or b
    assert fact is not None
    left, right = a.value if a else None, b.value if b else None
    apart = right - left if isinstance(left, int) and isinstance(right, int) and fact.unit is not Unit.TEXT else None
    return Entry(fact.of, fact.name, _outcome(a, b), left, right, fact.unit, apart)


def _outcome(a: Fact | None, b: Fact | None) -> Outcome:
    if a is None or b is None:
        return Outcome.ONLY_B if a is None else Outcome.ONLY_A
    if a.value is None or b.value is None:
        return Outcome.UNKNOWN
    return Outcome.SAME if a.value == b.value else Outcome.CHANGED


def _arguments(point: Point) -> list[Fact]:
    return [Fact("", name, value) for name, value in options(point.version.args).items()]


def _confs(point: Point) -> list[Fact]:
    return [Fact("", *pair) for values in (point.version.conf, point.version.outside) for pair in sorted(values.items())]


def _runtime(point: Point) -> list[Fact]:
    python = point.version.python or "Tidemark's own"
    version = point.version
    lists = {"Java": version.java_home, "requirements": version.requirements, "packages": version.pins}
    installed = [Fact("", name, ", ".join(text.splitlines())) for name, text in lists.items() if text]
    return [Fact("", "Spark", point.spark_version or None), Fact("", "Python", python), Fact("", "master", version.master), *installed]


def _pinned(query: QueryPoint) -> list[Fact]:
    return [Fact(query.image.query, name, value) for name, value in sorted(query.image.conf.items())]


def _progress(query: QueryPoint) -> list[Fact]:
    image = query.image
    return [
        Fact(image.query, "batch", image.batch, Unit.COUNT) if image.begun else Fact(image.query, "batch", "not begun"),
        Fact(image.query, "planned at", image.batch_timestamp_ms, Unit.MOMENT),
        Fact(image.query, "watermark", image.watermark_ms, Unit.MOMENT) if image.watermark_ms else Fact(image.query, "watermark", "none"),
    ]


def _sources(query: QueryPoint) -> list[Fact]:
    return [
        Fact(f"{query.image.query} · source {offset.source}", name, value, Unit.COUNT if isinstance(value, int) else Unit.TEXT)
        for offset in query.image.offsets
        for name, value in positions(offset.offset).items()
    ]


def _state(query: QueryPoint) -> list[Fact]:
    image = query.image
    store = Fact(image.query, "state store", f"{image.provider}, format {image.state_format}" if query.operators else "none")
    return [store, *(fact for operator in query.operators for fact in _operator(image.query, operator))]


def _operator(query: str, operator: StateOperator) -> list[Fact]:
    of = f"{query} · operator {operator.id}"
    schemas = [
        Fact(of, f"{part} of {store.name}", text)
        for store in operator.stores
        for part, text in (("key", store.key), ("value", store.value))
    ]
    return [
        Fact(of, "operator", operator.name or None),
        Fact(of, "partitions", operator.partitions, Unit.COUNT),
        *schemas,
        Fact(of, "rows", operator.rows, Unit.COUNT),
        Fact(of, "bytes", operator.bytes, Unit.BYTES),
    ]


def _sinks(query: QueryPoint) -> list[Fact]:
    image = query.image
    where = [Fact(image.query, "path", image.sink_path)] if image.sink_path else []
    table = [Fact(image.query, "table", image.sink_table)] if image.sink_table else []
    return [Fact(image.query, "format", image.sink or None), *where, *table]
