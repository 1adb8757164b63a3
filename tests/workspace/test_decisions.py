"""Promotions and drops: what they will do, what they do, what refuses them, and that the experiment keeps them."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.checkpoint import metadata
from pipelines.domain import verdicts
from pipelines.domain.decisions import Choice, StateFrom
from pipelines.domain.delta_commits import Back
from pipelines.domain.edges import Edge
from pipelines.domain.errors import Conflict, Incompatible, Invalid, NotFound, TidemarkError, Unavailable
from pipelines.domain.experiments import Experiment
from pipelines.domain.ids import OperationId
from pipelines.domain.jobs import Job, Run, StopWanted, Wanted
from pipelines.domain.operations import OperationState
from pipelines.domain.runs import QUERIES_FILE, RunState
from pipelines.domain.savepoints import Reason
from pipelines.domain.verdicts import Outcome, Part
from pipelines.domain.versions import Version
from pipelines.driver import delta_back
from pipelines.verbs.drop import Drop, Undrop
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.experiments import ShowExperiment, ShowVersion
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.fork import Variant
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.promote import Promote
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest, ShowSavepoint
from pipelines.verbs.system import ListEvents, RebuildCatalog
from pipelines.verbs.take import Take
from pipelines.workspace import forks, operations, scripts, versions
from pipelines.workspace import verdicts as known
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket
from tests import delta
from tests.savepoint.golden import lay_checkpoint
from tests.workspace.conftest import CODE, NEWEST, House, newest, query_line, stop_as_the_supervisor_would

CHANGED = CODE + "x = 1\n"


def experiment(house: House, state: RunState = RunState.STOPPED, *, begun: bool = True) -> Experiment:
    """Job a with a savepoint, and two variants of it: `same` and `split`, which has other code; the parent is in `state`."""
    house.ran(state=state)
    return forked(house, begun=begun)


def forked(house: House, *, begun: bool = True) -> Experiment:
    saved = do(house.face, Take("a"))
    split = Variant(name="split", code=CHANGED, script="split.py", check=False)
    made = do(house.face, StartExperiment("ads", saved.id, (Variant(name="same"), split)))
    for name in ("same", "split") if begun else ():
        run = newest(house, name)
        house.append(run, QUERIES_FILE, query_line(f"{run.checkpoints}/counts", str(house.face.layout.output(run.job) / "counts")))
        house.see(run, RunState.STOPPED)
    return made


def test_a_dry_run_says_each_step_and_does_nothing(house: House) -> None:
    made = experiment(house, RunState.RUNNING)
    plan = house.face.plan(Promote("split"))
    assert (plan.job, plan.parent, plan.experiment, plan.stops) == ("split", "a", made.id, True)
    assert (plan.added, plan.removed, plan.warnings) == (1, 0, ())
    assert plan.steps[0].words == "a stops at its next batch boundary, with a savepoint."
    assert plan.version == newest(house, "split").version and plan.replaces == newest(house, "a").version
    assert (plan.verdict, plan.judged) == (None, made.savepoint), "nobody has checked that code on the parent's state"
    verdict = verdicts.of(made.savepoint, plan.version, (Part("counts", 0, "dedupe", Outcome.CHANGED_MEANING, ("a filter",)),))
    manifest, version = house.face.ask(ReadManifest(made.savepoint)), house.face.ask(ShowVersion(plan.version))
    known.keep(house.face.context, manifest, version, (), verdict, {}, {})
    assert house.face.plan(Promote("split")).verdict == verdict
    for state in (StateFrom.PRESENT, StateFrom.SAVEPOINT):
        with pytest.raises(Invalid, match=r"no counts\.7") as unknown:
            house.face.plan(Promote("split", state, drop=("counts.7",)))
        assert unknown.value.code == "drop.unknown" and "counts.0" in unknown.value.hint
        migrated = house.face.plan(Promote("split", state, migrate={"columns": ""}))
        does = ["stop", "rewrite", "resume", "record"]
        assert [step.does for step in migrated.steps] == does and "a goes on as it was" in migrated.steps[1].words
        assert migrated.restore is not None and migrated.restore.migration is not None and migrated.restore.migration.bytes > 0
        assert migrated.restore.saves == (("before its state was migrated",) if state is StateFrom.PRESENT else ())
    with pytest.raises(Invalid) as fits:
        house.face.plan(Promote("split", StateFrom.VARIANT, migrate={"columns": ""}))
    assert fits.value.code == "promote.migrate"
    back = house.face.plan(Promote("split", StateFrom.SAVEPOINT)).restore
    assert back is not None and back.verdict == verdict
    assert plan.steps[-1].words.startswith("The decision is kept; split does not run (")
    dropped = house.face.plan(Drop("split"))
    assert not dropped.stops and "marked as dropped" in dropped.steps[0].words
    assert house.face.ask(ShowExperiment(made.id)).decisions == ()
    assert len(house.face.ask(ShowJob("a")).runs) == 1
    house.see(newest(house, "split"), RunState.RUNNING)
    assert house.face.plan(Promote("split")).steps[-1].words.endswith("split runs on until it is dropped or stopped.")


def test_a_running_parent_is_stopped_with_a_savepoint_and_goes_on_with_the_variants_version(house: House) -> None:
    made = experiment(house, RunState.RUNNING)
    part = Part("counts", 0, "dedupe", Outcome.CHANGED_MEANING, ("a filter",))
    manifest, plan = house.face.ask(ReadManifest(made.savepoint)), house.face.plan(Promote("split", check=False))
    verdict = verdicts.of(made.savepoint, plan.version, (part,))
    known.keep(house.face.context, manifest, house.face.ask(ShowVersion(plan.version)), (), verdict, {}, {})
    begun = house.face.begin(Promote("split", check=False))
    stop_as_the_supervisor_would(house, "a")
    ended = house.face.answer(begun)
    assert (ended.state, ended.kind, ended.job, ended.subject) == (OperationState.DONE, "promote", "a", "split")
    run = newest(house, "a")
    assert (ended.result, run.state, run.version) == (run.id, RunState.WANTED, newest(house, "split").version)
    assert run.edge == Edge(Outcome.CHANGED_MEANING, made.savepoint, (part,)), "whatever savepoint the stop has left"
    assert run.checkpoints == house.face.ask(ShowJob("a")).runs[1].checkpoints
    (decided,) = house.face.ask(ShowExperiment(made.id)).decisions
    assert (decided.job, decided.choice, decided.parent, decided.run) == ("split", Choice.PROMOTED, "a", run.id)
    saved = house.face.ask(ShowSavepoint(decided.savepoint or ""))
    assert (saved.job, saved.reason, saved.label) == ("a", Reason.STOP, "before split was promoted")
    assert "split was promoted" in house.face.ask(ListEvents("a"))[0].message
    do(house.reopen(), RebuildCatalog())
    assert house.face.ask(ShowExperiment(made.id)).decisions == (decided,)


def test_a_parent_goes_on_as_it_was_where_its_upgrade_fails(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    made, began = experiment(house, RunState.RUNNING), newest(house, "a")
    freeze = versions.freeze

    def fails(context: Context, version: Version, ticket: Ticket) -> Version:
        if version.id != began.version:
            raise Unavailable("state.unreadable", "The state could not be rewritten.", "Look at the log.")
        return freeze(context, version, ticket)

    monkeypatch.setattr(versions, "freeze", fails)
    begun = house.face.begin(Promote("split"))
    stop_as_the_supervisor_would(house, "a")
    with pytest.raises(Unavailable) as failed:
        house.face.answer(begun)
    assert (failed.value.code, failed.value.message) == ("state.unreadable", "The state could not be rewritten. a goes on as it was")
    run = newest(house, "a")
    assert (run.state, run.version, run.checkpoints) == (RunState.WANTED, began.version, began.checkpoints) and run.id != began.id
    assert house.face.ask(ShowExperiment(made.id)).decisions == ()


def test_a_parent_whose_savepoint_fails_goes_on_as_it_was(house: House) -> None:
    made, began = experiment(house, RunState.RUNNING), newest(house, "a")
    begun = house.face.begin(Promote("split"))
    shutil.rmtree(Path(began.checkpoints) / "counts" / "state")
    stop_as_the_supervisor_would(house, "a")
    with pytest.raises(TidemarkError, match=r"without a savepoint.* a goes on as it was"):
        house.face.answer(begun)
    run = newest(house, "a")
    assert (run.state, run.version, run.checkpoints) == (RunState.WANTED, began.version, began.checkpoints) and run.id != began.id
    assert house.face.ask(ShowExperiment(made.id)).decisions == ()


@pytest.mark.parametrize("state", [StateFrom.PRESENT, StateFrom.SAVEPOINT])
def test_code_that_is_known_not_to_start_is_not_promoted(house: House, state: StateFrom) -> None:
    made, began = experiment(house, RunState.RUNNING), newest(house, "a")
    version = house.face.ask(ShowVersion(newest(house, "split").version))
    part = Part("counts", 0, "dedupe", Outcome.NEEDS_REWRITING, ("Other columns.",), "Migrate it.")
    manifest = house.face.ask(ReadManifest(made.savepoint))
    known.keep(house.face.context, manifest, version, (), verdicts.of(made.savepoint, version.id, (part,)), {}, {})
    refusal = house.face.plan(Promote("split", state)).refusal
    assert refusal is not None and refusal.code == "code.cannot_start"
    assert refusal.hint == "Migrate it. To have a begin with it all the same, resume it: --code FILE --force."
    with pytest.raises(Incompatible, match="Other columns"):
        do(house.face, Promote("split", state))
    assert newest(house, "a") == began and house.face.context.files.wanted(began.job).stop is None, "nothing was stopped for it"
    assert house.face.plan(Promote("split", state, migrate={"columns": ""})).refusal is None


def test_a_verb_without_drop_names_the_one_that_has_it(house: House) -> None:
    made = experiment(house)
    begin = RunScript(name="c", script="job.py", code=CODE, args=("--output", "{output}", "x"), from_savepoint=made.savepoint)
    manifest = house.face.ask(ReadManifest(made.savepoint))
    version = forks.plan_fork(house.face.context, scripts._fork(house.face.context, begin)).version
    part = Part("counts", 0, "dedupe", Outcome.PARTLY_KEPT, ("it is gone",), dropped=("counts.0",))
    known.keep(house.face.context, manifest, version, (), verdicts.of(made.savepoint, version.id, (part,)), {}, {})
    restore = house.face.plan(begin).restore
    assert restore is not None and restore.refusal is not None and restore.refusal.code == "code.drops"
    assert restore.refusal.hint.endswith("fork SAVEPOINT --code FILE --drop counts.0.")


def test_from_the_savepoint_all_since_is_done_again(house: House) -> None:
    made = experiment(house)
    plan = house.face.plan(Promote("split", state=StateFrom.SAVEPOINT))
    assert plan.restore is not None and plan.restore.savepoint == made.savepoint
    assert "goes back to savepoint" in plan.steps[0].words
    do(house.face, Promote("split", state=StateFrom.SAVEPOINT))
    run = newest(house, "a")
    assert run.from_savepoint == made.savepoint and run.version == newest(house, "split").version


def test_a_table_that_remembers_its_batches_is_not_gone_back_on(house: House) -> None:
    run = house.begin()
    table, checkpoint = house.face.layout.output(run.job) / "counts", f"{run.checkpoints}/counts"
    lay_checkpoint("rocksdb_format2", Path(checkpoint))
    line = {**json.loads(query_line(checkpoint, "")), "sink": "delta", "sink_table": str(table)}
    house.append(run, QUERIES_FILE, json.dumps(line) + "\n")
    house.see(run, RunState.STOPPED)
    forked(house)
    with pytest.raises(Conflict, match="would skip batches") as refused:
        house.face.plan(Promote("split", state=StateFrom.SAVEPOINT))
    assert refused.value.code == "sink.remembers" and "--state present" in refused.value.hint
    assert house.face.plan(Promote("split")).refusal is None


def with_tables(house: House, lake: Path) -> tuple[Experiment, str]:
    """Job a, which writes to a Delta table, and its variant `split`, which has one of its own and has written a batch more; the id of a's
    query."""
    run = house.begin()
    table, checkpoint = lake / "counts", Path(run.checkpoints) / "counts"
    lay_checkpoint("rocksdb_format2", checkpoint)
    query = metadata.parse((checkpoint / "metadata").read_bytes()).query_id
    for number in range(NEWEST + 1):
        delta.commit(
            table, number, [*([delta.described()] if number == 0 else []), *delta.batch(number, delta.add(f"p-{number}"), query=query)]
        )
    line = {**json.loads(query_line(str(checkpoint), "")), "query_id": query, "sink": "delta", "sink_table": str(table)}
    house.append(run, QUERIES_FILE, json.dumps(line) + "\n")
    house.see(run, RunState.STOPPED)
    made = forked(house, begun=False)
    variant = newest(house, "split")
    own = house.face.layout.output(variant.job) / "tables" / "counts"
    shutil.copytree(table, own)
    line |= {"checkpoint": f"{variant.checkpoints}/counts", "sink_table": str(own), "query_id": "theirs"}
    delta.commit(own, NEWEST + 1, delta.batch(NEWEST, delta.add("p-theirs"), query="theirs"))
    house.append(variant, QUERIES_FILE, json.dumps(line) + "\n")
    house.see(variant, RunState.STOPPED)
    return made, query


def test_a_parent_goes_on_with_the_state_and_the_table_of_its_variant(house: House, tmp_path: Path) -> None:
    made, query = with_tables(house, tmp_path / "lake")
    table = tmp_path / "lake" / "counts"
    delta.commit(table, NEWEST + 1, delta.batch(NEWEST + 1, delta.add("p-only-the-parents"), query=query))
    plan = house.face.plan(Promote("split", StateFrom.VARIANT))
    assert [step.does for step in plan.steps] == ["save", "resume", "record"] and plan.restore is not None
    (sink,) = plan.restore.sinks
    assert (sink.action, sink.path) == ("swap", str(table)) and "by one commit" in sink.message
    do(house.face, Promote("split", StateFrom.VARIANT))
    run = newest(house, "a")
    saved = house.face.ask(ShowSavepoint(run.from_savepoint or ""))
    assert (saved.job, saved.label, run.version) == ("split", "with which a goes on", newest(house, "split").version)
    assert metadata.parse((Path(run.checkpoints) / "counts" / "metadata").read_bytes()).query_id == query
    folder = Path(house.face.context.files.spec(run.job, run.id).sink_logs["counts"])
    assert delta_back.asked(folder) == Back(1, query, NEWEST, NEWEST, NEWEST + 1, str(table))
    assert (folder / "table" / "p-theirs").exists() and not (table / "p-theirs").exists(), "its driver does it"
    assert [decided.choice for decided in house.face.ask(ShowExperiment(made.id)).decisions] == [Choice.PROMOTED]
    assert any(savepoint.job == "a" and savepoint.batch == NEWEST for savepoint in house.face.ask(ListSavepoints("a")))


def test_a_table_that_cannot_become_its_variants_is_said(house: House, tmp_path: Path) -> None:
    with_tables(house, tmp_path / "lake")
    delta.commit(tmp_path / "lake" / "counts", NEWEST + 1, [delta.add("of-others")])
    with pytest.raises(Conflict, match="others changed its rows at version 14") as refused:
        house.face.plan(Promote("split", StateFrom.VARIANT))
    assert refused.value.code == "promote.table" and "--state present" in refused.value.hint


def test_output_in_files_does_not_become_its_variants(house: House) -> None:
    experiment(house)
    with pytest.raises(Conflict, match="writes to parquet") as refused:
        house.face.plan(Promote("split", StateFrom.VARIANT))
    assert refused.value.code == "promote.sink"


def test_an_interrupted_promotion_is_only_recorded_when_asked_again(house: House) -> None:
    made = experiment(house)
    version = house.face.ask(ShowVersion(newest(house, "split").version))
    do(house.face, Resume("a", code=version.code, script=version.script))
    plan = house.face.plan(Promote("split"))
    assert not plan.stops and "already" in plan.steps[0].words
    do(house.face, Promote("split"))
    assert len(house.face.ask(ShowJob("a")).runs) == 2
    assert house.face.ask(ShowExperiment(made.id)).decisions[0].choice is Choice.PROMOTED


def test_a_dropped_variant_is_stopped_and_marked(house: House) -> None:
    made = experiment(house)
    house.see(newest(house, "same"), RunState.RUNNING)
    begun = house.face.begin(Drop("same", savepoint=False))
    stop_as_the_supervisor_would(house, "same")
    assert house.face.answer(begun).state is OperationState.DONE
    (decided,) = house.face.ask(ShowExperiment(made.id)).decisions
    assert (decided.job, decided.choice, decided.savepoint, decided.version) == ("same", Choice.DROPPED, None, None)
    refused(house, "same", "decision.made")
    with pytest.raises(Conflict) as twice:
        house.face.begin(Drop("same"))
    assert twice.value.code == "decision.made"


def test_of_two_drops_at_once_one_decides(house: House) -> None:
    made = experiment(house)
    house.see(newest(house, "same"), RunState.RUNNING)
    drops = [house.face.begin(Drop("same")) for _ in range(2)]
    stop_as_the_supervisor_would(house, "same")
    ends = []
    for drop in drops:
        assert drop.operation is not None
        ends.append(operations.wait(house.face.context, drop.operation.id))
    assert sorted((end.state, end.error_code) for end in ends) == [(OperationState.DONE, ""), (OperationState.FAILED, "decision.made")]
    assert [decision.job for decision in house.face.ask(ShowExperiment(made.id)).decisions] == ["same"]


def dropped(house: House, job: str, state: RunState) -> Run:
    """The variant's newest run, which was in `state` when it was dropped."""
    house.see(newest(house, job), state)
    begun = house.face.begin(Drop(job))
    if state.live:
        stop_as_the_supervisor_would(house, job)
    assert house.face.answer(begun).state is OperationState.DONE
    return newest(house, job)


