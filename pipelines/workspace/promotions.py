"""Promotions: the parent of a variant goes on with the variant's version.

The order: (1) the parent is stopped with a savepoint, where it runs; (2) it is resumed with the variant's version, the same upgrade that
people ask for by hand; (3) the experiment records the decision. A crash before (2) leaves the parent stopped with its savepoint; one before
(3) leaves it upgraded, and promoting again only records.
"""

from __future__ import annotations

from pipelines.domain.decisions import Choice, Decision, PromotePlan, StateFrom
from pipelines.domain.differences import code_difference
from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.ids import RunId, SavepointId
from pipelines.domain.jobs import Run
from pipelines.domain.operations import Operation
from pipelines.domain.requests import PromoteRequest, ResumeRequest, StopRequest
from pipelines.domain.savepoints import RestorePlan
from pipelines.domain.versions import Version
from pipelines.workspace import attachments, decisions, jobs, restores, resumes, runs, savepoints, versions
from pipelines.workspace.context import Context
from pipelines.workspace.decisions import Variant
from pipelines.workspace.operations import Ticket


def promote(context: Context, job: str, request: PromoteRequest) -> Operation | PromotePlan:
    """Raises what `decisions.variant` raises; Conflict (`promote.parent_gone`, `promote.never_started`, `promote.other`, `promote.sink`,
    `job.attached`); from the savepoint NotFound (`savepoint.not_found`) where that was disposed of."""
    known = decisions.variant(context, job)
    plan = _plan(context, known, request.state)
    if request.dry_run:
        return plan
    return decisions.begin(context, "promote", known.parent, known, lambda ticket: _promote(context, known, plan, ticket))


def _plan(context: Context, known: Variant, state: StateFrom) -> PromotePlan:
    """What will happen; refuses what cannot."""
    present = _parent(context, known)
    before = versions.get(context, present.version)
    wanted = versions.changed(before, _change(known.version), context.now_ms())
    code, has_it = code_difference(before, wanted), wanted.id == before.id
    return PromotePlan(
        known.job,
        known.parent,
        known.origin.experiment,
        wanted.id,
        before.id,
        code.added,
        code.removed,
        stops=present.state.live and not has_it,
        state=state,
        steps=_steps(known, present, wanted, state, has_it=has_it),
        warnings=tuple(_warnings(context, known, before, wanted)),
        restore=_restore(context, known) if state is StateFrom.SAVEPOINT and not has_it else None,
    )


def _parent(context: Context, known: Variant) -> Run:
    """The parent's newest run; refuses where there is no parent to go on, and a variant that never showed that it runs."""
    other = next((one for one in known.others if one.choice is Choice.PROMOTED), None)
    if other is not None:
        hint = f"Resume {known.parent} with this code if that is meant."
        raise Conflict("promote.other", f"{other.job} was promoted over {known.parent} already", hint)
    try:
        present = runs.newest(context, runs.known(context, known.parent))
    except NotFound as error:
        message = f"{known.parent}, which {known.job} was forked from, was forgotten"
        raise Conflict("promote.parent_gone", message, f"{known.job} goes on as a job of its own.") from error
    attachments.refuse(context, known.parent, "promoted over")
    if present is None or not jobs.has_begun(context, known.job):
        raise Conflict("promote.never_started", f"No query of {known.job} has ever started", "Wait until it runs: its code is untried.")
    return present


def _change(version: Version) -> versions.Change:
    return versions.Change(version.code, version.script, version.args, version.conf, version.master, version.python)


def _steps(known: Variant, present: Run, wanted: Version, state: StateFrom, *, has_it: bool) -> tuple[str, ...]:
    """In the order in which `_promote` does them."""
    parent = known.parent
    kept = f"The decision is kept; {known.job} runs on until it is dropped or stopped."
    if has_it:
        return (f"{parent} has version {wanted.id} already: nothing is stopped.", kept)
    stop = (f"{parent} stops at its next batch boundary, with a savepoint.",) if present.state.live else ()
    if state is StateFrom.SAVEPOINT:
        goes = f"{parent} goes back to savepoint {known.origin.savepoint} and does all since then again, with the code of {known.job}"
    else:
        goes = f"{parent} goes on from where it stands, with its own state, output and query ids, and the code of {known.job}"
    return (*stop, f"{goes}: version {wanted.id}.", kept)


def _warnings(context: Context, known: Variant, before: Version, wanted: Version) -> list[str]:
    pairs = (("arguments", before.args == wanted.args), ("confs", before.conf == wanted.conf), ("runtime", before.python == wanted.python))
    others = [name for name, same in pairs if not same]
    said = [f"Its {' and '.join(others)} become those of {known.job}, too."] if others else []
    try:
        began = savepoints.get(context, known.origin.savepoint).version
    except NotFound:
        return said
    if before.id not in (began, wanted.id):
        said.append(f"{known.parent} was upgraded since they parted ({began} → {before.id}); that change goes.")
    return said


def _restore(context: Context, known: Variant) -> RestorePlan:
    """Of going back to the savepoint; refuses where a sink of the parent cannot."""
    manifest = savepoints.manifest(context, known.origin.savepoint)
    plan = restores.of_resume(context, manifest, known.parent, RunId(context.new_id("r"))).plan()
    refused = next((sink for sink in plan.sinks if sink.action == "refuse"), None)
    if refused is not None:
        raise Conflict("promote.sink", refused.message, "Promote it on the parent's present state.")
    return plan


def _promote(context: Context, known: Variant, plan: PromotePlan, ticket: Ticket) -> str:
    taken: SavepointId | None = None
    present = _parent(context, known)
    if present.version != plan.version:
        ticket.step(f"stopping {known.parent}")
        taken = decisions.stopped(context, known.parent, StopRequest(label=f"before {known.job} was promoted"), ticket)  # 1
        ticket.step(f"starting {known.parent}")
        present = _upgraded(context, known, plan.state)  # 2
    decision = Decision(known.job, Choice.PROMOTED, context.now_ms(), known.parent, plan.version, present.id, taken)
    decisions.record(context, known, decision, f"{known.job} was promoted: {known.parent} goes on with version {plan.version}")  # 3
    return present.id


def _upgraded(context: Context, known: Variant, state: StateFrom) -> Run:
    version, told = known.version, context.files.spec(known.job, known.run.id)
    begun = resumes.resume(
        context,
        known.parent,
        ResumeRequest(
            from_savepoint=known.origin.savepoint if state is StateFrom.SAVEPOINT else "",
            code=version.code,
            args=version.args,
            conf=version.conf,
            master=version.master,
            new_queries=told.new_queries,
            python=version.python,
            script=version.script,
        ),
    )
    assert isinstance(begun, Run)
    return begun
