"""The level of a running driver's log: what somebody asks for, and what the driver has made of it. Pure.

In a run's folder `log-levels.json` (`LevelsAsked`, by the workspace) says what is asked for, and `log-levels-set.json` (`LevelsSet`, by the
driver) what its log4j has. The next run begins with what its version says.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pipelines.domain.bounds import Moment
from pipelines.domain.errors import Invalid
from pipelines.domain.ids import JobName, RunId

ASKED_FILE, SET_FILE = "log-levels.json", "log-levels-set.json"
ROOT = "root"
MOST_LOGGERS = 50
_LOGGER = re.compile(r"[A-Za-z_$][\w$-]*(\.[\w$-]+)*")
MOST_NAME = 200


class Level(enum.StrEnum):
    """log4j's levels; `USUAL` is what the logger had before anybody changed it."""

    USUAL = "usual"
    OFF = "off"
    FATAL = "fatal"
    ERROR = "error"
    WARN = "warn"
    INFO = "info"
    DEBUG = "debug"
    TRACE = "trace"
    ALL = "all"


@dataclass(frozen=True)
class LevelsAsked:
    """Logger -> level; each that was ever asked for in this run, `root` for all that have none of their own."""

    levels: Mapping[str, Level] = field(default_factory=dict)
    asked_ms: Moment = 0


@dataclass(frozen=True)
class LevelsSet:
    """What the driver's log4j has from `at_ms` on; `asked_ms` is of the `LevelsAsked` that it follows."""

    levels: Mapping[str, str]
    """As log4j names them."""
    configuration: str
    """Where log4j has its configuration from, as it says it; empty where it does not."""
    asked_ms: Moment
    at_ms: Moment

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class LoggerLevel:
    """A logger whose level somebody asked for."""

    logger: str
    asked: Level
    level: str
    """What it has; empty while the driver has not set it."""


@dataclass(frozen=True)
class LogLevels:
    """Levels of a run's log that somebody changed. `at_ms` is when the driver set them: None while it has not, for it has no Spark yet."""

    job: JobName
    run: RunId
    loggers: tuple[LoggerLevel, ...]
    at_ms: int | None
    configuration: str = ""


def logger_name(text: str) -> str:
    """`text` as a logger's name; Invalid (`log_level.logger`)."""
    if text == ROOT or (len(text) <= MOST_NAME and _LOGGER.fullmatch(text)):
        return text
    raise Invalid(
        "log_level.logger", f"{text!r} is no logger's name", "Name a class or a package: org.apache.spark.sql.execution.streaming"
    )


def asked(before: LevelsAsked, logger: str, level: Level, now_ms: int) -> LevelsAsked:
    """`before` with another level; Invalid (`log_level.loggers`) where that are too many loggers."""
    levels = {**before.levels, logger_name(logger): level}
    if len(levels) > MOST_LOGGERS:
        hint = "Set the level of a package; the next run begins without any of them."
        raise Invalid("log_level.loggers", f"Levels of {MOST_LOGGERS} loggers were set in this run already", hint)
    return LevelsAsked(levels, max(now_ms, before.asked_ms + 1))


def shown(job: JobName, run: RunId, request: LevelsAsked, answer: LevelsSet | None) -> LogLevels:
    """What was asked for beside what the driver has; of an answer to an earlier request the loggers that it knew."""
    done = answer is not None and answer.asked_ms >= request.asked_ms
    known = answer.levels if answer is not None else {}
    loggers = tuple(LoggerLevel(name, level, known.get(name, "") if done else "") for name, level in sorted(request.levels.items()))
    return LogLevels(job, run, loggers, answer.at_ms if answer is not None and done else None, answer.configuration if answer else "")
