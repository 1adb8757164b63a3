"""Restarts in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.domain.ids import QueryName, VersionId
from pipelines.domain.jobs import Run
from pipelines.domain.restarts import FailedBatch, RestartDecision, SourceSpan
from pipelines.domain.runs import Exit, RunState
from pipelines.words import restarts
from tests import samples
from tests.faces import NOW_MS

FILES = SourceSpan("FileStreamSource[file:/in]", "", '{"logOffset":0}', 2, "files", ("file:/in/a.json",))
KAFKA = SourceSpan("KafkaV2", '{"clicks":{"0":10,"1":5}}', '{"clicks":{"0":20,"1":7}}', 12)
OTHER = SourceSpan("RateStream", "4", "5")
POISON = RestartDecision(None, why="it failed", batch=FailedBatch(QueryName("counts"), 7, (FILES, KAFKA)), poison=3)


def failed(decision: RestartDecision | None, state: RunState = RunState.FAILED) -> Run:
    return replace(samples.run("r-1", "clicks", VersionId("v-1"), state), restart=decision)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (failed(None), ""),
        (failed(POISON), "not restarted: it failed"),
        (failed(RestartDecision(NOW_MS - 1, 2, 5)), "restarted, attempt 2 of 5"),
        (failed(RestartDecision(NOW_MS + 40_000, 3), RunState.RESTARTING), "restarting in 40.0 s, attempt 3"),
        (failed(RestartDecision(NOW_MS - 1, 3), RunState.RESTARTING), "restarting now, attempt 3"),
        (failed(RestartDecision(NOW_MS - 1, 3, why="it is away"), RunState.RESTARTING), "restarting now, attempt 3: it is away"),
    ],
)
def test_what_came_of_a_failure(run: Run, words: str) -> None:
    assert restarts.next_step(run, NOW_MS) == words


@pytest.mark.parametrize(
    ("error_class", "message", "words"),
    [
        ("DIVIDE_BY_ZERO", "query counts: [DIVIDE_BY_ZERO] Division by zero\nmore", "[DIVIDE_BY_ZERO] Division by zero"),
        ("PYTHON_EXCEPTION", "query q: [PYTHON_EXCEPTION] It threw:\nKeyError: 'T7'", "[PYTHON_EXCEPTION] It threw: KeyError: 'T7'"),
        ("RuntimeError", "not yet", "[RuntimeError] not yet"),
        ("", "the driver was ended by signal 9", "the driver was ended by signal 9"),
    ],
)
def test_a_cause_begins_with_sparks_error_class(error_class: str, message: str, words: str) -> None:
    assert restarts.cause(Exit("failed", 1, error_class, message, NOW_MS)) == words


def test_what_a_batch_reads() -> None:
    assert restarts.span(FILES) == "the beginning → entry 0 of the file log, 2 files"
    assert restarts.span(KAFKA) == "clicks: 15 in 2 partitions → clicks: 27 in 2 partitions, 12 rows"
    assert restarts.span(OTHER) == "4 → 5"
    assert restarts.span(replace(KAFKA, at_most=True)).endswith(", at most 12 rows")


def test_a_poison_batch_is_said_with_what_can_be_done() -> None:
    fields = dict(restarts.poison(failed(POISON)))
    assert fields["poison batch"] == "counts failed 3 times in a row at batch 7"
    assert fields["it reads of KafkaV2"] == restarts.span(KAFKA)
    assert "resume clicks --code FILE" in fields["commands"] and fields["commands"].endswith("or resume clicks --past-batch")
    assert "leave the whole batch out" in fields["what to do"]
    assert restarts.poison(failed(RestartDecision(NOW_MS, 1, batch=POISON.batch))) == []
    first = dict(restarts.poison(failed(replace(POISON, batch=FailedBatch(QueryName("counts"), 0)))))
    assert first["commands"] == "resume clicks --code FILE; or resume clicks" and "no state before it" in first["what to do"]
