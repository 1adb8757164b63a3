"""Levels of a running driver's log in words. Pure."""

from __future__ import annotations

from pipelines.domain.log_levels import LoggerLevel, LogLevels
from pipelines.words import formats

NONE = "No level was changed in this run: its log is as its version says."
ENDS = "It holds until this run ends: the next one, a restart too, begins with what the version says."
NOT_YET = "not set yet: the driver has no Spark, or does not answer"


def logger(level: LoggerLevel) -> str:
    """`root: DEBUG`, `root: debug was asked for, not set yet: …`."""
    usual = ", as it was before anybody changed it" if level.level and level.asked.value == "usual" else ""
    return f"{level.logger}: {level.level}{usual}" if level.level else f"{level.logger}: {level.asked.value} was asked for, {NOT_YET}"


def lines(levels: LogLevels, now_ms: float) -> list[str]:
    """A line a logger, and since when."""
    if not levels.loggers:
        return [NONE]
    since = [f"set {formats.when(levels.at_ms, now_ms, None)}; log4j has its configuration from {levels.configuration or 'its default'}"]
    return [*map(logger, levels.loggers), *(since if levels.at_ms is not None else [])]
