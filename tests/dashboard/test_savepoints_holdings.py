"""Savepoints that can or can no longer be used: in the table, on the card, and asked anew."""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain.holdings import HOLDINGS_FORMAT, Holding, Holdings, Usable
from pipelines.domain.ids import QueryName
from pipelines.verbs.holdings import AskHoldings
from tests.dashboard.opening import Opener, clicked, column, texts
from tests.faces import NOW_MS, FakeFace

FIRST = "sp-000000000002"

GONE = Holding(QueryName("counts"), "0", Usable.NO, "2 of the 3 files are gone", gone=2, gaps=("file:///in/<b>.json",))


def face_with(*sources: Holding) -> FakeFace:
    face = FakeFace.sample()
    held = Holdings(HOLDINGS_FORMAT, face.savepoints_by_id[FIRST].id, NOW_MS, sources, NOW_MS)
    face.savepoints_by_id[FIRST] = replace(face.savepoints_by_id[FIRST], holdings=held)
    return face


def test_the_table_and_the_card_say_it(opened: Opener) -> None:
    app = opened(face_with(GONE), "savepoints", savepoint=FIRST)
    assert sorted(set(column(app, "savepoints", "Usable"))) == ["no longer: 2 files gone", "not asked yet"]
    assert "such as file:///in/&lt;b&gt;.json" in texts(app)


def test_its_sources_are_asked_anew(opened: Opener) -> None:
    face = face_with(replace(GONE, usable=Usable.YES, gone=0, gaps=()))
    app = opened(face, "savepoints", savepoint=FIRST)
    clicked(app, "holdings_catalog")
    assert face.begun == [AskHoldings(FIRST)]
