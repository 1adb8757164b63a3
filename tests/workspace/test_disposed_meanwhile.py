"""A savepoint that is disposed of while its verification is written down: the catalog does not list it again."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.errors import NotFound
from pipelines.domain.trust import Trust
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.face import do
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from pipelines.workspace import savepoints
from tests.workspace.conftest import House


def test_no_row_outlives_its_savepoint(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran()
    taken = do(house.face, Take("a"))
    record = savepoints.record

    def recording(*args: Any) -> None:
        assert not do(house.face, Dispose((taken.id,))).refused
        record(*args)

    monkeypatch.setattr(savepoints, "record", recording)
    with pytest.raises(NotFound):
        do(house.face, Verify(taken.id, Trust.INTACT))
    assert list(house.face.ask(ListSavepoints())) == []
    assert list(house.face.layout.savepoints.iterdir()) == []
