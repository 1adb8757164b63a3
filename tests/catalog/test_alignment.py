"""Batches of two jobs beside each other: only the event time that both have, equal stretches, the newest run of a batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pipelines.catalog import alignment, progress
from pipelines.catalog.connection import Catalog
from pipelines.domain.ids import JobName, RunId
from tests.catalog.making import batch

MINUTE = 60_000


def ran(job: str, events: list[int], *, query: str = "q", run: str = "r-1", at: int = 0, **values: Any) -> list[Any]:
    """Batches whose greatest event times are these minutes."""
    made = []
    for number, minute in enumerate(events):
        _, _, row, sources = batch(number, at + 1_000 * number, event_max_ms=minute * MINUTE, state_rows=minute, **values)
        made.append((JobName(job), RunId(run), replace(row, query=query), sources))
    return made


def test_only_what_both_saw_counts(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        progress.append(writer, ran("a", list(range(20)), batch_ms=100.0))
        progress.append(writer, ran("b", list(range(10, 30)), run="r-2", batch_ms=150.0))
    with catalog.reading() as reader:
        stretches = alignment.stretches(reader, "a", "b", "q")
    assert len(stretches) == 10
    assert {(stretch["a_batch_ms"], stretch["b_batch_ms"]) for stretch in stretches} == {(100.0, 150.0)}
    assert [stretch["a_state_rows"] for stretch in stretches] == [stretch["b_state_rows"] for stretch in stretches] == list(range(10, 20))


def test_stretches_are_as_many_as_the_fewer_batches_and_average_the_others(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        many = ran("a", list(range(21)))
        progress.append(writer, [(job, run, replace(row, batch_ms=float(row.batch)), s) for job, run, row, s in many])
        progress.append(writer, ran("b", [0, 10, 20], run="r-2"))
    with catalog.reading() as reader:
        stretches = alignment.stretches(reader, "a", "b", "q")
    assert [stretch["a_batch_ms"] for stretch in stretches] == [3.0, 10.0, 17.0]
    assert [stretch["a_state_rows"] for stretch in stretches] == [6, 13, 20]


def test_a_batch_that_ran_again_counts_once_and_other_queries_do_not(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        progress.append(writer, ran("a", [0, 1], batch_ms=900.0))
        progress.append(writer, ran("a", [0, 1], run="r-3", at=50_000, batch_ms=100.0))
        progress.append(writer, ran("a", [0, 1], query="other", batch_ms=5_000.0))
        progress.append(writer, ran("b", [0, 1], run="r-2", batch_ms=100.0))
    with catalog.reading() as reader:
        assert [stretch["a_batch_ms"] for stretch in alignment.stretches(reader, "a", "b", "q")] == [100.0, 100.0]
        assert alignment.shared_query(reader, "a", "b") == "q"
        assert alignment.shared_query(reader, "a", "nobody") == ""
        assert alignment.stretches(reader, "a", "nobody", "q") == []
