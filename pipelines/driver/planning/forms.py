"""The canonical form of a physical plan: each operator and expression with all of its constructor's arguments, ids renumbered.

Spark's trees are case classes: `productElement` and `otherCopyArgs` are every argument of their constructors (TreeNode.toJSON rests on
the same). A value of a class that is not listed here is a gap, so nothing is left out unseen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pipelines.driver.planning.functions import Reading

SPARK = "org.apache.spark."
PLACES = {"stateInfo", "nodeId", "runId", "queryId", "checkpoint", "tag", "nonInheritableMetadataKeys", "qualifier", "origin"}
"""Arguments that say where and in which run, not what."""
NUMBERS = {"numPartitions", "numShufflePartitions", "advisoryPartitionSize", "batchTimestampMs"}
"""Arguments that the checkpoint or the batch decides."""
NAMED = {"AttributeReference", "Alias", "PythonUDF", "PythonUDAF", "GetStructField"}
BY_POSITION = {100, 101, 200, 202, 204, 250, 252, 253}
"""Kinds of Python functions (PythonEvalType) whose arguments come one by one; others see the columns' names."""
WHOLE_IN_TEXT = {
    "org.apache.spark.unsafe.types.UTF8String",
    "org.apache.spark.unsafe.types.CalendarInterval",
    "org.apache.spark.sql.types.Decimal",
}
FILES = f"{SPARK}sql.execution.datasources.InMemoryFileIndex"
"""Where a table of files lies that a stream is joined with; its format, columns and options stand beside it, its files are read anew."""
DRAWN = {"Rand", "Randn"}
TREE, PYTHON, TYPE = f"{SPARK}sql.catalyst.trees.TreeNode", f"{SPARK}api.python.PythonFunction", f"{SPARK}sql.types.DataType"
ENUM, MAP, MANY, PRODUCT = "java.lang.Enum", "scala.collection.Map", "scala.collection.Iterable", "scala.Product"
SORTS = (TREE, PYTHON, TYPE, ENUM, MAP, MANY, PRODUCT)
"""What objects are told apart by, in this order: a type is a list, too, and a list a product."""
OTHER = ""
RELATION = "StreamingRelationExec"
OBSERVING = "CollectMetricsExec"
"""What `df.observe` is: it looks at rows, and changes none."""
LOGICAL = {"StreamingRelation", "StreamingRelationV2"}
"""What `RELATION` is in a plan that is not physical yet."""


