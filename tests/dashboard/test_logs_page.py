"""The tab of logs: the end of the log, any part of it, and what a search finds in the whole of it."""

from __future__ import annotations

from datetime import datetime

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dashboard.views.job import logs
from pipelines.domain.errors import NotFound
from pipelines.domain.ids import RunId
from pipelines.domain.log_levels import Level
from pipelines.domain.logs import LogChunk
from pipelines.domain.runs import RunState
from pipelines.verbs.history import OpenHistory
from pipelines.verbs.jobs import ReadLog
from pipelines.verbs.log_level import SetLogLevel
from pipelines.words import formats
from pipelines.words import log_levels as words
from tests import logged
from tests.dashboard.opening import Opener, answered, asked, clicked, selected, texts
from tests.faces import FakeFace

JOB = "post_engagement"
FILLER = [f"26/11/22 08:27:{at % 60:02d} INFO Tasks: task {at} is done" for at in range(3_000)]
ERROR = ["26/11/22 08:27:30 ERROR MicroBatch: it broke <here>", "org.apache.SparkException: Job aborted", "\tat a.b.C(D.scala:3)"]
TEXT = "\n".join([*FILLER[:50], "26/11/22 08:27:29 WARN Disk: nearly full", *ERROR, *FILLER[50:], ""])


@pytest.fixture
def face() -> FakeFace:
    face = FakeFace.sample()
    face.log = TEXT
    return face


def shown(app: AppTest) -> str:
    """What stands in the box of the log."""
    return next(str(element.proto.body) for element in app.get("html") if 'data-testid="log"' in str(element.proto.body))


def test_the_end_is_shown_and_the_whole_is_searched(opened: Opener, face: FakeFace) -> None:
    app = opened(face, "job", job=JOB, tab="Logs")
    assert "task 2999" in shown(app) and "it broke" not in shown(app)
    assert "1 error, 1 warning" in texts(app) and "the last 60.0 kB of" in texts(app)


def test_the_first_error_is_a_click_away_and_marked(opened: Opener, face: FakeFace) -> None:
    app = clicked(opened(face, "job", job=JOB, tab="Logs"), "first_error")
    assert selected(app, "line") == str(TEXT.index(ERROR[0]))
    assert f'<span class="error here">{ERROR[0].replace("<", "&lt;").replace(">", "&gt;")}</span>' in shown(app)
    app = clicked(app, "log_behind")
    assert "it broke" not in shown(app) and "task 2999" not in shown(app)
    app = clicked(app, "log_end")
    assert selected(app, "line") == "" and "task 2999" in shown(app)
    app = clicked(app, "log_begin")
    assert "task 0 " in shown(app)


def test_an_address_leads_to_a_moment(opened: Opener, face: FakeFace) -> None:
    at_ms = round(datetime(2026, 11, 22, 8, 27, 30).timestamp() * 1_000)  # in the zone of the log, which is this machine's
    app = opened(face, "job", job=JOB, tab="Logs", since=str(at_ms))
    assert f'<span class="here">{FILLER[30]}</span>' in shown(app)
    app = clicked(app, "log_end")
    assert selected(app, "since") == "" and "task 2999" in shown(app)
    assert "task 2999" in shown(opened(face, "job", job=JOB, tab="Logs", since="9" * 15)), "nothing was written since"


@pytest.mark.parametrize(
    ("query", "fits", "has", "lacks"),
    [
        ({"level": "Errors"}, 1, "Job aborted", "nearly full"),
        ({"level": "Warnings"}, 2, "nearly full", "task"),
        ({"level": "Info", "find": "nearly"}, 1, "nearly full", "it broke"),
        ({"find": "d.SCALA:3"}, 1, "it broke", "task"),
        ({"find": "task 17 "}, 1, "task 17 ", "it broke"),
    ],
)
def test_a_search_shows_whole_entries_with_the_way_to_their_place(
    opened: Opener, face: FakeFace, query: dict[str, str], fits: int, has: str, lacks: str
) -> None:
    app = opened(face, "job", job=JOB, tab="Logs", **query)
    assert has in shown(app) and lacks not in shown(app)
    assert shown(app).count("In the log") == fits
    assert (f"line={TEXT.index(ERROR[0])}" in shown(app)) == (lacks != "it broke")


def test_nothing_fits(opened: Opener, face: FakeFace) -> None:
    assert "Nothing in the log fits" in texts(opened(face, "job", job=JOB, tab="Logs", find="nowhere"))


def test_an_empty_log_says_what_will_be_there(opened: Opener, face: FakeFace) -> None:
    face.log = ""
    app = opened(face, "job", job=JOB, tab="Logs")
    assert "The log is empty" in texts(app) and app.button(key="first_error").disabled


def test_logs_are_marked_without_progress_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(st, "html", drawn.append)
    logs.box("a\n[Stage 1:>   (0 + 2) / 2]\r\r        \r26/11/20 WARN X: <slow>\nTraceback (most\n", height=9, wrap=False)
    assert "Stage" not in drawn[0]
    assert '<span class="warn">26/11/20 WARN X: &lt;slow&gt;</span>' in drawn[0]
    assert '<span class="error">Traceback' in drawn[0]


def test_of_a_log_whose_beginning_is_not_kept_the_rest_is_shown(opened: Opener, face: FakeFace) -> None:
    begin = TEXT.index(FILLER[40])

    def chunk(question: ReadLog) -> LogChunk:
        start = max(begin, len(TEXT) + question.offset if question.offset < 0 else question.offset)
        text = TEXT[start : start + question.limit]
        return LogChunk(RunId("r-1"), text, start, start + len(text), len(TEXT), begin)

    face.answers(ReadLog, chunk)
    app = opened(face, "job", job=JOB, tab="Logs")
    assert f"of which the first {formats.size(begin)} are not kept any more" in texts(app)
    assert f'href="/api/v1/jobs/{JOB}/logs/file?run=r-1"' in texts(app)
    app = clicked(app, "log_begin")
    assert FILLER[40] in shown(app) and FILLER[39] not in shown(app)
    assert app.button(key="log_before").disabled and app.button(key="log_begin").disabled


def test_the_level_of_a_running_jobs_log_is_set(opened: Opener, face: FakeFace) -> None:
    app = asked(opened(face, "job", job=JOB, tab="Logs"), "log_level", level_of=Level.WARN, level_logger="org.apache.spark.sql")
    assert words.NONE in [text.value for text in app.text]
    app = answered(app, "log_level", "log_level_set_yes")
    assert face.begun == [SetLogLevel(JOB, Level.WARN, "org.apache.spark.sql")]
    assert "org.apache.spark.sql: WARN" in texts(app)
    face.ended(JOB, RunState.STOPPED)
    assert "log_level" not in [button.key for button in opened(face, "job", job=JOB, tab="Logs").button]


def test_an_event_log_opens_in_sparks_history_server(opened: Opener, face: FakeFace) -> None:
    app = clicked(opened(face, "job", job=JOB, tab="Logs"), "history")
    (change,) = face.begun
    assert isinstance(change, OpenHistory) and change.job == JOB
    assert [link.proto.url for link in app.get("link_button") if "history server" in link.proto.label] == [logged.URL]
    assert "ssh -N -L 18080" in texts(app)


def test_a_run_without_an_event_log_says_how_to_get_one(opened: Opener, face: FakeFace) -> None:
    face.refuses(OpenHistory, NotFound("history.no_log", "It keeps no event log", "Begin one with --event-log."))
    app = clicked(opened(face, "job", job=JOB, tab="Logs"), "history")
    assert "It keeps no event log" in texts(app) and "--event-log" in texts(app)
