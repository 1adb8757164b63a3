"""Upgrades of a job that runs, without Spark: what is refused before it stops, and that it goes on as it was where the rest fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.domain import verdicts as domain_verdicts
from pipelines.domain.decisions import Does
from pipelines.domain.errors import Conflict, Incompatible, Invalid, TidemarkError, Unavailable
from pipelines.domain.jobs import Run
from pipelines.domain.operations import OperationState
from pipelines.domain.probations import Stand, Way
from pipelines.domain.runs import QUERIES_FILE, RunState
from pipelines.domain.savepoints import Manifest, Reason
from pipelines.domain.verdicts import Outcome, Part, Verdict
from pipelines.domain.versions import Version
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.verbs.upgrade import Upgrade
from pipelines.workspace import checks, verdicts, versions
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket
from tests.workspace.conftest import CODE, House, newest, stop_as_the_supervisor_would

OTHER = CODE + "# changed\n"


@pytest.fixture
def judges(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """A judge instead of Spark, which finds `outcome`, or drops `dropped`; what it was asked is in `asked`."""
    finds: dict[str, object] = {"outcome": Outcome.SAME, "dropped": (), "asked": []}

    def check(context: Context, manifest: Manifest, version: Version, new: tuple[str, ...], told: object, ticket: Ticket) -> Verdict:
        assert isinstance(finds["outcome"], Outcome) and isinstance(finds["dropped"], tuple) and isinstance(finds["asked"], list)
        finds["asked"].append(manifest.id)
        part = Part("counts", 0, "stateStoreSave", finds["outcome"], ("It keeps other columns.",), dropped=finds["dropped"])
        verdict = domain_verdicts.of(manifest.id, version.id, (part,))
        verdicts.keep(context, manifest, version, new, verdict, {}, {})
        return verdict

    monkeypatch.setattr(checks, "check", check)
    return finds


def upgraded(house: House, change: Upgrade) -> Run:
    """The run that a job goes on with that ran."""
    begun = house.face.begin(change)
    stop_as_the_supervisor_would(house, "a")
    ended = house.face.answer(begun)
    run = newest(house, "a")
    assert (ended.state, ended.kind, ended.job, ended.result) == (OperationState.DONE, "upgrade", "a", run.id)
    return run


def runs_on(house: House, run: Run) -> bool:
    """Whether nothing has become of the job."""
    now = newest(house, "a")
    return (now.id, now.state) == (run.id, RunState.RUNNING) and house.face.context.files.wanted(run.job).stop is None


def test_one_action_stops_it_with_a_savepoint_and_begins_the_changed_code(house: House, judges: dict[str, object]) -> None:
    before = house.ran(state=RunState.RUNNING)
    change = Upgrade("a", code=OTHER, probation_batches=2, check=True)
    plan = house.face.plan(change)
    assert (plan.run, plan.replaces, plan.stops, plan.restore.refusal) == (before.id, before.version, True, None)
    assert [step.does for step in plan.steps] == [Does.CHECK, Does.STOP, Does.RESUME]
    assert "a savepoint that is taken of a now" in plan.steps[0].words and "a runs on untouched" in plan.steps[0].words
    assert plan.restore.probation is not None and plan.restore.probation.way is Way.SAVEPOINT
    assert runs_on(house, before) and not house.face.ask(ListSavepoints("a"))
    run = upgraded(house, change)
    assert (run.state, run.version, run.checkpoints) == (RunState.WANTED, plan.restore.version, before.checkpoints)
    stopped, tried = house.face.ask(ListSavepoints("a"))
    assert (stopped.reason, stopped.label) == (Reason.STOP, f"the last of version {before.version}")
    assert (tried.reason, judges["asked"]) == (Reason.BEFORE_UPGRADE, [tried.id]), "checked once, while it ran"
    probation = house.face.ask(ShowJob("a")).probation
    assert probation is not None and (probation.savepoint, probation.stand) == (stopped.id, Stand.WATCHED)
    message = f"a was upgraded: it goes on as version {run.version}, where it was {before.version}"
    assert message in [event.message for event in house.face.ask(ListEvents("a"))]


@pytest.mark.parametrize(
    ("found", "dropped", "code"),
    [(Outcome.CANNOT_START, (), "code.cannot_start"), (Outcome.PARTLY_KEPT, ("counts.0",), "code.drops")],
)
def test_what_is_refused_leaves_it_running(
    house: House, judges: dict[str, object], found: Outcome, dropped: tuple[str, ...], code: str
) -> None:
    before = house.ran(state=RunState.RUNNING)
    judges["outcome"], judges["dropped"] = found, dropped
    for _ in ("found by a check", "known since"):
        with pytest.raises((Incompatible, Conflict)) as refused:
            do(house.face, Upgrade("a", code=OTHER, check=True))
        assert refused.value.code == code and runs_on(house, before)
    assert isinstance(judges["asked"], list) and len(judges["asked"]) == 1
    plan = house.face.plan(Upgrade("a", code=OTHER, check=True)).restore
    assert plan.refusal is not None and plan.refusal.code == code


def test_what_makes_no_sense_is_refused(house: House) -> None:
    before = house.ran(state=RunState.RUNNING)
    for change, code in (
        (Upgrade("a"), "upgrade.unchanged"),
        (Upgrade("a", code="x = (\n"), "code.syntax"),
        (Upgrade("a", code=OTHER, longest_batch_ms=5), "probation.endless"),
    ):
        with pytest.raises(Invalid) as refused:
            do(house.face, change)
        assert refused.value.code == code
    assert runs_on(house, before)


def writes_to_kafka(house: House) -> Run:
    """A job that runs, whose sink cannot be cut back."""
    run = house.lay(house.begin(), state=RunState.RUNNING)
    queries = house.folder(run) / QUERIES_FILE
    queries.write_text(json.dumps({**json.loads(queries.read_text()), "sink": "kafka", "sink_path": "", "sink_table": "out"}) + "\n")
    house.see(run, RunState.RUNNING)
    return newest(house, "a")


def test_the_check_decides_whether_there_is_a_way_back(house: House, judges: dict[str, object]) -> None:
    before, change = writes_to_kafka(house), Upgrade("a", code=OTHER, probation_batches=2, check=True)
    unchecked = house.face.plan(Upgrade("a", code=OTHER, probation_batches=2, check=False)).restore.refusal
    assert unchecked is not None and unchecked.code == "probation.no_way_back"
    plan = house.face.plan(change)
    assert plan.restore.refusal is None and "the verdict is not same, without which there is no way back" in plan.steps[0].words
    judges["outcome"] = Outcome.CHANGED_MEANING
    with pytest.raises(Conflict, match="'changed meaning', not 'same'"):
        do(house.face, change)
    assert runs_on(house, before)
    judges["outcome"] = Outcome.SAME
    upgraded(house, Upgrade("a", code=f"{OTHER}#\n", probation_batches=2, check=True))
    probation = house.face.ask(ShowJob("a")).probation
    assert probation is not None and probation.way is Way.NEWEST


def test_a_job_goes_on_as_it_was_where_the_new_run_does_not_begin(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    began, freeze = house.ran(state=RunState.RUNNING), versions.freeze

    def fails(context: Context, version: Version, ticket: Ticket) -> Version:
        if version.id != began.version:
            raise Unavailable("disk.full", "The code could not be written.", "Make room.")
        return freeze(context, version, ticket)

    monkeypatch.setattr(versions, "freeze", fails)
    begun = house.face.begin(Upgrade("a", code=OTHER))
    stop_as_the_supervisor_would(house, "a")
    with pytest.raises(Unavailable) as failed:
        house.face.answer(begun)
    assert (failed.value.code, failed.value.message) == ("disk.full", "The code could not be written. a goes on as it was")
    run = newest(house, "a")
    assert (run.state, run.version, run.checkpoints) == (RunState.WANTED, began.version, began.checkpoints) and run.id != began.id


def test_a_job_whose_savepoint_cannot_be_taken_for_the_check_is_not_stopped(house: House, judges: dict[str, object]) -> None:
    ran = house.ran(state=RunState.RUNNING)
    (Path(ran.checkpoints) / "counts" / "offsets" / "13").write_text("v9\n")
    with pytest.raises(TidemarkError):
        do(house.face, Upgrade("a", code=OTHER, check=True))
    assert runs_on(house, ran) and not judges["asked"]


def test_a_job_that_does_not_run_is_resumed(house: House, judges: dict[str, object]) -> None:
    before = house.ran()
    saved = do(house.face, Take("a"))
    change = Upgrade("a", code=OTHER, check=True)
    plan = house.face.plan(change)
    assert not plan.stops and [step.does for step in plan.steps] == [Does.CHECK, Does.RESUME] and saved.id in plan.steps[0].words
    done = do(house.face, change)
    run = newest(house, "a")
    assert (done.result, run.version, judges["asked"]) == (run.id, plan.restore.version, [saved.id])
    house.see(run, RunState.RUNNING)
    assert upgraded(house, Upgrade("a", version=before.version)).version == before.version, "and taken back while it runs"
