"""The canonical form of a physical plan: each operator and expression with all of its constructor's arguments, ids renumbered.

A value of a class that is not listed here or in `Trees.java`, which writes the tree, is a gap, so nothing is left out unseen.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from pipelines.driver.planning import trees
from pipelines.driver.planning.functions import Reading
from pipelines.driver.planning.own import Own

SPARK = "org.apache.spark."
NAMED = {"AttributeReference", "Alias", "PythonUDF", "PythonUDAF", "GetStructField"}
REACHING = {
    "CallMethodViaReflection": "a method of Java is called by its name (reflect), whose answer is not in the code",
    "ScriptTransformation": "rows go through a program (TRANSFORM), of which the name alone is in the code",
    "SparkScriptTransformationExec": "rows go through a program (TRANSFORM), of which the name alone is in the code",
}
BY_NAME = "NamedArgumentExpression"
"""An argument of a Python function that SQL, or `f(x=column)`, gives by its name."""
BY_POSITION = {100, 101, 200, 202, 204, 250, 252, 253}
"""Kinds of Python functions (PythonEvalType) whose arguments come one by one; others see the columns' names."""


class Form:
    """Takes plans apart; `sources` is (ids of a leaf's columns) -> what it reads, which the physical leaf does not say."""

    def __init__(self, jvm: Any, sources: Mapping[tuple[int, ...], Any], with_names: bool, own: Own | None = None) -> None:
        self._own = own or Own()
        self.reading = Reading(self._own)
        self.has_functions = False
        self.reads: dict[str, int] = {}
        """Place that each batch reads files of -> when they last changed, as `PlannedOperator.reads`."""
        self._trees = trees.of(jvm)
        self._sources = sources
        self._with_names = with_names
        self._ids: dict[str, int] = {}

    def of(self, value: Any) -> Any:
        """`value` of the JVM as JSON has it."""
        return self._form(self._trees.read(value))

    def _form(self, written: Any) -> Any:
        """Of a value that is plain, or a list that begins with its kind."""
        if not isinstance(written, list):
            return self._own.form(written) if isinstance(written, str) else written
        match written:
            case ["tree", name, arguments, others, *columns]:
                return self._node(name, arguments, others, columns)
            case ["leaf", name, columns]:
                return [self._short(name), self._source(columns)]
            case ["observed", name, child]:
                self._short(name)
                return self._form(child)
            case ["python", broadcasts, includes, pickled]:
                return self._function(broadcasts, includes, b64decode(pickled))
            case ["files", places, newest]:
                self.reads.update({self._own.named(place): newest for place in places})
                return ["files", [self._own.form(place) for place in places]]
            case ["map", pairs]:
                return ["map", sorted(([self._form(key), self._form(value)] for key, value in pairs), key=str)]
            case ["many", values]:
                return [self._form(value) for value in values]
            case ["product", name, values]:
                return [name, [self._form(value) for value in values]]
            case [kind, *rest]:
                return self._value(kind, rest)

    def _value(self, kind: str, texts: Sequence[Any]) -> Any:
        match kind, *texts:
            case ["float", number]:
                return float(number)
            case ["decimal", number]:
                return Decimal(number)
            case ["bytes", data]:
                return b64decode(data).hex()
            case ["id", text]:
                return ["id", self._ids.setdefault(text, len(self._ids))]
            case ["metadata", document]:
                return ["metadata", _spark_keys(document)]
            case ["text", name, text]:
                return [name, self._own.form(text)]
            case ["class", name]:
                return ["class", self._class(name)]
            case ["module", name]:
                return name
            case ["other", name]:
                return self._gap(f"Spark's plan holds an object of {name}")
        return [kind, *texts]

    def _node(self, name: str, arguments: list[Any], others: list[Any], columns: list[Any]) -> Any:
        short = self._short(name)
        hides_names = short in NAMED and not self._with_names
        formed = {label: self._form(value) for label, value in arguments if label != "name" or not hides_names}
        return [short, formed, [self._form(value) for value in others], *map(self._source, columns)]

    def _short(self, name: str) -> str:
        if not name.startswith(SPARK):
            self._gap(f"{name} comes from a jar")
        short = name.rpartition(".")[2]
        if short in REACHING:
            self._gap(REACHING[short])
        if short == BY_NAME:
            self.reading.arguments.give()
        return short

    def _class(self, name: str) -> str:
        if "." in name and not name.startswith((SPARK, "scala.", "java.")):
            self._gap(f"{name} comes from a jar")
        return name

    def _source(self, columns: Sequence[Any]) -> Any:
        """What a leaf of these columns reads, and its columns by name and type."""
        known = self._sources.get(tuple(number for number, *_ in columns))
        named = [[name, self._form(identity), kind] for _, name, identity, kind in columns]
        return [known if known is not None else self._gap("a source could not be found in the plan"), named]

    def _function(self, broadcasts: Sequence[tuple[int, str]], includes: int, pickled: bytes) -> Any:
        """A Python function, with what was sent along with it."""
        self.has_functions = True
        if includes:
            self._gap("files are sent along with a Python function")
        if not all(path for _, path in broadcasts):
            return self._gap("a Python function uses a broadcast variable that is encrypted, or was destroyed")
        match _sent(broadcasts, pickled):
            case (function, kind) if not self._with_names:
                return ["python", self.reading.called(function, ""), self.reading.form(kind, "")]
            case sent:
                return ["python", self.reading.form(sent, "")]

    def _gap(self, why: str) -> Any:
        self.reading.gaps[why] = None
        return ["gap"]


def _sent(broadcasts: Sequence[tuple[int, str]], pickled: bytes) -> Any:
    """What a worker gets, with the broadcast variables as it has them. One that is larger than a megabyte is broadcast itself
    (`_prepare_for_python_RDD`)."""
    from pyspark.core import broadcast
    from pyspark.serializers import CloudPickleSerializer

    broadcast._broadcastRegistry.update({number: broadcast.Broadcast(path=path) for number, path in broadcasts})
    try:
        sent = CloudPickleSerializer().loads(pickled)
        return CloudPickleSerializer().loads(sent.value) if isinstance(sent, broadcast.Broadcast) else sent
    finally:
        for number, _ in broadcasts:
            broadcast._broadcastRegistry.pop(number)


def items(sequence: Any) -> Iterator[Any]:
    """The items of a Scala collection."""
    sequence = sequence.toSeq()
    for at in range(sequence.length()):
        yield sequence.apply(at)


def _spark_keys(text: str) -> list[list[str]]:
    """What Spark itself notes about a column; a comment on it is left out."""
    return [[key, json.dumps(value)] for key, value in sorted(json.loads(text).items()) if key.startswith("spark.")]
