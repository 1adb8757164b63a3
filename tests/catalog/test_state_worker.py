"""Questions in a process of their own: whatever they ask for, they end, and the memory of who asked does not grow."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psutil
import pytest

from pipelines.catalog import state_worker, states
from pipelines.domain.errors import Invalid, Unavailable
from pipelines.verbs.state import QueryState
from pipelines.workers.pool import Pool
from tests.memory import write_rows


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("rows") / "part-0.parquet"
    write_rows(path, 100)
    return str(path)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    made = Pool(replace(state_worker.TASK, seconds=4))
    yield made
    made.close()


def test_the_answer_is_the_same_as_of_this_process(rows: str, pool: Pool) -> None:
    for asked in (QueryState("sp-1", sort="value.views", limit=7), QueryState("sp-1", sql="SELECT 'ä', [1.5], NULL, 2**90 FROM state")):
        took: dict[str, Any] = {"took_ms": 0.0}
        assert replace(state_worker.query(pool, {states.STATE: [rows]}, asked), **took) == replace(
            states.query({states.STATE: [rows]}, asked), **took
        )


def test_what_is_wrong_with_a_question_is_said_in_the_same_words(rows: str, pool: Pool) -> None:
    with pytest.raises(Invalid) as refused:
        state_worker.query(pool, {states.STATE: [rows]}, QueryState("sp-1", sql="COPY state TO '/tmp/x'"))
    assert refused.value.code == "state.only_select" and refused.value.hint == states.TEACHES
    assert states.teaches(["output"]) == "There is the view output: `SELECT * FROM output` shows the columns."
    assert states.teaches(["a", "b"]).startswith("There are the views a, b: ")


GREEDY = {
    "one huge value": "SELECT repeat('x', 4000000000)",
    "a value that is too long to answer": "SELECT repeat('x', 200000000)",
    "a sort": "SELECT range, repeat('x', 100) FROM range(1000000000000) ORDER BY hash(range)",
    "all pairs": "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range % 7 = b.range % 3",
    "a pattern": "SELECT regexp_matches(repeat('a', 100000000), '(a?){1000}b')",
}


@pytest.mark.parametrize("greedy", GREEDY)
def test_a_greedy_question_ends_and_takes_nothing_of_this_process(greedy: str, rows: str, pool: Pool) -> None:
    before, began = psutil.Process().memory_info().rss, time.monotonic()
    with pytest.raises(Unavailable) as refused:
        state_worker.query(pool, {states.STATE: [rows]}, QueryState("sp-1", sql=GREEDY[greedy]))
    assert time.monotonic() - began < 90 and refused.value.hint
    assert refused.value.code in ("state.timeout", "state.memory", "state.too_large", "catalog.memory")
    assert psutil.Process().memory_info().rss - before < 200_000_000
    assert state_worker.query(pool, {states.STATE: [rows]}, QueryState("sp-1")).matches == 100