def test_an_undropped_variant_goes_on_where_the_drop_ended_it(house: House) -> None:
    made = experiment(house)
    ended = dropped(house, "same", RunState.RUNNING)
    (mark,) = house.face.ask(ShowExperiment(made.id)).decisions
    assert mark.run == ended.id
    plan = house.face.plan(Undrop("same"))
    assert plan.resumes and plan.run is None and "resumed where the drop stopped it" in plan.steps[1].words
    assert house.face.ask(ShowExperiment(made.id)).decisions == (mark,) and newest(house, "same") == ended
    taken_back = do(house.face.acting("anna"), Undrop("same"))
    run = newest(house, "same")
    assert taken_back == replace(plan, run=run.id)
    assert (run.state, run.checkpoints, run.version, run.from_savepoint) == (RunState.WANTED, ended.checkpoints, ended.version, None)
    event = next(event for event in house.face.ask(ListEvents()) if event.kind == "job.undropped")
    assert (event.job, event.subject, event.actor) == ("a", "same", "anna")
    not_dropped(house, "same")
    do(house.reopen(), RebuildCatalog())
    assert house.face.ask(ShowExperiment(made.id)).decisions == ()


def not_dropped(house: House, job: str) -> None:
    for act in (house.face.plan, house.face.begin):
        with pytest.raises(Conflict) as error:
            act(Undrop(job))
        assert error.value.code == "decision.not_dropped"


