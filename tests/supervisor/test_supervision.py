"""What is decided about a run, case by case."""

from dataclasses import replace
from typing import Any

import pytest

from pipelines.domain.hosts import LOST
from pipelines.domain.ids import OperationId, RunId
from pipelines.domain.jobs import StopWanted, Wanted
from pipelines.domain.runs import Exit, RunState
from pipelines.domain.supervision import (
    CANCEL_GRACE_MS,
    LINGER_MS,
    SCRIPT_UP_MS,
    STOP_PATIENCE_MS,
    FinishStop,
    Kill,
    RecordExit,
    Restart,
    Seen,
    Start,
    Terminate,
    decide,
    run_state,
)

NOW = 1_000_000
RUN = RunId("r-1")
STOP = StopWanted(at_once=False, savepoint=True, operation=OperationId("o-1"))
CANCEL = StopWanted(at_once=True, savepoint=True, operation=OperationId("o-1"))
NEW = Seen(RUN)
UP = Seen(RUN, started_ms=NOW - 5_000, alive=True)
GONE = Seen(RUN, started_ms=NOW - 5_000)
SAID = Exit("failed", 1, "DIVIDE_BY_ZERO", "by zero", NOW - 100)
WITH_ITS_HOST = "its driver, a process of host b, is gone; nobody was there to see why"
CUT_OFF = Exit("killed", None, LOST, "nothing is heard of its driver, which was a process of host b", NOW)


def ended(reason: Any, code: int | None, message: str) -> RecordExit:
    return RecordExit(Exit(reason, code, "", message, NOW))


CASES = {
    "nothing is wanted": (None, None, None),
    "wanted and never started": (None, NEW, Start()),
    "stopped before it was started": (STOP, NEW, ended("stopped", None, "stopped before it was started")),
    "runs": (None, UP, None),
    "runs, stop asked": (STOP, UP, Terminate()),
    "told to stop, still in its batch": (STOP, replace(UP, terminated_ms=NOW - 60_000), None),
    "told to stop, out of patience": (STOP, replace(UP, terminated_ms=NOW - STOP_PATIENCE_MS), Kill()),
    "cancel asked": (CANCEL, UP, Terminate()),
    "cancelled, in its grace": (CANCEL, replace(UP, terminated_ms=NOW - CANCEL_GRACE_MS + 1), None),
    "cancelled, grace over": (CANCEL, replace(UP, terminated_ms=NOW - CANCEL_GRACE_MS), Kill()),
    "cancel overtakes a stop": (CANCEL, replace(UP, terminated_ms=NOW - 60_000), Kill()),
    "wrote its exit and goes": (None, replace(UP, exit=SAID), None),
    "wrote its exit and does not go": (None, replace(UP, exit=replace(SAID, at_ms=NOW - LINGER_MS)), Kill()),
    "gone with its exit": (None, replace(GONE, exit=SAID), RecordExit(SAID)),
    "gone with its exit, Spark goes after it": (None, replace(GONE, exit=SAID, remains=True), None),
    "gone with its exit, Spark does not go": (None, replace(GONE, exit=replace(SAID, at_ms=NOW - LINGER_MS), remains=True), Kill()),
    "gone without a word, Spark lives on": (None, replace(GONE, remains=True), Kill()),
    "lives on another host": (None, replace(UP, elsewhere="b"), None),
    "lives on another host, stop asked": (STOP, replace(UP, elsewhere="b"), Terminate()),
    "lives on another host, out of patience": (STOP, replace(UP, elsewhere="b", terminated_ms=NOW - STOP_PATIENCE_MS), None),
    "lives on another host, cancelled": (CANCEL, replace(UP, elsewhere="b", terminated_ms=NOW - CANCEL_GRACE_MS), None),
    "of another host, said its end": (None, replace(UP, elsewhere="b", exit=replace(SAID, at_ms=NOW - LINGER_MS)), None),
    "gone with another host": (None, replace(GONE, elsewhere="b"), ended("killed", None, WITH_ITS_HOST)),
    "gone with another host, stop asked": (STOP, replace(GONE, elsewhere="b"), ended("stopped", None, WITH_ITS_HOST)),
    "another host is cut off": (None, replace(GONE, elsewhere="b", is_lost=True), RecordExit(CUT_OFF)),
    "another host is cut off, stop asked": (STOP, replace(GONE, elsewhere="b", is_lost=True), ended("stopped", None, WITH_ITS_HOST)),
    "another host is cut off, it had said its end": (None, replace(GONE, elsewhere="b", is_lost=True, exit=SAID), RecordExit(SAID)),
    "killed": (None, replace(GONE, return_code=-9), ended("killed", -9, "the driver was ended by signal 9")),
    "ended by SIGSEGV": (None, replace(GONE, return_code=-11), ended("killed", -11, "the driver was ended by signal 11")),
    "gone while nobody looked": (
        None,
        GONE,
        ended("killed", None, "the driver was ended by something outside (nobody was there to see it)"),
    ),
    "left with a code and no word": (
        None,
        replace(GONE, return_code=3),
        ended("failed", 3, "the driver ended with exit code 3; its log says why"),
    ),
    "left in peace and without a word": (None, replace(GONE, return_code=0), ended("finished", 0, "")),
    "cancelled and killed by us": (
        CANCEL,
        replace(GONE, return_code=-9, terminated_ms=NOW - 2_000),
        ended("stopped", -9, "cancelled by signal 9"),
    ),
    "cancelled, and began under another server": (
        CANCEL,
        replace(GONE, terminated_ms=NOW - 2_000),
        ended("stopped", None, "cancelled"),
    ),
    "stop asked, died before it was told": (
        STOP,
        replace(GONE, return_code=-11),
        ended("killed", -11, "the driver was ended by signal 11"),
    ),
    "settled, its restart is due": (None, replace(GONE, exit=SAID, settled=True, restart_ms=NOW), Restart()),
    "settled, its restart waits": (None, replace(GONE, exit=SAID, settled=True, restart_ms=NOW + 1), None),
    "settled, its restart is due and a stop was asked": (
        STOP,
        replace(GONE, exit=SAID, settled=True, restart_ms=NOW),
        FinishStop(STOP, savepoint=True),
    ),
    "settled": (None, replace(GONE, exit=SAID, settled=True), None),
    "settled, stop to finish": (STOP, replace(GONE, exit=SAID, settled=True), FinishStop(STOP, savepoint=True)),
    "settled, cancel to finish": (CANCEL, replace(GONE, exit=SAID, settled=True), FinishStop(CANCEL, savepoint=False)),
    "exit without a process on record": (None, replace(NEW, exit=SAID), RecordExit(SAID)),
}


