"""Values of Spark's SQL metrics, all of a plan at once: asked one by one each takes several calls to the JVM, and a plan has a hundred."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

OPERATOR, PREDICATE = "java.util.function.UnaryOperator", "java.util.function.Predicate"
CONTEXT, ACCUMULATOR, OPTION = "org.apache.spark.util.AccumulatorContext", "org.apache.spark.util.AccumulatorV2", "scala.Option"


class Metrics:
    """Looks metrics up by the ids of their accumulators. Spark's methods are called on lists inside the JVM, by Java's handles of them."""

    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm
        self._handles = jvm.java.lang.invoke.MethodHandles.publicLookup()
        types, whole = jvm.java.lang.invoke.MethodType, jvm.java.lang.Long.TYPE
        names = ("java.lang.Object", "java.lang.String", "java.lang.Long", OPTION)
        object_type, text, number, option = map(self._class, names)
        self._parsed = self._function(OPERATOR, self._handles.findStatic(number, "valueOf", types.methodType(number, text)))
        self._known = self._function(OPERATOR, self._handles.findStatic(self._class(CONTEXT), "get", types.methodType(option, whole)))
        self._is_gone = self._function(PREDICATE, self._method(option, "isEmpty", jvm.java.lang.Boolean.TYPE))
        self._present = self._function(OPERATOR, self._method(option, "get", object_type))
        self._id = self._function(OPERATOR, self._method(self._class(ACCUMULATOR), "id", whole))
        self._value = self._function(OPERATOR, self._method(self._class(ACCUMULATOR), "value", object_type))

    def values(self, ids: Iterable[int]) -> Mapping[int, float]:
        """Accumulator id -> value, of those that the JVM still has."""
        asked = ",".join(map(str, ids))
        if not asked:
            return {}
        lists = self._jvm.java.util
        metrics = lists.Collections.list(lists.StringTokenizer(asked, ","))
        metrics.replaceAll(self._parsed)
        metrics.replaceAll(self._known)
        metrics.removeIf(self._is_gone)
        metrics.replaceAll(self._present)
        numbers = lists.ArrayList(metrics)
        numbers.replaceAll(self._id)
        metrics.replaceAll(self._value)
        return dict(zip(json.loads(numbers.toString()), map(float, json.loads(metrics.toString())), strict=True))

    def _class(self, name: str) -> Any:
        return self._jvm.java.lang.Class.forName(name)

    def _method(self, of: Any, name: str, answer: Any) -> Any:
        return self._handles.findVirtual(of, name, self._jvm.java.lang.invoke.MethodType.methodType(answer))

    def _function(self, interface: str, handle: Any) -> Any:
        return self._jvm.java.lang.invoke.MethodHandleProxies.asInterfaceInstance(self._class(interface), handle)