def test_a_variant_that_did_not_run_is_only_unmarked(house: House) -> None:
    made = experiment(house)
    ended = dropped(house, "same", RunState.STOPPED)
    done_with = do(house.face, Undrop("same"))
    assert (done_with.resumes, done_with.run) == (False, None)
    assert newest(house, "same") == ended and house.face.ask(ShowExperiment(made.id)).decisions == ()
    house.face.plan(Promote("same"))


def test_one_that_was_resumed_by_hand_meanwhile_is_left_alone(house: House) -> None:
    experiment(house)
    dropped(house, "same", RunState.RUNNING)
    do(house.face, Resume("same"))
    house.see(newest(house, "same"), RunState.STOPPED)
    assert do(house.face, Undrop("same")).run is None
    assert len(house.face.ask(ShowJob("same")).runs) == 2


def test_what_keeps_it_from_going_on_is_said_before_anything_changes(house: House) -> None:
    made = experiment(house)
    ended = dropped(house, "same", RunState.RUNNING)
    unfinished = Wanted(ended.id, StopWanted(at_once=False, savepoint=True, operation=OperationId("o-1")))
    house.face.context.files.write(house.face.layout.wanted_file(ended.job), unfinished)
    for act in (house.face.plan, house.face.begin):
        with pytest.raises(Conflict) as error:
            act(Undrop("same"))
        assert error.value.code == "job.running"
    assert [mark.job for mark in house.face.ask(ShowExperiment(made.id)).decisions] == ["same"] and newest(house, "same") == ended


