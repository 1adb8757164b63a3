"""A standby answers every question but those to operations, and refuses every change by naming the active server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pipelines.domain.errors import Unavailable
from pipelines.verbs.face import Face
from pipelines.verbs.standby import OF_THE_ACTIVE, Standby
from pipelines.verbs.verb import Asked, Begun, Change
from tests.canned import CannedFace
from tests.verbs.requests import EVERY

ACTIVE = "http://127.0.0.1:8501"


@pytest.mark.parametrize("asked", EVERY.values(), ids=EVERY)
def test_every_verb(asked: Asked[Any]) -> None:
    reached: list[Asked[Any]] = []
    face = CannedFace()
    face.refuses(lambda it: reached.append(it) is None, Unavailable("test.asked", "It was asked", ""))  # type: ignore[func-returns-value]
    standby: Face = Standby(face, lambda: ACTIVE).acting("ci")
    refused = isinstance(asked, (Change, *OF_THE_ACTIVE))
    does: list[Callable[[Any], object]] = [standby.ask]
    if isinstance(asked, Change):
        does = [standby.plan, standby.begin, lambda it: standby.answer(Begun(it))]
    for do in does:
        with pytest.raises(Unavailable) as error:
            do(asked)
        assert error.value.code == ("server.standby" if refused else "test.asked")
        assert not refused or (ACTIVE in error.value.message and error.value.hint == f"Ask {ACTIVE}.")
    assert bool(reached) is not refused


def test_a_standby_of_nobody_says_what_to_do() -> None:
    with pytest.raises(Unavailable, match="is a standby: ") as error:
        Standby(CannedFace(), lambda: "").begin(next(asked for asked in EVERY.values() if isinstance(asked, Change)))
    assert "takes over" in error.value.hint
