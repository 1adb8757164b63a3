"""Sign-outs are kept until their session's time, and no longer; many of them are not endless."""

from __future__ import annotations

import pytest

from pipelines.domain.sessions import Session
from pipelines.storage.layout import SIGN_OUTS
from pipelines.workspace import sign_outs
from pipelines.workspace.sign_outs import KeptSignOuts
from tests.workspace.conftest import House


def session(id: str, until_ms: int) -> Session:
    return Session(id, "https://login.example.org", "tidemark", "1", "ann@example.org", "sre", until_ms)


def test_one_counts_for_every_server_until_its_time(house: House) -> None:
    kept, other = KeptSignOuts(house.face.context), KeptSignOuts(house.face.context)
    kept.add(session("a", 2_000), 1_000)
    assert other.has(session("a", 2_000)) and not other.has(session("b", 2_000)) and not other.has(session("a", 2_001))
    assert "a-" not in "".join(path.name for path in (house.root / SIGN_OUTS).iterdir())
    kept.add(session("b", 5_000), 2_000)
    assert [path.name.partition("-")[0] for path in (house.root / SIGN_OUTS).iterdir()] == ["5000"]


def test_there_are_no_more_than_so_many(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_outs, "MOST", 3)
    kept = KeptSignOuts(house.face.context)
    for at in range(5):
        kept.add(session(str(at), 10_000 + at), 1_000)
    assert [kept.has(session(str(at), 10_000 + at)) for at in range(5)] == [False, False, True, True, True]
