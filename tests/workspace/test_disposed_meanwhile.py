"""A savepoint that is disposed of while its verification is written down: the catalog does not list it again."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.errors import NotFound
from pipelines.domain.requests import TakeRequest
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.workspace import savepoints
from tests.workspace.conftest import House


def test_no_row_outlives_its_savepoint(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran()
    taken = house.face.take("a", TakeRequest())
    assert isinstance(taken, Savepoint)
    record = savepoints.record

    def recording(*args: Any) -> None:
        house.face.dispose(taken.id)
        record(*args)

    monkeypatch.setattr(savepoints, "record", recording)
    with pytest.raises(NotFound):
        house.face.verify(taken.id, Trust.INTACT)
    assert list(house.face.savepoints()) == []
    assert list(house.face.layout.savepoints.iterdir()) == []
