"""Promotions: the parent of a variant goes on with the variant's version.

The order: (1) where the parent goes on with the variant's state, a savepoint is taken of that; (2) the parent is stopped with a savepoint,
where it runs; (3) it is resumed with the variant's version, the same upgrade that people ask for by hand; where that fails, or is
cancelled, a parent that ran goes on as it was; (4) the experiment records the decision. A crash before (3) leaves the parent stopped with
its savepoint; one before (4) leaves it upgraded, and promoting again only records.
"""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain import files
from pipelines.domain.decisions import Choice, Decision, Does, PromotePlan, StateFrom, Step, refusal_of_failed
from pipelines.domain.differences import code_difference, file_differences
from pipelines.domain.errors import GROUPS, Conflict, NotFound, TidemarkError
from pipelines.domain.ids import RunId, SavepointId
from pipelines.domain.jobs import Run
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import Manifest
from pipelines.domain.verdicts import Verdict
from pipelines.domain.versions import Version
from pipelines.savepoint import migration, rescaling, sinks
from pipelines.verbs.promote import Promote
from pipelines.verbs.resume import Resume
from pipelines.verbs.revision import Revision
from pipelines.verbs.stop import Stop
from pipelines.workspace import adoptions, attachments, decisions, job_places, jobs, restores, resumes, runs, savepoints, verdicts, versions
from pipelines.workspace.adoptions import Adoption
from pipelines.workspace.context import Context
from pipelines.workspace.decisions import Variant
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.holdings import gaps
from pipelines.workspace.tickets import Cancelled, Ticket


@plans(Promote)
def plan(context: Context, change: Promote) -> Planned[str, PromotePlan]:
    """Raises what `decisions.variant` raises; Conflict (`promote.parent_gone`, `promote.never_started`, `promote.failed`,
    `promote.other`, `job.attached`); from the savepoint NotFound (`savepoint.not_found`) where that was disposed of; Invalid
    (`drop.unknown`)."""
    variant = decisions.variant(context, change.job)
    adoption = adoptions.planned(context, variant) if change.state is StateFrom.VARIANT else None
    plan = _plan(context, variant, change, adoption)
    verdict = plan.restore.verdict if plan.restore is not None else plan.verdict
    _check_dropped(context, plan, change, adoption)
    plan = replace(plan, refusal=verdicts.not_accepted(verdict, change) or verdicts.not_dropped(verdict, change))
    return Planned(plan, lambda ticket: _promote(context, variant, plan, change, adoption, ticket))


def _check_dropped(context: Context, plan: PromotePlan, change: Promote, adoption: Adoption | None) -> None:
    """Raises Invalid (`drop.unknown`), before the parent is stopped, for what is to be dropped and no savepoint would hold."""
    if adoption is not None:
        migration.check_dropped(rescaling.of_look(adoption.take.look), change.drop)
    judged = plan.restore.judged if plan.restore is not None else plan.judged
    if adoption is None and judged is not None:
        manifest = savepoints.manifest(context, judged)
        migration.check_dropped(rescaling.of_savepoint(context.shelf(manifest.id), manifest), change.drop)


def _plan(context: Context, variant: Variant, change: Promote, adoption: Adoption | None) -> PromotePlan:
    """The plan of the promotion; refuses what cannot be done."""
    state, present = change.state, _parent(context, variant)
    before = versions.get(context, present.version)
    target = versions.changed(before, _revision(variant.version, before), context.now_ms())
    code, has_it = (code_difference(before, target), *file_differences(before, target)), target.id == before.id
    judged = verdicts.stand_in(context, variant.parent) if state is StateFrom.PRESENT and not has_it else None
    return PromotePlan(
        variant.job,
        variant.parent,
        variant.origin.experiment,
        target.id,
        before.id,
        sum(part.added for part in code),
        sum(part.removed for part in code),
        stops=present.state.goes_on and not has_it,
        state=state,
        steps=_steps(variant, present, target, state, has_it=has_it),
        warnings=tuple(_warnings(context, variant, before, target)),
        restore=None if has_it or state is StateFrom.PRESENT else _restore(context, variant, target, change, adoption),
        verdict=_known(context, variant, judged, target, change) if judged is not None else None,
        judged=judged.id if judged is not None else None,
    )


