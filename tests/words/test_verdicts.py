"""Verdicts in words."""

from __future__ import annotations

from pipelines.domain import verdicts
from pipelines.domain.edges import Edge
from pipelines.domain.ids import QueryName, SavepointId, VersionId
from pipelines.domain.verdicts import Outcome, Part
from pipelines.words import edges
from pipelines.words import verdicts as words


def test_the_reasons_of_a_part_stay_apart_in_one_sentence() -> None:
    reasons = ("computes: v before, w now", "by: a, b before, a now")
    parts = (Part(QueryName("q"), 0, "stateStoreSave", Outcome.CHANGED_MEANING, reasons),)
    told = words.told(verdicts.of(SavepointId("sp-1"), VersionId("v-1"), parts))
    assert told == f"the verdict on its code is 'changed meaning'. q, operator 0 (aggregation): {'; '.join(reasons)}"


def test_an_edges_reason_that_is_a_sentence_ends_with_its_own_stop() -> None:
    reason = "The file a.csv beside the script differs."
    parts = (Part(QueryName("q"), 0, "dedupe", Outcome.CANNOT_TELL, (reason,)),)
    assert edges.lines(Edge(Outcome.CANNOT_TELL, parts=parts)) == [f"q, operator 0 (deduplication): {reason}"]
