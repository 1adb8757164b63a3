"""Sets the level of loggers while the driver runs, as `log-levels.json` in its folder asks for it, and says what it has set."""

from __future__ import annotations

import json
from typing import Any

from pipelines.domain.log_levels import ASKED_FILE, ROOT, Level, LevelsAsked, LevelsSet
from pipelines.domain.plain_json import rebuilt
from pipelines.driver import log4j
from pipelines.driver.records import Records


class LogLevels:
    """Looks for a new request, and carries it out once there is a JVM."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._file = records.folder / ASKED_FILE
        self._done: tuple[int, int] | None = None
        """The request that was carried out: its inode and time."""
        self._set: dict[str, Level] = {}
        self._before: dict[str, log4j.Before] = {}
        """Logger -> what it had before anybody changed it."""

    def look(self) -> None:
        """Carries out the request if it is a new one; nothing while there is no JVM."""
        try:
            seen = self._file.stat()
        except FileNotFoundError:
            return
        mark = (seen.st_ino, seen.st_mtime_ns)
        jvm = log4j.jvm() if mark != self._done else None
        if jvm is not None:
            self._carry_out(jvm, rebuilt(LevelsAsked, json.loads(self._file.read_text())))
            self._done = mark

    def _carry_out(self, jvm: Any, asked: LevelsAsked) -> None:
        levels = {logger: self._level(jvm, logger, level) for logger, level in asked.levels.items()}
        self._records.log_levels(LevelsSet(levels, log4j.configuration(jvm), asked.asked_ms, self._records.now_ms()))

    def _level(self, jvm: Any, logger: str, level: Level) -> str:
        """Sets the level of one logger if it is to be another; what it has then."""
        if self._set.get(logger, Level.USUAL) != level:
            self._before.setdefault(logger, log4j.before(jvm, logger))
            if level is Level.USUAL:
                log4j.restore(jvm, logger, self._before[logger])
            else:
                log4j.set_level(jvm, logger, level.name)
            self._set[logger] = level
            name = "the log" if logger == ROOT else f"the logger {logger}"
            self._records.event("log.level", f"The level of {name} is {log4j.level(jvm, logger)} from now on, until this run ends.")
        return log4j.level(jvm, logger)