@pytest.mark.parametrize(("stop", "seen", "action"), CASES.values(), ids=CASES.keys())
def test_decide(stop, seen, action):
    assert decide(Wanted(RUN, stop), seen, NOW) == action


STATES = {
    "wanted": (None, NEW, RunState.WANTED),
    "starting": (None, UP, RunState.STARTING),
    "its query is up": (None, replace(UP, queries_up=True), RunState.RUNNING),
    "a script without queries, just up": (None, replace(UP, streams=False, started_ms=NOW - SCRIPT_UP_MS + 1), RunState.STARTING),
    "a script without queries": (None, replace(UP, streams=False), RunState.RUNNING),
    "stopping": (STOP, replace(UP, queries_up=True), RunState.STOPPING),
    "exit written, process not gone": (None, replace(UP, queries_up=True, exit=SAID), RunState.RUNNING),
    "failed": (None, replace(GONE, exit=SAID), RunState.FAILED),
    "killed": (None, replace(GONE, exit=replace(SAID, reason="killed")), RunState.FAILED),
    "stopped": (STOP, replace(GONE, exit=replace(SAID, reason="stopped")), RunState.STOPPED),
    "finished": (None, replace(GONE, exit=replace(SAID, reason="finished")), RunState.FINISHED),
}


@pytest.mark.parametrize(("stop", "seen", "state"), STATES.values(), ids=STATES.keys())
def test_run_state(stop, seen, state):
    assert run_state(Wanted(RUN, stop), seen, NOW) is state


def test_a_stop_of_another_run_does_not_concern_this_one():
    assert run_state(Wanted(RunId("r-2"), STOP), replace(UP, queries_up=True), NOW) is RunState.RUNNING
