"""Probations: for how long changed code is watched, which way back there is, and what it must not miss."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.domain.errors import Conflict, Invalid
from pipelines.domain.ids import OperationId, QueryName, RunId, SavepointId, VersionId
from pipelines.domain.jobs import StopWanted, Wanted
from pipelines.domain.probations import MISSED, Probation, Seen, Stand, Terms, Took, Way, is_over, missed, terms, way
from pipelines.domain.restarts import RestartDecision
from pipelines.domain.runs import Exit
from pipelines.domain.supervision import CANCEL_GRACE_MS, STOP_PATIENCE_MS, Kill, RecordExit, Terminate, decide
from pipelines.domain.supervision import Seen as SeenRun
from pipelines.domain.verdicts import Outcome, Verdict
from pipelines.words import probations as words

COUNTS, TOTALS = QueryName("counts"), QueryName("totals")
RUN, OLD = RunId("r-1"), VersionId("v-1")
KAFKA = ["the kafka of counts"]
STOP = StopWanted(at_once=False, savepoint=True, operation=OperationId("o-1"))


def verdict(outcome: Outcome) -> Verdict:
    return Verdict(SavepointId("sp-1"), VersionId("v-2"), outcome, ())


def seen(**ended: int) -> Seen:
    return Seen(60_000, 0, {QueryName(query): count for query, count in ended.items()})


def test_nothing_asked_for_is_no_probation_and_a_limit_alone_never_ends() -> None:
    assert terms(None, None, None) is None
    assert terms(3, None, 500) == Terms(3, None, 500)
    with pytest.raises(Invalid, match="how long") as error:
        terms(None, None, 500)
    assert error.value.code == "probation.endless"


@pytest.mark.parametrize(
    ("uncut", "outcome", "facts", "expected"),
    [
        ([], None, {}, Way.SAVEPOINT),
        ([], Outcome.CHANGED_MEANING, {"rewritten": True}, Way.SAVEPOINT),
        (KAFKA, Outcome.SAME, {}, Way.NEWEST),
        ([], Outcome.SAME, {"unsaved": "the disk is full"}, Way.NEWEST),
        (KAFKA, None, {}, "nobody has checked"),
        (KAFKA, Outcome.CHANGED_MEANING, {}, "the kafka of counts cannot be cut back, and the verdict on this code is 'changed meaning'"),
        (KAFKA, Outcome.CANNOT_TELL, {}, "'cannot tell', not 'same'"),
        (KAFKA, Outcome.SAME, {"rewritten": True}, "cannot go on with what becomes of the state"),
        ([], None, {"unsaved": "it has no batch"}, "there is no savepoint before it .it has no batch., and nobody has checked"),
    ],
)
def test_the_way_back_is_the_savepoint_else_the_newest_batch_else_none(
    uncut: list[str], outcome: Outcome | None, facts: dict[str, object], expected: Way | str
) -> None:
    judged = verdict(outcome) if outcome else None
    if isinstance(expected, Way):
        assert way(uncut, judged, **facts) is expected  # type: ignore[arg-type]
        return
    with pytest.raises(Conflict, match=expected) as error:
        way(uncut, judged, **facts)  # type: ignore[arg-type]
    assert error.value.code == "probation.no_way_back"
    assert error.value.hint.startswith(
        "Ask again once a savepoint of the job can be taken." if facts.get("unsaved") else ("Check", "Leave")
    )


@pytest.mark.parametrize(
    ("asked", "stands", "over"),
    [
        (Terms(batches=3), seen(), False),
        (Terms(batches=3), seen(counts=3), True),
        (Terms(batches=3), seen(counts=9, totals=2), False),
        (Terms(time_ms=60_000), seen(counts=0), True),
        (Terms(time_ms=60_001), seen(counts=9), False),
        (Terms(time_ms=1), replace(seen(), began_ms=None), False),
        (Terms(batches=9, time_ms=60_000), seen(counts=1), True),
        (Terms(batches=1, time_ms=90_000), seen(counts=1), True),
    ],
)
def test_it_is_over_after_the_batches_of_each_query_or_the_time(asked: Terms, stands: Seen, over: bool) -> None:
    assert is_over(asked, stands) is over


def test_a_batch_that_took_longer_or_takes_longer_is_missed() -> None:
    asked, long = Terms(batches=3, longest_batch_ms=500), Took(COUNTS, 1_007, 501)
    assert missed(asked, seen(counts=2)) == ""
    assert missed(asked, replace(seen(), too_long=(long,))) == "batch 1,007 of counts took 501 ms, more than 500 ms"
    assert missed(asked, replace(seen(), under_way=(long,))) == "batch 1,007 of counts took 501 ms so far, more than 500 ms"
    assert missed(asked, replace(seen(), under_way=(replace(long, ms=500),))) == ""
    assert missed(Terms(batches=3), replace(seen(), too_long=(long,))) == ""


def test_a_run_that_missed_a_limit_is_ended_and_has_failed() -> None:
    wanted, run = Wanted(RUN), SeenRun(RUN, 1, alive=True, missed="batch 7 took too long")
    assert decide(wanted, run, 10) == Terminate()
    told = replace(run, terminated_ms=10)
    assert decide(wanted, told, 10 + CANCEL_GRACE_MS) is None
    assert decide(wanted, told, 10 + STOP_PATIENCE_MS) == Kill()
    assert decide(wanted, replace(told, is_cut_back=True), 10 + CANCEL_GRACE_MS) == Kill()
    gone = replace(told, alive=False, exit=Exit("stopped", 0, "", "", 20))
    ended = decide(wanted, gone, 30)
    assert isinstance(ended, RecordExit) and (ended.exit.reason, ended.exit.error_class) == ("failed", MISSED)
    assert decide(Wanted(RUN, STOP), gone, 30) == RecordExit(Exit("stopped", 0, "", "", 20)), "who stops it does not want it to go back"


def test_it_is_said_in_words() -> None:
    probation = Probation(Terms(3, 600_000, 30_000), Way.SAVEPOINT, OLD, SavepointId("sp-1"))
    assert words.plan(probation) == [
        ("on probation", "its first 3 batches or 10m 00s, no batch longer than 30.0 s"),
        ("goes back", "to version v-1, to the savepoint before it, and what it wrote is cut from the output"),
    ]
    newest = Probation(Terms(time_ms=60_000), Way.NEWEST, OLD, stand=Stand.WATCHED)
    where = "goes back to version v-1 where it fails in its first 1m 00s"
    assert words.stand(newest) == f"{where}: on from its newest batch, and what it wrote stays"
    assert words.stand(replace(newest, stand=Stand.BACK, why="batch 7 of counts failed: X")) == "failed: batch 7 of counts failed: X"
    decision = RestartDecision(10, why="batch 7 of counts failed: X", back=OLD)
    assert words.decision(decision, goes_on=False) == "went back to version v-1: batch 7 of counts failed: X"
    assert words.decision(replace(decision, at_ms=None), goes_on=False).startswith("did not go back to version v-1")