class Form:
    """Takes plans apart; `sources` is (ids of a leaf's columns) -> what it reads, which the physical leaf does not say."""

    _SORTS: ClassVar[dict[str, str]] = {}
    """Class -> what its objects are; asked of the JVM once, since each question takes as long as it does."""
    _LABELS: ClassVar[dict[tuple[str, int], list[str]]] = {}
    """(class, number of arguments) -> the names of its constructor's arguments."""

    def __init__(self, jvm: Any, sources: Mapping[tuple[int, ...], Any], with_names: bool, version: str = "") -> None:
        self.reading = Reading(version)
        self.has_functions = False
        self._jvm = jvm
        self._sources = sources
        self._with_names = with_names
        self._ids: dict[str, int] = {}
        self._kinds = {sort: jvm.java.lang.Class.forName(sort) for sort in SORTS}

    def of(self, value: Any) -> Any:
        """`value` of the JVM as JSON has it."""
        if not hasattr(value, "getClass"):
            return value if not isinstance(value, bytes | bytearray) else bytes(value).hex()
        name = str(value.getClass().getName())
        if name not in self._SORTS:
            self._SORTS[name] = next((sort for sort, of in self._kinds.items() if of.isInstance(value)), OTHER)
        sort = self._SORTS[name]
        if sort == TREE:
            return self._node(value, name)
        if sort == PYTHON:
            return self._function(value)
        return self._value(value, name, sort)

    def _value(self, value: Any, name: str, sort: str) -> Any:
        if sort == TYPE:
            return ["type", value.json()]
        if name.endswith("expressions.ExprId"):
            return ["id", self._ids.setdefault(str(value.toString()), len(self._ids))]
        if name == f"{SPARK}sql.types.Metadata":
            return ["metadata", _spark_keys(str(value.json()))]
        if name in WHOLE_IN_TEXT:
            return [name, value.toString()]
        if name == "java.lang.Class":
            return ["class", self._class(str(value.getName()))]
        if name == "scala.Enumeration$Val" or sort == ENUM:
            return ["enum", str(value.toString())]
        if name == FILES:
            return ["files", [str(path.toString()) for path in items(value.rootPaths())]]
        if name == "java.util.UUID":
            return ["uuid"]
        if name == "scala.None$" or (name.endswith("$") and name.startswith((SPARK, "scala."))):
            return name
        if sort == MAP:
            return ["map", sorted(([self.of(pair._1()), self.of(pair._2())] for pair in items(value)), key=str)]
        if sort == MANY:
            return [self.of(item) for item in items(value)]
        if name.startswith((SPARK, "scala.")) and sort == PRODUCT:
            return [name, [self.of(value.productElement(at)) for at in range(value.productArity())]]
        return self._gap(f"Spark's plan holds an object of {name}")

    def _node(self, node: Any, name: str) -> Any:
        if not name.startswith(SPARK):
            self._gap(f"{name} comes from a jar")
        short = name.rpartition(".")[2]
        if short in LOGICAL:
            return [short, self._source(node)]
        if short == OBSERVING:
            return self.of(node.child())
        arguments = {label: self.of(value) for label, value in self._arguments(node, name, short)}
        others = [self.of(value) for at, value in enumerate(items(node.otherCopyArgs())) if not self._is_name(short, at, value)]
        return [short, arguments, others, *([self._source(node)] if short == RELATION else [])]

    def _arguments(self, node: Any, name: str, short: str) -> Iterator[tuple[str, Any]]:
        count = int(node.productArity())
        if (name, count) not in self._LABELS:
            self._LABELS[name, count] = [str(node.productElementName(at)) for at in range(count)]
        for at, label in enumerate(self._LABELS[name, count]):
            if label not in PLACES | NUMBERS and not self._is_left_out(node, short, label):
                yield label, node.productElement(at)

    def _is_left_out(self, node: Any, short: str, label: str) -> bool:
        """Names where columns come by position, what `_source` says of a leaf, a seed that Spark has drawn."""
        if short == RELATION:
            return label in ("sourceName", "output")
        if label == "name":
            return short in NAMED and not self._with_names
        if short == "NamedLambdaVariable" and label == "value":
            return True
        return label == "randomSeed" or (label == "child" and short in DRAWN and bool(node.hideSeed()))

    def _is_name(self, short: str, at: int, value: Any) -> bool:
        """Whether it is a qualifier or another word about names: the ids and the metadata are what counts."""
        if short == "AttributeReference":
            return at > 0
        return short == "Alias" and (not hasattr(value, "getClass") or self._kinds[MANY].isInstance(value))

    def _class(self, name: str) -> str:
        if "." in name and not name.startswith((SPARK, "scala.", "java.")):
            self._gap(f"{name} comes from a jar")
        return name

    def _source(self, leaf: Any) -> Any:
        """What the leaf reads, and its columns by name and type."""
        columns = list(items(leaf.output()))
        known = self._sources.get(tuple(int(column.exprId().id()) for column in columns))
        named = [[column.name(), self.of(column.exprId()), column.dataType().json()] for column in columns]
        return [known if known is not None else self._gap("a source could not be found in the plan"), named]

    def _function(self, function: Any) -> Any:
        """A Python function, with what was sent along with it."""
        from pyspark.serializers import CloudPickleSerializer

        self.has_functions = True
        if function.broadcastVars().size():
            self._gap("a Python function uses a broadcast variable")
        if function.pythonIncludes().size():
            self._gap("files are sent along with a Python function")
        pickled = bytes(function.command().toArray(self._jvm.scala.reflect.ClassTag.Byte()))
        return ["python", self.reading.form(CloudPickleSerializer().loads(pickled), "")]

    def _gap(self, why: str) -> Any:
        self.reading.gaps[why] = None
        return ["gap"]


def items(sequence: Any) -> Iterator[Any]:
    """The items of a Scala collection."""
    sequence = sequence.toSeq()
    for at in range(sequence.length()):
        yield sequence.apply(at)


def _spark_keys(text: str) -> list[list[str]]:
    """What Spark itself notes about a column; a comment on it is left out."""
    return [[key, json.dumps(value)] for key, value in sorted(json.loads(text).items()) if key.startswith("spark.")]
