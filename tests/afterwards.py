"""What questions find after a change, for those tests that look at it: answers to changes that also change the data of a fake.

`follow(face, Take, Stop)` has those changes leave their traces; without kinds, all have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pipelines.domain.decisions import Choice, Decision, UndropPlan
from pipelines.domain.disposals import Disposal
from pipelines.domain.experiments import Experiment
from pipelines.domain.ids import ExperimentId, JobName
from pipelines.domain.jobs import Origin, QuerySeen, Run
from pipelines.domain.operations import Operation
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.domain.states import chosen
from pipelines.domain.versions import version
from pipelines.verbs.annotate import Annotate
from pipelines.verbs.attach import Attach
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.drop import Drop, Undrop
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.export import Export
from pipelines.verbs.forget import Forget
from pipelines.verbs.fork import Fork
from pipelines.verbs.import_ import Import
from pipelines.verbs.promote import Promote
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ShowSavepoint
from pipelines.verbs.state import ListStates, ReadState
from pipelines.verbs.stop import Stop
from pipelines.verbs.system import StartExample
from pipelines.verbs.take import Take
from pipelines.verbs.verb import Change
from pipelines.verbs.verify import Verify
from tests import changes, samples
from tests.faces import FakeFace


def follow(face: FakeFace, *kinds: type[Change[Any, Any]]) -> FakeFace:
    """The face, on which changes of these kinds leave their traces from now on."""
    for kind in kinds or TRACES:
        face.answers(kind, partial(TRACES[kind], face))
    return face


def run(face: FakeFace, change: RunScript) -> Run:
    return face.began(change.name, version(change.script, change.code), change.from_savepoint)


def attach(face: FakeFace, change: Attach) -> Run:
    face.attached[change.name] = {
        query: QuerySeen(query, "q-1", change.sink, change.sink_path, url, "") for query, url in change.checkpoints.items()
    }
    return face.began(change.name, version("attached.py", ""), state=RunState.WATCHED)


def _batch(change: Take) -> int | None:
    assert change.batch is None or isinstance(change.batch, int), "the fake has one query"
    return change.batch


def take(face: FakeFace, change: Take) -> Savepoint:
    return face.saved(change.job, _batch(change), change.label, to=change.to)


def stop(face: FakeFace, change: Stop) -> Operation:
    taken = face.saved(change.job, label=change.label, reason=Reason.STOP).id if change.savepoint and not change.at_once else ""
    face.ended(change.job)
    return samples.ended(face.new_id("op"), "cancel" if change.at_once else "stop", change.job, taken)


def resume(face: FakeFace, change: Resume) -> Run:
    return face.began(change.job, face.versions[face.runs[change.job][-1].version], change.from_savepoint)


def forget(face: FakeFace, change: Forget) -> None:
    """The fork of a replay is none of the face's runs."""
    face.runs.pop(change.job, None)


def annotate(face: FakeFace, change: Annotate) -> Savepoint:
    s = face.ask(ShowSavepoint(change.savepoint))
    given = {"label": change.label, "note": change.note, "best_before_ms": change.best_before_ms}
    fields = {name: value or None if name == "best_before_ms" else value for name, value in given.items() if value is not None}
    face.savepoints_by_id[s.id] = replace(s, **fields)
    return face.savepoints_by_id[s.id]


def verify(face: FakeFace, change: Verify) -> Operation:
    s = face.ask(ShowSavepoint(change.savepoint))
    return face.then(changes.ANSWERS[Verify](face, change), lambda: face.verified(samples.verification(s, change.level)))


def read_state(face: FakeFace, change: ReadState) -> Operation:
    s = face.ask(ShowSavepoint(change.savepoint))
    reading = face.memory.reading(s, chosen(face.ask(ListStates(s.id)), change), change.limit)
    return face.then(changes.ANSWERS[ReadState](face, change), lambda: face.readings.update({reading.id: reading}))


def export(face: FakeFace, change: Export) -> Operation:
    begun: Operation = changes.ANSWERS[Export](face, change)
    return face.then(begun, lambda: face.savepoints_by_id.pop(begun.subject)) if change.then_dispose else begun


