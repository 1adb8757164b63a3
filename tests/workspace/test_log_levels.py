"""The level of a running driver's log: written down for the driver, shown with what it answers, gone with the run."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pipelines.domain.errors import Conflict, Invalid, NotFound
from pipelines.domain.jobs import Run
from pipelines.domain.log_levels import ASKED_FILE, MOST_LOGGERS, SET_FILE, Level, LevelsAsked, LevelsSet, LoggerLevel
from pipelines.domain.runs import RunState
from pipelines.storage import documents
from pipelines.verbs.face import do
from pipelines.verbs.log_level import SetLogLevel, ShowLogLevels
from pipelines.verbs.system import ListEvents
from pipelines.workspace import log_levels
from tests.waiting import until
from tests.workspace.conftest import House

LOGGER = "org.apache.spark.sql"


@pytest.fixture
def run(house: House, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(log_levels, "WAIT_S", 0.0)
    return house.ran("a", state=RunState.RUNNING)


def asked(house: House, run: Run) -> LevelsAsked:
    return documents.decode(LevelsAsked, (house.folder(run) / ASKED_FILE).read_bytes(), ASKED_FILE)


def answer(house: House, run: Run, **levels: str) -> None:
    """What a driver writes."""
    document = LevelsSet({name.replace("__", "."): level for name, level in levels.items()}, "log4j2.xml", asked(house, run).asked_ms, 77)
    (house.folder(run) / SET_FILE).write_bytes(documents.encode(document))


def test_what_the_driver_has_not_set_is_not_said_to_be_set(house: House, run: Run) -> None:
    plan = house.face.plan(SetLogLevel("a", Level.DEBUG))
    assert (plan.run, plan.logger, plan.before, plan.after) == (run.id, "root", Level.USUAL, Level.DEBUG)
    assert not (house.folder(run) / ASKED_FILE).exists(), "a plan changes nothing"
    levels = do(house.face, SetLogLevel("a", Level.DEBUG))
    assert (levels.at_ms, levels.loggers) == (None, (LoggerLevel("root", Level.DEBUG, ""),))
    answer(house, run, root="DEBUG")
    levels = house.face.ask(ShowLogLevels("a"))
    assert (levels.at_ms, levels.configuration, levels.loggers) == (77, "log4j2.xml", (LoggerLevel("root", Level.DEBUG, "DEBUG"),))
    levels = do(house.face, SetLogLevel("a", Level.ERROR, LOGGER))
    assert levels.at_ms is None, "an answer to what was asked for before is none"
    assert asked(house, run).levels == {"root": Level.DEBUG, LOGGER: Level.ERROR}
    assert [event.kind for event in house.face.ask(ListEvents("a"))[:2]] == ["log.level_asked"] * 2


def test_it_waits_for_the_driver(house: House, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_levels, "WAIT_S", 60.0)

    def drive() -> None:
        until((house.folder(run) / ASKED_FILE).exists)
        answer(house, run, root="INFO")

    driver = threading.Thread(target=drive)
    driver.start()
    assert do(house.face, SetLogLevel("a", Level.INFO)).at_ms == 77
    driver.join()


def test_the_next_run_begins_without(house: House, run: Run) -> None:
    do(house.face, SetLogLevel("a", Level.DEBUG))
    house.see(run, RunState.STOPPED)
    with pytest.raises(Conflict) as refused:
        house.face.plan(SetLogLevel("a", Level.DEBUG))
    assert refused.value.code == "job.not_running" and "log4j2.properties" in refused.value.hint


def test_refusals(house: House, run: Run) -> None:
    for change, error, code in (
        (SetLogLevel("none", Level.INFO), NotFound, "job.not_found"),
        (SetLogLevel("a"), Invalid, "log_level.nothing"),
        (SetLogLevel("a", Level.INFO, "a b"), Invalid, "log_level.logger"),
    ):
        with pytest.raises(error) as refused:
            house.face.plan(change)
        assert refused.value.code == code
    for number in range(MOST_LOGGERS):
        do(house.face, SetLogLevel("a", Level.INFO, f"a.b{number}"))
    with pytest.raises(Invalid) as many:
        house.face.plan(SetLogLevel("a", Level.INFO, "a.more"))
    assert many.value.code == "log_level.loggers"
    assert Path(house.folder(run) / ASKED_FILE).stat().st_size < 5_000
