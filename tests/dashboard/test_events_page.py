"""What happened: listed, filtered, coloured."""

from __future__ import annotations

import pytest

from dashboard import session
from dashboard.views import events
from dashboard.views.job import occurrences
from pipelines.domain.errors import Unavailable
from pipelines.verbs.system import ListEvents
from tests.dashboard.opening import Opener, clicked, refusing, said, selected, tables
from tests.faces import NOW_MS, FakeFace


def test_all_events_newest_first(opened: Opener) -> None:
    assert tables(opened(FakeFace.sample(), "events"))["events"] == ["0", "1", "2"]


def test_what_is_chosen_stands_in_the_address(opened: Opener) -> None:
    assert tables(opened(FakeFace.sample(), "events", kind="Savepoints"))["events"] == []
    assert tables(opened(FakeFace.sample(), "events", filter="split"))["events"] == ["0"]
    assert tables(opened(FakeFace.sample(), "events", job="post_events"))["events"] == ["0"]
    assert tables(opened(FakeFace.sample(), "events", kind="Runs", by="page"))["events"] == ["0"]
    assert tables(opened(FakeFace.sample(), "events", by="driver"))["events"] == []


def test_the_time_is_counted_from_now(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "now_ms", lambda: NOW_MS + 2 * 3_600_000.0)
    assert tables(opened(FakeFace.sample(), "events", since="Last hour"))["events"] == []
    assert tables(opened(FakeFace.sample(), "events", since="Last day"))["events"] == ["0", "1", "2"]


def test_older_ones_are_a_click_away_and_the_address_says_where(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "LIMIT", 2)
    app = opened(FakeFace.sample(), "events")
    assert tables(app)["events"] == ["0", "1"]
    app = clicked(app, "older")
    assert selected(app, "before") and tables(app)["events"] == ["0"]
    assert app.button(key="older").disabled
    assert tables(clicked(app, "newest"))["events"] == ["0", "1"]


def test_another_filter_begins_at_the_newest(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "LIMIT", 2)
    app = clicked(opened(FakeFace.sample(), "events"), "older")
    app.selectbox(key="job").select("post_engagement").run()
    assert selected(app, "before") == "" and tables(app)["events"] == ["0"]


def test_a_place_that_is_none_is_said(opened: Opener) -> None:
    assert "events.cursor" in said(opened(FakeFace.sample(), "events", before="yesterday"))


def test_a_job_with_many_events_leads_to_all_of_them(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occurrences, "LIMIT", 1)
    app = opened(FakeFace.sample(), "job", job="post_engagement", tab="Events")
    assert any("All events of this job" in one.proto.label for one in app.get("page_link"))


def test_nothing_yet(opened: Opener) -> None:
    assert "Nothing has happened yet" in said(opened(FakeFace(), "events"))


def test_an_error_is_shown(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    face = FakeFace.sample()
    refusing(monkeypatch, face, ListEvents, Unavailable("catalog.away", "The catalog is away."))
    assert "catalog.away" in said(opened(face, "events"))


@pytest.mark.parametrize(
    ("kind", "tone"),
    [("run.failed", "red"), ("run.killed", "red"), ("savepoint.taken", "blue"), ("run.started", "green"), ("sink.mended", "gray")],
)
def test_tones(kind: str, tone: str) -> None:
    assert events.tone(kind) == tone
