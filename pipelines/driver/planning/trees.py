"""Whole trees of Spark, each read in one call: a class of our own (`Trees.java`) writes them as JSON in the JVM.

A plan has thousands of arguments, and each call from Python into the JVM takes both some 70 µs of a processor. Janino, by which Spark
compiles the code that it generates, compiles the class once for each Python process.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("Trees.java")
NAME = "tidemark.Trees"


@lru_cache(maxsize=1)
def of(jvm: Any) -> Trees:
    """Those of a JVM."""
    return Trees(jvm)


class Trees:
    """Reads the trees of one JVM."""

    def __init__(self, jvm: Any) -> None:
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
        compiler.cook(SOURCE.read_text())
        self._trees = compiler.getClassLoader().loadClass(NAME).getField("READER").get(None)

    def read(self, value: Any) -> Any:
        """`value` of the JVM with all that is below it, as `Trees.java` writes it."""
        return json.loads(self._trees.written(value))

    def timed(self, plan: Any, now_ms: int) -> Any:
        """A logical plan of a stream at the time of a batch."""
        return self._trees.timed(plan, now_ms)
