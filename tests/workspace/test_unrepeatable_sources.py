"""Sources that cannot give their rows again: said by the plan of a savepoint, by the plans of a fork and a resume, by a verification."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.domain.runs import QUERIES_FILE
from pipelines.domain.trust import Trust
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.resume import Resume
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from pipelines.words import plans, trust
from tests.workspace.conftest import House, query_line


def ran(house: House, *sources: str) -> None:
    """A job whose driver saw these sources."""
    run = house.ran()
    line = json.loads(query_line(str(Path(run.checkpoints) / "counts"), str(house.face.layout.output(run.job) / "counts")))
    house.append(run, QUERIES_FILE, json.dumps({**line, "sources": sources}) + "\n")


@pytest.mark.parametrize(
    ("sources", "says"),
    [
        (("json", "kafka", "rate-micro-batch"), []),
        (("socket",), ["a socket gives no row twice"]),
        (("json", "rate", "rate"), ["follows the clock"]),
        (("rate", "socket"), ["follows the clock", "a socket gives no row twice"]),
    ],
    ids=["all can", "a socket", "a clock, twice", "both"],
)
def test_what_cannot_give_its_rows_again_is_said(house: House, sources: tuple[str, ...], says: list[str]) -> None:
    ran(house, *sources)
    planned = house.face.plan(Take("a"))
    saved = do(house.face, Take("a"))
    verified = do(house.face, Verify(saved.id, Trust.COMPLETE))
    fork, resume = house.face.plan(Fork(saved.id, name="b")), house.face.plan(Resume("a", from_savepoint=saved.id))
    rewind = house.face.plan(Resume("a", batch=saved.batch - 1))
    of_plans = [[warning for warning in plan.warnings if "Query counts" in warning] for plan in (fork, resume, rewind)]
    for remarks in (planned.warnings, verified.remarks, *of_plans):
        assert len(remarks) == len(says) and all(words in remark for words, remark in zip(says, remarks, strict=True)), remarks
    assert [words for title, words in plans.take(planned) if title == "warning"] == list(planned.warnings)
    assert [words for title, words in trust.answer(verified) if title == "remark"] == list(verified.remarks)
    assert verified.reached is Trust.COMPLETE, "it is no damage"
