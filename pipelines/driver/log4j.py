"""log4j2 in the driver's JVM: levels of loggers, and where its configuration comes from.

The JVM that PySpark starts is a shell to Spark: its console shows a level of its own, WARN, to all loggers that have none set
(`Logging.sparkShellThresholdLevel`), whatever the level of the root is.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.domain.log_levels import ROOT

PATTERN = "%d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex"
"""As Spark's own configuration has it."""


@dataclass(frozen=True)
class Before:
    """What a logger had: its own level (None: that of its parent), and the shell's, which belongs to the root."""

    level: str | None
    shell: Any = None


def jvm() -> Any:
    """The driver's JVM; None before the script's first Spark, which the script imports as it likes."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return context._jvm if context is not None else None


def configuration(jvm: Any) -> str:
    """Where log4j says that its configuration is from; empty where it says nothing."""
    return str(_configuration(jvm).getConfigurationSource().getLocation() or "")


def before(jvm: Any, logger: str) -> Before:
    own = _own(jvm, logger)
    return Before(None if own is None else own.getLevel().name(), _spark(jvm).sparkShellThresholdLevel() if logger == ROOT else None)


def set_level(jvm: Any, logger: str, level: str) -> None:
    """For the root as Spark does it, which also tells the executors where its confs say so. That does nothing where the root has the level
    already (`Utils.setLogLevelIfNeeded`), whatever the shell shows."""
    from pyspark import SparkContext

    if logger != ROOT:
        _configurator(jvm).setLevel(logger, _level(jvm, level))
        return
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.setLogLevel(level)
    else:
        _configurator(jvm).setRootLevel(_level(jvm, level))
    end_shell(jvm)


def restore(jvm: Any, logger: str, before: Before) -> None:
    if before.level is None:
        _configuration(jvm).removeLogger(logger)
        _context(jvm).updateLoggers()
    elif logger != ROOT:
        _configurator(jvm).setLevel(logger, _level(jvm, before.level))
    else:
        set_level(jvm, ROOT, before.level)
        _set_shell(jvm, before.shell)


def level(jvm: Any, logger: str) -> str:
    """What is shown of the logger: its own level or that of its parent; of the root no less than the shell shows."""
    own = _configuration(jvm).getLoggerConfig("" if logger == ROOT else logger).getLevel()
    shell = _spark(jvm).sparkShellThresholdLevel()
    shown = shell if logger == ROOT and shell is not None and shell.isMoreSpecificThan(own) else own
    return str(shown.name())


def write_to(jvm: Any, path: Path) -> None:
    """From now on the JVM's log is written to the file at `path`, too, whatever else its configuration does with it. Spark configures log4j
    when it first logs, and would forget what was added before."""
    getattr(getattr(jvm.org.apache.spark.util, "Utils$"), "MODULE$").initializeLogIfNecessary(False)
    core = jvm.org.apache.logging.log4j.core
    layout = core.layout.PatternLayout.newBuilder().withPattern(PATTERN).build()
    appender = core.appender.FileAppender.newBuilder().withFileName(str(path)).setName(path.name).setLayout(layout).build()
    appender.start()
    _configuration(jvm).getRootLogger().addAppender(appender, None, None)
    _context(jvm).updateLoggers()


def end_shell(jvm: Any) -> None:
    """From now on the console shows what the configuration says."""
    _set_shell(jvm, None)


def say_contexts(jvm: Any) -> None:
    """From now on Spark gives its messages the context (query, batch, task) that a log in JSON shows."""
    _spark(jvm).enableStructuredLogging()


def _set_shell(jvm: Any, level: Any) -> None:
    _spark(jvm).__getattr__("sparkShellThresholdLevel_$eq")(level)


def _own(jvm: Any, logger: str) -> Any:
    """The logger's own configuration; None where it has none."""
    if logger == ROOT:
        return _configuration(jvm).getRootLogger()
    return _configuration(jvm).getLoggers().get(logger)


def _context(jvm: Any) -> Any:
    return jvm.org.apache.logging.log4j.LogManager.getContext(False)


def _configuration(jvm: Any) -> Any:
    return _context(jvm).getConfiguration()


def _configurator(jvm: Any) -> Any:
    return jvm.org.apache.logging.log4j.core.config.Configurator


def _level(jvm: Any, name: str) -> Any:
    return jvm.org.apache.logging.log4j.Level.valueOf(name)


def _spark(jvm: Any) -> Any:
    return getattr(getattr(jvm.org.apache.spark.internal, "Logging$"), "MODULE$")
