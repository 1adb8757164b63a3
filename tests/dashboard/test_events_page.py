"""What happened: listed, filtered, coloured."""

from __future__ import annotations

import pytest

from dashboard.views import events
from pipelines.domain.errors import Unavailable
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Event
from tests.dashboard.opening import Opener, said, tables
from tests.faces import NOW_MS, FakeFace


def event(kind: str, job: str = "a") -> Event:
    return Event(NOW_MS, kind, JobName(job), "r-1", "it did")


def test_all_events_newest_first(opened: Opener) -> None:
    assert tables(opened(FakeFace.sample(), "events"))["events"] == ["0", "1", "2"]


def test_what_is_chosen_stands_in_the_address(opened: Opener) -> None:
    assert tables(opened(FakeFace.sample(), "events", kind="Savepoints"))["events"] == []
    assert tables(opened(FakeFace.sample(), "events", filter="split"))["events"] == ["0"]
    assert tables(opened(FakeFace.sample(), "events", job="post_events"))["events"] == ["0"]


def test_nothing_yet(opened: Opener) -> None:
    assert "Nothing has happened yet" in said(opened(FakeFace(), "events"))


def test_an_error_is_shown(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(job: str = "", *, limit: int = 200) -> None:
        raise Unavailable("catalog.away", "The catalog is away.")

    face = FakeFace.sample()
    monkeypatch.setattr(face, "events", refuse)
    assert "catalog.away" in said(opened(face, "events"))


@pytest.mark.parametrize(
    ("kind", "tone"),
    [("run.failed", "red"), ("run.killed", "red"), ("savepoint.taken", "blue"), ("run.started", "green"), ("sink.mended", "gray")],
)
def test_tones(kind: str, tone: str) -> None:
    assert events.tone(kind) == tone


def test_kinds_are_grouped() -> None:
    assert events.fits(event("run.started"), "Runs", "")
    assert events.fits(event("run.failed"), "Failures", "a")
    assert not events.fits(event("run.started"), "Failures", "")
    assert events.fits(event("sink.mended"), "Other", "")
    assert not events.fits(event("run.started"), "All", "b")
