"""A trial whose search for an example key dies: its rows are there all the same, and why it has no example."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.sandbox.readings import Far
from pipelines.verbs.check import Check
from pipelines.verbs.face import do
from pipelines.verbs.try_code import TryCode
from pipelines.workspace import states
from tests.long.test_migrations import end_work
from tests.workspace.conftest import House, house
from tests.workspace.test_checks import CODE, saved

__all__ = ["house"]
pytestmark = [pytest.mark.long, pytest.mark.spark]
COUNTS = CODE.replace('F.sum("n")', 'F.count("n")')


def test_its_rows_are_shown_where_the_search_for_a_key_dies(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    savepoint = saved(house, tmp_path)
    (tmp_path / "input" / "1.json").write_text(json.dumps({"post": "p1", "ts": "2026-01-01T00:35:00Z", "n": 10}))
    do(house.face, Check(savepoint.id, code=COUNTS))
    ended = list[str]()

    def follow(ticket: Any) -> Any:
        def watch(far: Far) -> None:
            if far.step == "looking for an example key":
                ended.append(far.step)
                end_work(house)

        return watch

    monkeypatch.setattr(states, "follow", follow)
    trial = do(house.face, TryCode(savepoint.id, code=COUNTS))
    assert ended
    assert (trial.note, trial.failed, len(trial.queries)) == ("", False, 1)
    (meaning,) = trial.meanings
    assert meaning.example is None and "ended without a word" in meaning.sentence, meaning
    assert not any(house.face.layout.sandbox.iterdir())
