"""The connectors of a runtime: which jars it has of them, and whether its Spark loads them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pipelines.domain import connector_jars, connectors
from pipelines.domain.connectors import CLASSES, Connector, Connectors, Jars
from pipelines.domain.errors import Unavailable
from pipelines.domain.runtimes import Runtime
from pipelines.sandbox import loading, sparks
from pipelines.verbs.connectors import ShowConnectors
from pipelines.workspace import runtimes
from pipelines.workspace.context import Context
from pipelines.workspace.doers import answers


@answers(ShowConnectors)
def show(context: Context, question: ShowConnectors) -> Connectors:
    """What the runtime needs for each system, with the confs. Raises Unavailable where no job could run on it."""
    runtime = runtimes.named(Runtime(question.python, question.java_home))
    version = runtimes.checked(runtime).version
    return Connectors(runtime.python or sys.executable, version, of_runtime(runtime, version, question.conf))


def of_runtime(runtime: Runtime, version: str, conf: Mapping[str, str]) -> tuple[Connector, ...]:
    """What a runtime with Spark `version` needs for each system; those whose jar is there are loaded."""
    files = [file for path in connector_jars.conf_files(conf) for file in _files(Path(path).absolute())]
    folder = sparks.jars(runtime.python)
    own = tuple(path.name for path in folder.glob("*.jar")) if folder else ()
    jars = Jars(own, tuple(file.name for file in files), connector_jars.package_jars(conf))
    given = {f"{name}={value}" for name, value in conf.items()}
    lacking = [
        replace(connector, confs=tuple(each for each in connector.confs if each not in given))
        for connector in connectors.of_spark(version, jars)
    ]
    problems = _problems(runtime, files, [connector.system for connector in lacking if connector.is_to_load])
    return tuple(replace(connector, problem=problems.get(connector.system, "")) for connector in lacking)


def _files(path: Path) -> list[Path]:
    """The jars that a class path means by `path`: all of its folder where it ends with an asterisk, as Java has it."""
    return sorted(path.parent.glob("*.jar")) if path.name == "*" else [path]


def _problems(runtime: Runtime, files: list[Path], systems: Sequence[str]) -> Mapping[str, str]:
    """System -> what is in the way of its classes, empty where nothing is; one JVM loads those of all."""
    if not systems:
        return {}
    gone = next((file for file in files if not file.exists()), None)
    if gone is not None:
        return dict.fromkeys(systems, f"there is no file {gone}")
    try:
        problems = loading.of(runtime, files, [name for system in systems for name in CLASSES[system]])
    except Unavailable as problem:
        return dict.fromkeys(systems, problem.message)
    return {system: next(filter(None, map(problems.__getitem__, CLASSES[system])), "") for system in systems}
