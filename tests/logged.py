"""Plans and answers of the fakes, for levels of logs and for event logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pipelines.domain.ids import JobName, RunId
from pipelines.domain.log_levels import Level, LoggerLevel, LogLevels
from pipelines.verbs.history import HistoryPlace, HistoryPlan, OpenHistory
from pipelines.verbs.log_level import LogLevelPlan, SetLogLevel, ShowLogLevels
from pipelines.verbs.verb import Change, Question
from tests.samples import NOW_MS

if TYPE_CHECKING:
    from tests.faces import FakeFace

APPLICATION = "local-1800000000000"
URL = f"http://127.0.0.1:18080/history/{APPLICATION}/"


def levels(face: FakeFace, job: str, *changed: LoggerLevel) -> LogLevels:
    return LogLevels(JobName(job), newest(face, job), changed, NOW_MS if changed else None, "/fake/log4j2.properties")


def newest(face: FakeFace, job: str) -> RunId:
    return face.runs[job][-1].id


Told = Mapping[type[Change[Any, Any]], "Callable[[FakeFace, Any], Any]"]
ASKED: Mapping[type[Question[Any]], Callable[[FakeFace, Any], Any]] = {ShowLogLevels: lambda face, it: levels(face, it.job)}
PLANS: Told = {
    SetLogLevel: lambda face, it: LogLevelPlan(JobName(it.job), newest(face, it.job), it.logger, Level.USUAL, it.level),
    OpenHistory: lambda face, it: HistoryPlan(JobName(it.job), newest(face, it.job), APPLICATION, 4_096),
}
ANSWERS: Told = {
    SetLogLevel: lambda face, it: levels(face, it.job, LoggerLevel(it.logger, it.level, it.level.name)),
    OpenHistory: lambda face, it: HistoryPlace(
        JobName(it.job), newest(face, it.job), APPLICATION, URL, "ssh -N -L 18080:127.0.0.1:18080 here"
    ),
}
