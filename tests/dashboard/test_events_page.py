"""What happened: listed, filtered, coloured."""

from __future__ import annotations

import pytest

from dashboard import session
from dashboard.views import events
from dashboard.views.job import occurrences
from pipelines.domain.errors import Invalid, Unavailable
from pipelines.verbs.system import ListEvents
from tests.dashboard.opening import Opener, clicked, column, selected, tables, texts
from tests.faces import NOW_MS, FakeFace

FROM, TO, FROM_MS = "2027-01-14T02:10:00Z", "2027-01-14T02:30:00Z", 1_799_892_600_000


def test_all_events_newest_first(opened: Opener) -> None:
    assert tables(opened(FakeFace.sample(), "events"))["events"] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("address", "question"),
    [
        ({"kind": "Savepoints"}, ListEvents(limit=events.LIMIT, kind="savepoints")),
        ({"filter": "split"}, ListEvents(limit=events.LIMIT, text="split")),
        ({"job": "post_events"}, ListEvents("post_events", events.LIMIT)),
        ({"kind": "Runs", "by": "page"}, ListEvents(limit=events.LIMIT, kind="runs", actor="page")),
        ({"since": "Last hour"}, ListEvents(limit=events.LIMIT, from_ms=NOW_MS - 3_600_000)),
        ({"exact": "run.failed", "by": "alice"}, ListEvents(limit=events.LIMIT, kind="run.failed", actor="alice")),
        ({"from": FROM, "to": TO, "since": "Last day"}, ListEvents(limit=events.LIMIT, from_ms=FROM_MS, to_ms=FROM_MS + 1_200_000)),
        ({"to": TO}, ListEvents(limit=events.LIMIT, to_ms=FROM_MS + 1_200_000)),
        ({"sort": "When.up"}, ListEvents(limit=events.LIMIT, sort="at_ms")),
        ({"sort": "Kind.up"}, ListEvents(limit=events.LIMIT)),
    ],
)
def test_what_is_chosen_stands_in_the_address(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, address: dict[str, str], question: ListEvents
) -> None:
    monkeypatch.setattr(session, "now_ms", lambda: float(NOW_MS))
    face = FakeFace.sample()
    face.answers(question, face.ask(ListEvents())[1:2])
    assert tables(opened(face, "events", **address))["events"] == ["0"]


def test_none_that_fits_is_said(opened: Opener) -> None:
    face = FakeFace.sample()
    face.answers(ListEvents(limit=events.LIMIT, actor="driver"), [])
    assert tables(opened(face, "events", by="driver"))["events"] == []


def paged(monkeypatch: pytest.MonkeyPatch) -> FakeFace:
    """Two events a page, of three."""
    monkeypatch.setattr(events, "LIMIT", 2)
    face = FakeFace.sample()
    every = face.ask(ListEvents())
    face.answers(ListEvents(limit=2, before=every[1].cursor), every[2:])
    return face


def test_older_ones_are_a_click_away_and_the_address_says_where(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(paged(monkeypatch), "events")
    assert tables(app)["events"] == ["0", "1"]
    app = clicked(app, "events_next")
    assert selected(app, "before") and tables(app)["events"] == ["0"]
    assert app.button(key="events_next").disabled
    assert tables(clicked(app, "events_first"))["events"] == ["0", "1"]


def test_a_stretch_of_time_is_typed_and_left_again(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "now_ms", lambda: float(NOW_MS))
    app = opened(FakeFace.sample(), "events")
    app.text_input(key="range_words").set_value("2027-01-14 02:10 to 02:30").run()
    assert (selected(app, "from"), selected(app, "to")) == (FROM, TO)
    assert "2027-01-14 02:10:00 – 02:30:00 UTC · 20m 00s" in texts(app)
    assert not selected(clicked(app, "events_filters_any_time"), "from")


def test_another_column_orders_what_was_read(opened: Opener) -> None:
    jobs = column(opened(FakeFace.sample(), "events", sort="Job.down"), "events", "Job")
    assert jobs == sorted(jobs, reverse=True) and len(set(jobs)) == 3


def test_oldest_first_leads_to_newer_ones(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    face = paged(monkeypatch)
    every = face.ask(ListEvents())
    face.answers(ListEvents(limit=2, sort="at_ms"), every[::-1][:2])
    app = opened(face, "events", sort="When.up")
    assert app.button(key="events_next").label == "Newer" and app.button(key="events_first").label == "Oldest"


def test_another_filter_begins_at_the_newest(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    app = clicked(opened(paged(monkeypatch), "events"), "events_next")
    app.selectbox(key="job").select("post_engagement").run()
    assert selected(app, "before") == "" and tables(app)["events"] == ["0"]


def test_a_place_that_is_none_is_said(opened: Opener) -> None:
    face = FakeFace.sample()
    face.refuses(ListEvents(limit=events.LIMIT, before="yesterday"), Invalid("events.cursor", "It is not the cursor of an event"))
    assert "events.cursor" in texts(opened(face, "events", before="yesterday"))


def test_a_job_with_many_events_leads_to_all_of_them(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occurrences, "LIMIT", 1)
    app = opened(FakeFace.sample(), "job", job="post_engagement", tab="Events")
    assert any("All events of this job" in link.proto.label for link in app.get("page_link"))


def test_nothing_yet(opened: Opener) -> None:
    assert "Nothing has happened yet" in texts(opened(FakeFace(), "events"))


def test_an_error_is_shown(opened: Opener) -> None:
    face = FakeFace.sample()
    face.refuses(ListEvents, Unavailable("catalog.away", "The catalog is away."))
    assert "catalog.away" in texts(opened(face, "events"))


@pytest.mark.parametrize(
    ("kind", "tone"),
    [("run.failed", "red"), ("run.killed", "red"), ("savepoint.taken", "blue"), ("run.started", "green"), ("sink.mended", "gray")],
)
def test_tones(kind: str, tone: str) -> None:
    assert events.tone(kind) == tone
