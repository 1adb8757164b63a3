"""Input rows of a failed batch: what has none is refused before any Spark."""

from __future__ import annotations

import pytest

from pipelines.domain.errors import Conflict, NotFound
from pipelines.verbs.face import do
from pipelines.verbs.input_rows import ReadInputRows
from tests.workspace.conftest import House


def test_a_job_that_failed_at_no_batch_has_none(house: House) -> None:
    house.ran("bare", "stateless")
    with pytest.raises(Conflict) as none:
        do(house.face, ReadInputRows("bare"))
    assert none.value.code == "input_rows.no_failed_batch" and "did not fail at a batch" in none.value.hint
    with pytest.raises(NotFound):
        do(house.face, ReadInputRows("nobody"))