def _known(context: Context, variant: Variant, judged: Manifest, target: Version, change: Promote) -> Verdict | None:
    new_queries = context.files.spec(variant.job, variant.run.id).new_queries
    return verdicts.nearest(context, judged, target, new_queries, change.map)


def _parent(context: Context, variant: Variant) -> Run:
    """The parent's newest run; refuses where there is no parent to go on, and a variant that never showed that it runs."""
    promoted = next((decision for decision in variant.others if decision.choice is Choice.PROMOTED), None)
    if promoted is not None:
        hint = f"Resume {variant.parent} with this code if that is meant."
        raise Conflict("promote.other", f"{promoted.job} was promoted over {variant.parent} already", hint)
    try:
        present = runs.newest(context, runs.known(context, variant.parent))
    except NotFound as error:
        message = f"{variant.parent}, which {variant.job} was forked from, was forgotten"
        raise Conflict("promote.parent_gone", message, f"{variant.job} goes on as a job of its own.") from error
    attachments.refuse(context, variant.parent, "promoted over")
    if present is None or not jobs.has_begun(context, variant.job):
        raise Conflict("promote.never_started", f"No query of {variant.job} has ever started", "Wait until it runs: its code is untried.")
    failed = refusal_of_failed(variant.job, variant.run)
    if failed is not None:
        raise failed
    return present


def _revision(version: Version, before: Version) -> Revision:
    """What makes `version` of `before`, whose own files go."""
    return Revision(
        code=version.code,
        script=version.script,
        args=version.args,
        conf=version.conf,
        master=version.master,
        python=version.python,
        java_home=version.java_home,
        files=files.instead_of(before.files, version.files),
        outside=version.outside,
        requirements=version.requirements,
    )


def _steps(variant: Variant, present: Run, target: Version, state: StateFrom, *, has_it: bool) -> tuple[Step, ...]:
    """The steps, in the order in which `_promote` does them."""
    parent = variant.parent
    goes_on = variant.run.state.goes_on
    stays = "runs on until it is dropped or stopped" if goes_on else f"does not run ({variant.run.state}), and is left as it is"
    last_step = Step(Does.RECORD, f"The decision is kept; {variant.job} {stays}.")
    if has_it:
        return Step(Does.LEAVE, f"{parent} has version {target.id} already: nothing is stopped."), last_step
    stop = (Step(Does.STOP, f"{parent} stops at its next batch boundary, with a savepoint."),) if present.state.goes_on else ()
    saves: tuple[Step, ...] = ()
    if state is StateFrom.VARIANT:
        saves = (Step(Does.SAVE, f"{variant.job} is saved at its newest batch{', and runs on' if goes_on else ''}."),)
        goes = (
            f"{parent} goes on from where {variant.job} stood then, with its state, its rows in tables and its code, and with "
            f"the query ids that {parent} has"
        )
    elif state is StateFrom.SAVEPOINT:
        goes = f"{parent} goes back to savepoint {variant.origin.savepoint} and does all since then again, with the code of {variant.job}"
    else:
        goes = f"{parent} goes on from where it stands, with its own state, output and query ids, and the code of {variant.job}"
    return *saves, *stop, Step(Does.RESUME, f"{goes}: version {target.id}."), last_step


def _warnings(context: Context, variant: Variant, before: Version, target: Version) -> list[str]:
    names = {"arguments": "args", "confs": "conf", "runtime": "python", "requirements": "requirements"}
    pairs = [(name, getattr(before, field) == getattr(target, field)) for name, field in names.items()]
    changed = [name for name, same in pairs if not same]
    warnings = [f"Its {' and '.join(changed)} become those of {variant.job}, too."] if changed else []
    try:
        began = savepoints.get(context, variant.origin.savepoint).version
    except NotFound:
        return warnings
    if before.id not in (began, target.id):
        warnings.append(f"{variant.parent} was upgraded since they parted ({began} → {before.id}); that change goes.")
    return warnings


