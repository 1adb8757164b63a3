"""The audit on the settings' page, and those who were not let in."""

from __future__ import annotations

import asyncio

import pytest

from dashboard import session
from dashboard.strangers import Strangers
from dashboard.views import audit
from pipelines.domain.access import Caller, Role
from pipelines.domain.audit import Call, Finding, Removed, Result, Verified
from pipelines.verbs.audit import ListAudit, PruneAudit, VerifyAudit
from tests.dashboard.opening import Opener, answered, asked, clicked, column, texts
from tests.faces import FakeFace


def test_an_admin_sees_who_did_what(opened: Opener) -> None:
    face = FakeFace.sample()
    narrowed = {"verb": "stop", "by": "looker", "from": "2027-01-14T02:10:00Z", "sort": "Number.up"}
    app = opened(face, "settings", result="refused", filter="stop", **narrowed)
    assert column(app, "audit", "By") == ["looker for alice"] and column(app, "audit", "From") == ["127.0.0.1"]
    assert column(app, "audit", "Code") == ["access.role"]
    (asked,) = [question for question in face.asked if isinstance(question, ListAudit)]
    since_ms = 1_799_892_600_000
    assert asked == ListAudit(audit.LIMIT, verb="stop", result=Result.REFUSED, actor="looker", text="stop", from_ms=since_ms, sort="at_ms")


def test_nobody_else_does(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "caller", lambda: Caller("ci", Role.AUTHOR))
    face = FakeFace.sample()
    app = opened(face, "settings")
    assert "Takes the role admin; yours is author" in texts(app)
    assert not [question for question in face.asked if isinstance(question, ListAudit)]


def test_the_chain_is_checked_by_a_click(opened: Opener) -> None:
    face = FakeFace.sample()
    app = clicked(opened(face, "settings"), "audit_verify")
    assert "The chain is whole" in texts(app) and "ab" * 32 in texts(app)
    face.answers(VerifyAudit, Verified(2, 2, "cd" * 32, (Finding(1, "number 1 was changed"),)))
    assert "line 1: number 1 was changed" in texts(clicked(opened(face, "settings"), "audit_verify"))
    face.answers(VerifyAudit, Verified(2, 7, "cd" * 32, (), (Removed(1, 5, 1, "ci"),)))
    assert "1 to 5 were removed by ci" in texts(clicked(opened(face, "settings"), "audit_verify"))


def test_old_entries_are_removed_in_a_dialog(opened: Opener) -> None:
    face = FakeFace.sample()
    app = asked(opened(face, "settings"), "audit_prune", pruned_through=5_000)
    assert "entries 1 to 5000" in texts(app)
    answered(app, "audit_prune", "prune_audit_yes")
    assert face.begun == [PruneAudit(5_000)]


def test_strangers_are_counted_and_written_once_a_minute() -> None:
    calls: list[Call] = []
    now_s = 0.0
    strangers = Strangers(calls.append, lambda: now_s)

    def come(count: int, origin: str) -> None:
        for _ in range(count):
            asyncio.run(strangers.refused("access.token", origin))

    come(1_000, "10.0.0.1")
    assert [(call.subject, call.origin) for call in calls] == [("1 request", "10.0.0.1")]
    now_s = 60.0
    come(1, "10.0.0.2")
    assert [(call.subject, call.origin) for call in calls[1:]] == [("1000 requests, the last from here", "10.0.0.2")]
    come(2, "10.0.0.3")
    strangers.end()
    strangers.end()
    assert [(call.subject, call.code, call.result) for call in calls[2:]] == [
        ("2 requests, the last from here", "access.token", Result.REFUSED)
    ]
