"""A log4j2 configuration of the job's own: it decides what the log shows, and is missed aloud where log4j2 could not use it. And what
Python's `logging` shows of a job that has not configured it."""

from __future__ import annotations

from typing import Any

from pipelines.domain.log_configuration import SPARKS_JSON, named
from pipelines.domain.run_specs import RunSpec
from pipelines.driver import log4j
from pipelines.driver.records import Records

SPARKS_OWN = "org/apache/spark/log4j2-"
"""Spark's configurations, which it puts in the place of log4j's default."""
FATAL = (".yaml", ".yml", ".json", ".jsn")
"""Of these log4j2 says what is wrong and then fails itself (`JsonConfiguration.setup`, 2.25)."""
JSON_LAYOUT = SPARKS_JSON.rpartition("/")[2]
PYTHONS = "%(asctime)s %(levelname)s %(name)s: %(message)s"
"""Of a message for which nobody has installed a handler, which Python shows bare: a search for warnings would not know it for one."""


def name_levels() -> None:
    """From now on `logging.lastResort` shows the time, the level and the logger. It has no part in what a handler of the job's shows."""
    import logging

    if logging.lastResort is not None:
        logging.lastResort.setFormatter(logging.Formatter(PYTHONS))


def install(spec: RunSpec, records: Records) -> None:
    """Looks at log4j as soon as the script's first Spark has its JVM; nothing where the run has no configuration of its own."""
    name = named(spec.conf)
    if not name:
        return
    from pyspark import SparkContext

    initialize = SparkContext._ensure_initialized.__func__
    looked = False

    def initialized(context_class: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal looked
        try:
            initialize(context_class, *args, **kwargs)
        except Exception:
            if name.endswith(FATAL):
                records.event("log4j.failed", f"Spark's JVM did not start with {name}: where log4j2 cannot parse it, that is its end.")
            raise
        if not looked and context_class._jvm is not None:
            looked = True
            _look(context_class._jvm, name, records)

    SparkContext._ensure_initialized = classmethod(initialized)


def _look(jvm: Any, name: str, records: Records) -> None:
    place = log4j.configuration(jvm)
    if name == SPARKS_JSON and JSON_LAYOUT in place:
        log4j.say_contexts(jvm)
    elif place and SPARKS_OWN not in place:
        log4j.end_shell(jvm)
    else:
        records.event("log4j.failed", f"log4j2 could not use {name}: Spark logs as it usually does. The first lines of the log say why.")