def _restore(context: Context, variant: Variant, target: Version, change: Promote, adoption: Adoption | None) -> RestorePlan:
    """The plan of going on with the variant's state, or of going back to the savepoint; refuses where a sink of the parent cannot."""
    if adoption is not None:
        plan = adoption.plan(variant.parent, job_places.next_checkpoints(context, variant.parent, RunId(context.new_id("r"))))
        if plan.refusal is not None:
            raise plan.refusal.error
        return plan
    manifest = savepoints.manifest(context, variant.origin.savepoint)
    plan = restores.of_resume(context, manifest, variant.parent, RunId(context.new_id("r")), target).plan()
    plan = gaps.told_of_savepoint(context, plan, manifest)
    if plan.refusal is not None:
        raise plan.refusal.error
    if error := sinks.refused_going_back(plan.sinks):
        raise Conflict(error.code, error.message, "Promote it on its present state (--state present).")
    return replace(plan, verdict=_known(context, variant, manifest, target, change), judged=manifest.id)


def _promote(context: Context, variant: Variant, plan: PromotePlan, change: Promote, adoption: Adoption | None, ticket: Ticket) -> str:
    if plan.refusal is not None:
        raise plan.refusal.error
    savepoint: SavepointId | None = None
    adopted: SavepointId | None = None
    present = _parent(context, variant)
    for step in plan.steps:
        if step.does is Does.SAVE and adoption is not None:
            ticket.step(f"saving {variant.job}")
            adopted = savepoints.publish(context, adoption.take, ticket).id
        elif step.does is Does.STOP:
            ticket.step(f"stopping {variant.parent}")
            savepoint = decisions.stopped(context, Stop(variant.parent, label=f"before {variant.job} was promoted"), ticket)
        elif step.does is Does.RESUME:
            ticket.step(f"starting {variant.parent}")
            try:
                upgrade = _upgrade(context, variant, present, change, adopted)
                queries = adoption.queries if adoption is not None else None
                present = resumes.planned(context, upgrade, adopts=queries).do(ticket)
            except TidemarkError as error:
                raise _goes_on(context, variant, plan, error) from error
        elif step.does is Does.RECORD:
            decision = Decision(variant.job, Choice.PROMOTED, context.now_ms(), variant.parent, plan.version, present.id, savepoint)
            message = f"{variant.job} was promoted: {variant.parent} goes on with version {plan.version}"
            decisions.record(context, variant, decision, message)
    return present.id


def _goes_on(context: Context, variant: Variant, plan: PromotePlan, error: TidemarkError) -> TidemarkError:
    """Has a parent that was stopped for it go on as it was; the error that says so. Whoever cancelled has it go on, too."""
    if not plan.stops:
        return error
    resumes.plan(context, Resume(variant.parent, force=True)).do(Ticket())
    message = f"{error.message.rstrip('.')}. {variant.parent} goes on as it was"
    return error if isinstance(error, Cancelled) else GROUPS.get(error.group, TidemarkError)(error.code, message, error.hint)


def _upgrade(context: Context, variant: Variant, present: Run, change: Promote, adopted: SavepointId | None) -> Resume:
    before = versions.get(context, present.version)
    spec = context.files.spec(variant.job, variant.run.id)
    return Resume(
        variant.parent,
        from_savepoint=adopted or (variant.origin.savepoint if change.state is StateFrom.SAVEPOINT else ""),
        new_queries=spec.new_queries,
        force=True,  # the plan said the verdict
        migrate=change.migrate,
        drop=change.drop,
        map=change.map,
        **vars(_revision(variant.version, before)),
    )