def bring(face: FakeFace, change: Import) -> Operation:
    run = face.runs["clicks"][-1]
    brought = samples.savepoint(changes.SAVEPOINT, run.job, version=run.version, run=run.id)
    imported = replace(brought, reason=Reason.IMPORTED, imported_ms=samples.NOW_MS, imported_from=change.url)
    return face.then(changes.ANSWERS[Import](face, change), lambda: face.savepoints_by_id.update({brought.id: imported}))


def dispose(face: FakeFace, change: Dispose) -> Disposal:
    disposed: Disposal = face.plan(change)
    for plan in disposed.plans:
        del face.savepoints_by_id[plan.savepoint]
    return disposed


def fork(face: FakeFace, change: Fork) -> Run:
    s = face.ask(ShowSavepoint(change.savepoint))
    face.origins[change.name] = Origin(s.id, s.job)
    return face.began(change.name, face.versions[s.version], s.id)


def experiment(face: FakeFace, change: StartExperiment) -> Experiment:
    s = face.ask(ShowSavepoint(change.savepoint))
    names = tuple(fork(face, Fork(s.id, **vars(variant))).job for variant in change.variants)
    parents = (s.job,) if change.with_parent else ()
    made = Experiment(ExperimentId(face.new_id("ex")), change.name, s.id, parents + names, samples.NOW_MS)
    face.experiments_by_id[made.id] = made
    return made


def promote(face: FakeFace, change: Promote) -> Operation:
    parent = face.origins[change.job].job
    promoted = face.versions[face.runs[change.job][-1].version]
    begun = face.began(parent, promoted)
    _decide(face, Decision(JobName(change.job), Choice.PROMOTED, samples.NOW_MS, parent, promoted.id, begun.id, None))
    return samples.ended(face.new_id("op"), "promote", parent, begun.id, change.job)


def drop(face: FakeFace, change: Drop) -> Operation:
    newest = face.runs[change.job][-1]
    ended = newest.id if newest.state.live else None
    if ended:
        stop(face, Stop(change.job, change.savepoint, change.at_once))
    _decide(face, Decision(newest.job, Choice.DROPPED, samples.NOW_MS, face.origins[change.job].job, None, ended, None))
    return samples.ended(face.new_id("op"), "drop", change.job, subject=change.job)


def undrop(face: FakeFace, change: Undrop) -> UndropPlan:
    """One that the drop ended goes on."""
    marks = [made for kept in face.experiments_by_id.values() for made in kept.decisions if made.job == change.job]
    for name, kept in face.experiments_by_id.items():
        face.experiments_by_id[name] = replace(kept, decisions=tuple(made for made in kept.decisions if made not in marks))
    goes = any(mark.run for mark in marks)
    begun = face.began(change.job, face.versions[face.runs[change.job][-1].version]) if goes else None
    return UndropPlan(JobName(change.job), ExperimentId("ex-1"), goes, changes.GOES_ON, begun.id if begun else None)


def example(face: FakeFace, change: StartExample) -> Sequence[Run]:
    return tuple(face.began(name, version(f"{name}.py", "print()\n")) for name in changes.EXAMPLE if name not in face.runs)


def _decide(face: FakeFace, made: Decision) -> None:
    for name, kept in list(face.experiments_by_id.items()):
        if made.job in kept.jobs:
            face.experiments_by_id[name] = replace(kept, decisions=(*kept.decisions, made))


TRACES: Mapping[type[Change[Any, Any]], Any] = {
    RunScript: run,
    Attach: attach,
    Take: take,
    Stop: stop,
    Resume: resume,
    Forget: forget,
    Annotate: annotate,
    Verify: verify,
    ReadState: read_state,
    Export: export,
    Import: bring,
    Dispose: dispose,
    Fork: fork,
    StartExperiment: experiment,
    Promote: promote,
    Drop: drop,
    Undrop: undrop,
    StartExample: example,
}
