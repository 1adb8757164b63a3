"""Replays before anything starts: what is compared, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pipelines.cli import junit
from pipelines.domain.errors import Conflict, Invalid, NotFound, TidemarkError
from pipelines.domain.ids import JobName
from pipelines.domain.replays import SERVER_ENDED, Kind, Outcome, ReplayedPart, outcome
from pipelines.domain.what_ifs import WhatIf
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.replay import ListReplays, RunReplay, ShowReplay
from pipelines.verbs.savepoints import ReadManifest
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.words import replays as words
from pipelines.workspace.replays import parts as replay_parts
from pipelines.workspace.replays.parts import Span
from tests import replayed
from tests.workspace.conftest import NEWEST, House
from tests.workspace.killed_replay import DRIVER, cleaned, goes_on, killed

BEGAN = 9


@pytest.fixture
def span(house: House) -> tuple[str, str]:
    """Two savepoints of a job `a`; the files that its source read are not asked for."""
    run = house.ran("a")
    begun, end = do(house.face, Take("a", BEGAN)).id, do(house.face, Take("a", NEWEST)).id
    (Path(run.checkpoints) / "counts" / "sources").rename(Path(run.checkpoints) / "counts" / "without")
    return begun, end


def refused(house: House, change: RunReplay, error: type[TidemarkError], code: str) -> None:
    with pytest.raises(error, check=lambda raised: raised.code == code):
        house.face.plan(change)


def test_the_plan_says_which_batches_and_what_is_compared(house: House, span: tuple[str, str]) -> None:
    begun, end = span
    plan = house.face.plan(RunReplay(savepoint=begun, end=end))
    assert (dict(plan.began), dict(plan.until)) == ({"counts": BEGAN}, {"counts": NEWEST})
    assert plan.compared == ("output of counts (parquet)", "state of counts / 0 / default") and plan.not_compared == ()
    assert [sink.action for sink in plan.restore.sinks] == ["fresh"]


def test_what_makes_no_sense_is_refused(house: House, span: tuple[str, str]) -> None:
    begun, end = span
    house.ran("other")
    other = do(house.face, Take("other")).id
    refused(house, RunReplay(savepoint=end, end=begun), Conflict, "lockstep.before")
    refused(house, RunReplay(savepoint=begun, end=begun), Conflict, "lockstep.nothing")
    refused(house, RunReplay(savepoint=begun, end=other), Invalid, "lockstep.other_job")
    refused(house, RunReplay(savepoint=begun, end=end, code="x = (\n"), Invalid, "code.syntax")
    refused(house, RunReplay(savepoint=begun, end="sp-none"), NotFound, "savepoint.not_found")
    with pytest.raises(NotFound, check=lambda raised: raised.code == "replay.not_found"):
        house.face.ask(ShowReplay("../jobs/a/job"))


def test_code_that_writes_elsewhere_has_to_be_allowed(house: House, span: tuple[str, str]) -> None:
    manifests = [house.face.ask(ReadManifest(savepoint)) for savepoint in span]
    for sink, is_outside in (("kafka", True), ("foreachBatch", True), ("delta", True), ("orc", False), ("console", False)):
        start, end = (replace(manifest, queries=(replace(manifest.queries[0], sink=sink),)) for manifest in manifests)
        assert bool(replay_parts.outside(Span(start, end))) is is_outside
        able, unable = replay_parts.comparable(house.face.context, Span(start, end))
        assert able == ("state of counts / 0 / default",) and "output of counts" in unable[0]


def test_the_whole_is_different_where_a_part_is() -> None:
    equal, different = (ReplayedPart(Kind.OUTPUT, replayed.COUNTS, "json", kind) for kind in (Outcome.EQUAL, Outcome.DIFFERENT))
    assert (outcome((equal,)), outcome((equal, different))) == (Outcome.EQUAL, Outcome.DIFFERENT)


def test_junit_has_a_case_for_the_run_and_for_each_part() -> None:
    root = ElementTree.fromstring(junit.document(replayed.replay(), lambda part: part.note))
    suite = root[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors"), suite.get("skipped")) == ("4", "1", "0", "1")
    assert next(suite.iter("testcase")).get("name") == "the code runs"
    assert datetime.fromisoformat(suite.get("timestamp", "")).replace(tzinfo=UTC).timestamp() * 1000 == replayed.replay().created_ms
    failed = replace(replayed.replay(), outcome=Outcome.FAILED, parts=(), failure="boom \x01 <&>")
    told = ElementTree.fromstring(junit.document(failed, lambda part: part.note)).find(".//error")
    assert told is not None and told.text == "boom \ufffd <&>"


@pytest.mark.parametrize("document", ["what-if.json", "wanted.json", DRIVER])
def test_a_replay_whose_server_is_killed_has_failed_and_its_fork_is_in_the_trash(
    house: House, span: tuple[str, str], document: str
) -> None:
    pid = killed(house, "replay", *span, document)
    assert house.face.context.files.job_names() == ["a"] and [path.name for path in house.face.layout.jobs.iterdir()] == ["a"]
    (trash,) = house.face.layout.trash.glob("*-replay-*")
    listed = house.face.ask(ListReplays())
    if document == "what-if.json":
        assert listed == []
        return
    (replay,) = listed
    assert (replay.outcome, replay.failure, replay.kept, replay.parts) == (Outcome.FAILED, SERVER_ENDED, False, ())
    assert trash.name.endswith(replay.fork) and (replay.savepoint, replay.end, replay.batches) == (*span, NEWEST - BEGAN)
    assert words.sentence(replay).endswith("not all were replayed: the server ended meanwhile.")
    assert replay.id in cleaned(house)[0] and len(house.face.ask(ListEvents(kind="job.replayed"))) == 1
    assert document != DRIVER or not goes_on(pid)
    house.reopen()
    assert house.face.ask(ShowReplay(replay.id)) == replay and len(cleaned(house)) == 1


def test_a_fork_that_its_replay_keeps_stays_until_it_is_forgotten(house: House, span: tuple[str, str]) -> None:
    context, fork = house.face.context, house.ran("replay-1").job
    replay = replace(replayed.replay(), fork=fork)
    context.files.write(context.layout.what_if_file(fork), WhatIf(replay.id, replace(replay, kept=False)))
    context.files.write(context.layout.replay_file(replay.id), replay)
    house.reopen()
    assert house.face.ask(ShowReplay(replay.id)).kept and not house.face.layout.what_if_file(fork).exists()
    do(house.face, Forget(fork))
    assert not house.face.ask(ShowReplay(replay.id)).kept


def test_a_replay_that_ended_keeps_its_outcome_where_the_server_dies_before_its_fork_is_gone(house: House, span: tuple[str, str]) -> None:
    context, fork = house.face.context, house.ran("replay-1").job
    replay = replace(replayed.replay(), fork=fork, kept=False, outcome=Outcome.EQUAL)
    context.files.write(context.layout.what_if_file(fork), WhatIf(replay.id, replay))
    context.files.write(context.layout.replay_file(replay.id), replay)
    house.reopen()
    assert house.face.ask(ShowReplay(replay.id)) == replay and house.face.context.files.job_names() == ["a"]


def test_a_document_that_is_damaged_keeps_nobody_from_opening(house: House, span: tuple[str, str]) -> None:
    house.face.layout.what_if_file(JobName("a")).write_text("{")
    house.reopen()
    (told,) = house.face.ask(ListEvents(kind="document.malformed"))
    assert house.face.context.files.job_names() == ["a"] and "could not be put away" in told.message
