"""One script beside others in one process and one JVM: what it changes there is taken back before the next."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipelines.domain import doubts, java_paths
from pipelines.domain.references import HADOOP
from pipelines.domain.run_specs import RunSpec
from pipelines.driver import secret_values
from pipelines.driver.planning import hadoop_conf
from pipelines.driver.planning.forms import items
from pipelines.driver.planning.own import is_beside


@contextmanager
def alone(spec: RunSpec, told: set[str]) -> Iterator[None]:
    """Takes back what a script changes in this process: modules, paths, the working directory, the environment, Spark's sessions. Adds the
    names of the side's confs to `told`."""
    paths, arguments, folder, environment = list(sys.path), list(sys.argv), os.getcwd(), dict(os.environ)
    try:
        _configure(spec, told)
        told.update(spec.conf)
        yield
    finally:
        sys.path[:], sys.argv[:] = paths, arguments
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        _forget_modules(Path(spec.script).parent)
        _forget_tables(spec.warehouse)
        hadoop_conf.take_back()
        _forget_sessions()


def _forget_tables(warehouse: str) -> None:
    """Drops the tables that a side made: the next one has those that its own code makes. A managed table that lies elsewhere stays, as its
    files would go with it."""
    from pyspark.sql import SparkSession

    session = SparkSession._instantiatedSession
    if session is None or not os.path.isdir(warehouse):
        return
    is_in_memory = session.conf.get("spark.sql.catalogImplementation") == "in-memory"
    shared = session._jsparkSession.sharedState()
    catalog, of_the_process = shared.externalCatalog(), java_paths.path(str(shared.conf().get("spark.sql.warehouse.dir")))
    places = (warehouse, of_the_process) if is_in_memory and is_beside(of_the_process, warehouse) else (warehouse,)
    for database in items(catalog.listDatabases()):
        for name in items(catalog.listTables(database)):
            table = catalog.getTable(database, name)
            location = table.storage().locationUri()
            place = java_paths.path(str(location.get())) if location.isDefined() else ""
            is_managed = str(table.tableType().name()) == "MANAGED"
            if any(folder in place for folder in places) or (is_in_memory and not is_managed):
                catalog.dropTable(database, name, True, False)


def _forget_modules(code: Path) -> None:
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
        if file and name != "__main__" and Path(file).is_relative_to(code):
            del sys.modules[name]


def _forget_sessions() -> None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    jvm = SparkContext._jvm
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    if jvm is not None:
        classic = getattr(SparkSession, "_get_j_spark_session_class", None)  # from 4.0 on
        sessions = classic(jvm) if classic is not None else jvm.org.apache.spark.sql.SparkSession
        sessions.clearActiveSession()
        sessions.clearDefaultSession()


def _configure(spec: RunSpec, told: set[str]) -> None:
    """Gives a Spark that runs already the confs of this side, on those that its JVM was started with: of a machine's `spark-defaults.conf`,
    which hold for both sides. Those of sides before (`told`) and of their scripts go."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is None:
        return
    conf = context._jsc.sc().conf()
    started = {key: value for key, value in _confs_of_code(context._jvm.org.apache.spark.SparkConf(True)).items() if key not in told}
    for key in _confs_of_code(conf).keys() - spec.conf.keys():
        conf.remove(key)
    for key, value in {**started, **secret_values.confs(spec.conf)}.items():
        conf.set(key, value)
        context._conf.set(key, value)


def _confs_of_code(conf: Any) -> dict[str, str]:
    return {str(pair._1()): str(pair._2()) for pair in conf.getAll() if _is_of_code(str(pair._1()))}


def _is_of_code(key: str) -> bool:
    """Whether code may set a conf so that it holds for its queries alone."""
    return key.startswith(("spark.sql.", HADOOP)) or doubts.is_connectors(key)
