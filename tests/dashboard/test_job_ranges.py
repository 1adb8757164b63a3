"""A job's charts over a range of the address, and the batch at a moment of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.views import ranges
from dashboard.views.job.metrics import LEAD_MS
from pipelines.domain.experiments import Series
from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import RetainedBatch
from pipelines.verbs.jobs import ListRetained, ShowJob, ShowSeries
from pipelines.verbs.take import Take
from tests.dashboard.opening import Opener, clicked, selected, texts
from tests.faces import NOW_MS, FakeFace

JOB = "post_engagement"
FROM, TO = "2027-01-14T02:10:00Z", "2027-01-14T02:30:00Z"
FROM_MS, TO_MS = 1_799_892_600_000, 1_799_893_800_000
DAY_MS = 86_400_000


@pytest.fixture
def asked() -> list[ShowSeries]:
    return []


@pytest.fixture
def face(asked: list[ShowSeries]) -> FakeFace:
    """Keeps which series were asked for."""
    face = FakeFace.sample()

    def series(question: ShowSeries) -> Series:
        asked.append(question)
        return Series(JobName(JOB), {"t": [float(question.from_ms), float(question.to_ms)], "batch_ms": [800.0, 900.0]})

    face.answers(ShowSeries, series)
    return face


def test_a_range_of_the_address_is_asked_for_and_left_again(opened: Opener, face: FakeFace, asked: list[ShowSeries]) -> None:
    app = opened(face, "job", job=JOB, **{"from": FROM, "to": TO})
    assert (asked[-1].from_ms, asked[-1].to_ms) == (FROM_MS, TO_MS)
    assert "2027-01-14 02:10:00 – 02:30:00 UTC · 20m 00s" in texts(app)
    app = clicked(app, "span_before")
    assert (selected(app, "from"), selected(app, "to")) == ("2027-01-14T01:50:00Z", FROM)
    app = clicked(app, "span_now")
    assert (selected(app, "from"), asked[-1].to_ms == TO_MS - 1_200_000) == ("", False)


def test_the_charts_of_a_run_that_ended_are_of_its_last_minutes(opened: Opener, face: FakeFace, asked: list[ShowSeries]) -> None:
    detail, ended_ms = face.ask(ShowJob(JOB)), 1_768_357_800_000
    assert detail.summary.run is not None
    run = replace(detail.summary.run, state=RunState.FAILED, ended_ms=ended_ms)
    job = replace(detail.summary.job, created_ms=ended_ms - DAY_MS)
    face.answers(ShowJob(JOB), replace(detail, summary=replace(detail.summary, job=job, run=run, state=RunState.FAILED), runs=(run,)))
    app = opened(face, "job", job=JOB)
    assert (asked[-1].from_ms, asked[-1].to_ms) == (ended_ms + LEAD_MS - 900_000, ended_ms + LEAD_MS)
    assert ranges.ENDED in texts(app) and selected(app, "from") == ""


def typed(app: AppTest, words: str) -> AppTest:
    app.text_input(key="range_words").set_value(words).run()
    return app


def test_a_range_in_words_is_absolute_and_in_the_address(opened: Opener, face: FakeFace, asked: list[ShowSeries]) -> None:
    begin, end = "2026-01-14T02:10:00Z", "2026-01-14T02:30:00Z"
    app = typed(opened(face, "job", job=JOB), "2026-01-14 02:10 to 02:30")
    assert (selected(app, "from"), selected(app, "to")) == (begin, end)
    assert (asked[-1].from_ms, asked[-1].to_ms) == (1_768_356_600_000, 1_768_357_800_000)
    assert app.text_input(key="range_words").value == ""
    app = typed(app, "some day")
    assert "is no range of time" in texts(app) and selected(app, "from") == begin
    app = typed(app, "2026-01-13")
    assert "is no range of time" not in texts(app) and selected(app, "from") == "2026-01-13T00:00:00Z"
    app = typed(opened(face, "job", job=JOB, tab="Batches"), "2026-01-14 02:10 to 02:30")
    assert (selected(app, "from"), selected(app, "to")) == (begin, end)


def test_the_day_before_is_drawn_beside(opened: Opener, face: FakeFace, asked: list[ShowSeries]) -> None:
    opened(face, "job", job=JOB, yesterday="true", **{"from": FROM, "to": TO})
    assert {question.from_ms for question in asked} == {FROM_MS, FROM_MS - DAY_MS}


@pytest.mark.parametrize(("begin", "end"), [("x", TO), (TO, FROM), (FROM, ""), ("99999-01-01", TO), (FROM, FROM)])
def test_a_range_that_is_none_is_the_last_minutes(opened: Opener, face: FakeFace, asked: list[ShowSeries], begin: str, end: str) -> None:
    opened(face, "job", job=JOB, **{"from": begin, "to": end})
    assert asked[-1].to_ms != TO_MS


def test_a_range_over_midnight_names_both_days() -> None:
    assert ranges.words(ranges.Span(FROM_MS, TO_MS + DAY_MS), UTC) == "2027-01-14 02:10:00 – 2027-01-15 02:30:00 UTC · 1d 0h"


def test_the_batch_at_a_moment_and_what_begins_there(opened: Opener, face: FakeFace) -> None:
    app = opened(face, "job", job=JOB, at=str(NOW_MS + 1_000))
    assert "Batch 9" in texts(app) and "tm-phases" in texts(app)
    clicked(app, "moment_take")
    assert face.begun[-1] == Take(JOB, batch=9)
    app = clicked(opened(face, "job", job=JOB, at=str(NOW_MS + 1_000)), "moment_fork")
    assert face.begun[-1] == Take(JOB, batch=8) and selected(app, "savepoint").startswith("sp-")


def test_of_several_queries_the_batch_at_a_moment_is_taken(opened: Opener, face: FakeFace) -> None:
    kept = [*face.ask(ListRetained(JOB)), RetainedBatch(QueryName("late"), 2, NOW_MS - 60_000, 0, NOW_MS - 60_000)]
    face.answers(ListRetained, lambda _: kept)
    clicked(opened(face, "job", job=JOB, at=str(NOW_MS + 1_000)), "moment_take")
    assert face.begun[-1] == Take(JOB, batch={"counts": 9, "late": 2})


def test_before_batches_that_spark_purged_a_fork_begins_at_a_savepoint(opened: Opener, face: FakeFace) -> None:
    face.savepoints_by_id = {
        named: replace(savepoint, queries=(replace(savepoint.queries[0], batch=5),)) for named, savepoint in face.savepoints_by_id.items()
    }
    app = opened(face, "job", job=JOB, at=str(NOW_MS - 19_000))
    assert "Batch 7" in texts(app) and not app.button(key="moment_take").disabled
    app = clicked(app, "moment_fork")
    assert not face.begun and selected(app, "savepoint").startswith("sp-")


def test_before_the_first_batch_there_is_none(opened: Opener, face: FakeFace) -> None:
    app = clicked(opened(face, "job", job=JOB, at="5"), "moment_close")
    assert selected(app, "at") == ""
