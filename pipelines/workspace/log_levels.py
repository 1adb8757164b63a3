"""Levels of a running driver's log: written down in its run's folder, where the driver finds them and says what it has set."""

from __future__ import annotations

import time
from pathlib import Path

from pipelines.domain import log_levels
from pipelines.domain.errors import Conflict, Invalid
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Run
from pipelines.domain.log_levels import ASKED_FILE, SET_FILE, Level, LevelsAsked, LevelsSet, LogLevels
from pipelines.verbs.log_level import LogLevelPlan, SetLogLevel, ShowLogLevels
from pipelines.workspace import attachments, events, runs
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans

WAIT_S = 3.0
"""How long who asks waits for the driver, which looks every second; one that has no Spark yet sets it later."""
LOOK_S = 0.1


@answers(ShowLogLevels)
def show(context: Context, question: ShowLogLevels) -> LogLevels:
    name = runs.known(context, question.job)
    attachments.refuse(context, name, "asked for its log")
    return _now(context, _newest(context, name))


@plans(SetLogLevel)
def plan(context: Context, change: SetLogLevel) -> Planned[LogLevels, LogLevelPlan]:
    """Raises Conflict (`job.not_running`, `job.attached`), Invalid (`log_level.logger`, `log_level.loggers`, `log_level.nothing`)."""
    name = runs.known(context, change.job)
    attachments.refuse(context, name, "told another level of its log")
    level, run = change.level, _live(context, name)
    if level is None:
        raise Invalid("log_level.nothing", "No level is given", "Give one: usual, off, fatal, error, warn, info, debug, trace or all.")
    before = _asked(context, run)
    log_levels.asked(before, change.logger, level, context.now_ms())
    shown = LogLevelPlan(name, run.id, change.logger, before.levels.get(change.logger, Level.USUAL), level)
    return Planned(shown, lambda _: _set(context, name, change.logger, level))


def _set(context: Context, name: JobName, logger: str, level: Level) -> LogLevels:
    """One change at a time is written down; what the driver has made of it is waited for a moment."""
    with context.holding(name):
        run = _live(context, name)
        asked = log_levels.asked(_asked(context, run), logger, level, context.now_ms())
        context.files.write(_folder(context, run) / ASKED_FILE, asked)
    events.say(context, "log.level_asked", name, run.id, f"{name}: level {level.value} was asked for of logger {logger}")
    end = time.monotonic() + WAIT_S
    while (levels := _now(context, run)).at_ms is None and time.monotonic() < end:
        time.sleep(LOOK_S)
    return levels


def _now(context: Context, run: Run) -> LogLevels:
    answer = context.files.find(LevelsSet, _folder(context, run) / SET_FILE)
    return log_levels.shown(run.job, run.id, _asked(context, run), answer)


def _asked(context: Context, run: Run) -> LevelsAsked:
    return context.files.find(LevelsAsked, _folder(context, run) / ASKED_FILE) or LevelsAsked()


def _folder(context: Context, run: Run) -> Path:
    return context.layout.run(run.job, run.id)


def _live(context: Context, name: JobName) -> Run:
    run = _newest(context, name)
    if not run.state.live:
        hint = "Resume it first. What its runs begin with is its version's: a log4j2.properties beside its script."
        raise Conflict("job.not_running", f"Job {name} is not running", hint)
    return run


def _newest(context: Context, name: JobName) -> Run:
    run = runs.newest(context, name)
    if run is None:
        raise Conflict("job.not_running", f"Job {name} never ran", "Resume it to start a run.")
    return run
