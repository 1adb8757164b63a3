"""`python -m pipelines.driver.loading CLASS …`: whether this Python's Spark loads classes.

Prints, as JSON, class -> what is in the way, empty where nothing is. Starts a JVM without a context, with the jars that PYSPARK_SUBMIT_ARGS
names."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any


def loaded(names: Iterable[str]) -> dict[str, str]:
    """Class -> why the JVM does not load it, or a class that one of its methods or fields names; empty where it does."""
    from pyspark.java_gateway import launch_gateway

    gateway = launch_gateway()
    try:
        loader = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
        return {name: _problem(gateway.jvm, name, loader) for name in names}
    finally:
        gateway.shutdown()


def _problem(jvm: Any, name: str, loader: Any) -> str:
    from py4j.protocol import Py4JJavaError

    try:
        named = jvm.java.lang.Class.forName(name, True, loader)
        named.getDeclaredMethods()
        named.getDeclaredFields()
    except Py4JJavaError as error:
        return str(error.java_exception.toString())
    return ""


if __name__ == "__main__":
    print(json.dumps(loaded(sys.argv[1:])))
