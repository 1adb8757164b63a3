"""What the leaves of a streaming frame's plan read: kind, place, and all options that say which rows come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.domain.plannings import PlannedSource
from pipelines.driver import secret_values
from pipelines.driver.planning.forms import items
from pipelines.driver.planning.functions import digest
from pipelines.driver.planning.own import Own

FILES, OTHERS = "StreamingRelation", "StreamingRelationV2"
"""Spark's leaves for sources of the older and of the newer kind."""
OF_THE_PACE = {
    "maxfilespertrigger",
    "maxbytespertrigger",
    "maxoffsetspertrigger",
    "minoffsetspertrigger",
    "maxtriggerdelay",
    "maxcachedfiles",
    "cleansource",
    "startingoffsets",
    "startingoffsetsbytimestamp",
    "startingtimestamp",
    "groupidprefix",
    "failondataloss",
}
"""Options that say how fast it reads, or where it would begin without an offset: they change no row."""
PLACES = ("path", "subscribe", "subscribepattern", "assign", "topic", "stream", "table")
PYTHON = "PythonDataSourceV2"
FILE_FORMAT = "org.apache.spark.sql.execution.datasources.FileFormat"
FIXED = {"TextFileFormat": 1, "BinaryFileFormat": 4}
"""How many columns formats have that are the same for all files."""


@dataclass(frozen=True)
class Source:
    """A leaf: the ids of its columns, what it reads as JSON has it, and the same for people."""

    columns: tuple[int, ...]
    form: Any
    planned: PlannedSource
    gap: str = ""


def read(frame: Any, own: Own | None = None) -> tuple[Source, ...]:
    """The sources of `frame` in the order of the offset log."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    names, named = {FILES: _of_files, OTHERS: _other}, own.named if own is not None else str
    return tuple(names[name](leaf, named) for leaf in items(leaves) if (name := leaf.getClass().getSimpleName()) in names)


def _of_files(leaf: Any, named: Callable[[str], str]) -> Source:
    source = leaf.dataSource()
    options = {str(pair._1()).lower(): named(str(pair._2())) for pair in items(source.options())}
    schema = source.userSpecifiedSchema()
    columns = schema.get().json() if schema.isDefined() else ""
    paths = [named(str(path)) for path in items(source.paths())]
    is_inferred = not columns and _is_inferred(leaf, source.providingClass())
    gap = "its columns are those that Spark finds in the files that are there when it starts (schemaInference)" if is_inferred else ""
    return _source(leaf, str(source.className()), options, [columns, paths], gap)


def _is_inferred(leaf: Any, kind: Any) -> bool:
    """Whether Spark itself reads its files, in a format that has other columns for others, or in folders of partitions (`day=…`)."""
    format = kind.getClassLoader().loadClass(FILE_FORMAT)
    return bool(format.isAssignableFrom(kind)) and FIXED.get(kind.getSimpleName()) != int(leaf.output().length())


def _other(leaf: Any, named: Callable[[str], str]) -> Source:
    options = {str(key).lower(): named(str(value)) for key, value in dict(leaf.extraOptions()).items()}
    provider = leaf.source().get().getClass().getSimpleName() if leaf.source().isDefined() else ""
    table = str(leaf.identifier().get().toString()) if leaf.identifier().isDefined() else ""
    gap = f"the Python data source {leaf.sourceName()} cannot be taken apart" if provider == PYTHON else ""
    return _source(leaf, str(leaf.sourceName()), options, [provider, table], gap)


def _source(leaf: Any, kind: str, options: Mapping[str, str], more: list[Any], gap: str = "") -> Source:
    rows = {key: value for key, value in sorted(options.items()) if key not in OF_THE_PACE}
    form = [kind, rows, more]
    place = next((options[key] for key in PLACES if key in options), "")
    columns = tuple(int(column.exprId().id()) for column in items(leaf.output()))
    return Source(columns, form, PlannedSource(kind, secret_values.told_apart(place), digest(form), named(leaf)), gap)


def named(leaf: Any) -> str:
    """As the code named it (`readStream.name`); empty for none."""
    name = leaf.sourceIdentifyingName()
    return str(name.name()) if name.getClass().getSimpleName() == "UserProvided" else ""