@pytest.mark.parametrize("job", ["a", "split"])
def test_what_was_not_dropped_is_not_undropped(house: House, job: str) -> None:
    experiment(house)
    dropped(house, "same", RunState.STOPPED)
    not_dropped(house, job)


def test_a_promoted_or_forgotten_variant_is_not_undropped(house: House) -> None:
    experiment(house)
    do(house.face, Promote("split"))
    not_dropped(house, "split")
    dropped(house, "same", RunState.STOPPED)
    do(house.face, Forget("same"))
    with pytest.raises(NotFound):
        do(house.face, Undrop("same"))


def refused(house: House, job: str, code: str) -> None:
    for act in (house.face.plan, house.face.begin):
        with pytest.raises(Conflict) as error:
            act(Promote(job))
        assert error.value.code == code


def test_what_is_no_fork_has_nothing_to_be_promoted_over(house: House) -> None:
    experiment(house)
    refused(house, "a", "decision.no_fork")


def test_a_variant_that_never_started_is_not_promoted(house: House) -> None:
    experiment(house, begun=False)
    refused(house, "split", "promote.never_started")


def test_a_variant_that_failed_is_not_promoted(house: House) -> None:
    experiment(house)
    house.see(newest(house, "split"), RunState.FAILED)
    refused(house, "split", "promote.failed")


def test_one_variant_is_promoted(house: House) -> None:
    experiment(house)
    do(house.face, Promote("split"))
    refused(house, "same", "promote.other")


def test_a_parent_that_is_gone_or_elsewhere_does_not_go_on(house: House) -> None:
    experiment(house)
    files, layout = house.face.context.files, house.face.layout
    known = files.job(newest(house, "a").job)
    assert isinstance(known, Job)
    files.write(layout.job_file(known.name), replace(known, attached=True))
    refused(house, "split", "job.attached")
    shutil.rmtree(layout.job(known.name))
    refused(house, "split", "promote.parent_gone")


def test_an_upgrade_of_the_parent_since_is_warned_of(house: House) -> None:
    experiment(house)
    do(house.face, Resume("a", code=CODE + "y = 2\n", args=("--other",)))
    house.see(newest(house, "a"), RunState.STOPPED)
    plan = house.face.plan(Promote("split"))
    assert any("was upgraded since they parted" in warning for warning in plan.warnings)
    assert any("arguments become those of split" in warning for warning in plan.warnings)
