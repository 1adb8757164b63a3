"""Promotions: the parent of a variant goes on with the variant's version.

The order: (1) where the parent goes on with the variant's state, a savepoint is taken of that; (2) the parent is stopped with a savepoint,
where it runs; (3) it is resumed with the variant's version, the same upgrade that people ask for by hand; where (2) or (3) fails, a parent
that ran goes on as it was; (4) the experiment records the decision. A crash before (2) leaves the parent running; from then on the next
server goes on with it (`changeovers`). Of a parent that did not run, one before (3) leaves it as it was; one before (4) leaves it upgraded,
and promoting again only records.
"""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain import files
from pipelines.domain.decisions import Choice, Decision, Does, PromotePlan, StateFrom, Step, refusal_of_failed
from pipelines.domain.differences import code_difference, file_differences
from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.ids import RunId, SavepointId, VersionId
from pipelines.domain.jobs import Run
from pipelines.domain.versions import Version
from pipelines.storage import documents
from pipelines.verbs.promote import Promote
from pipelines.verbs.resume import Resume
from pipelines.verbs.revision import Revision
from pipelines.workspace import (
    attachments,
    changeovers,
    checked,
    decisions,
    jobs,
    promoted_state,
    resumes,
    runs,
    savepoints,
    verdicts,
    versions,
)
from pipelines.workspace.adoptions import Adoption
from pipelines.workspace.changeovers import Changeover
from pipelines.workspace.checked import Checked
from pipelines.workspace.context import Context
from pipelines.workspace.decisions import Variant
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.tickets import Ticket

PROMOTED = "job.promoted"


@plans(Promote)
def plan(context: Context, change: Promote) -> Planned[str, PromotePlan]:
    """Raises what `decisions.variant` raises; Conflict (`promote.parent_gone`, `promote.never_started`, `promote.failed`,
    `promote.other`, `job.attached`); from the savepoint NotFound (`savepoint.not_found`) where that was disposed of; Invalid
    (`promote.migrate`), and what planning a migration raises and refuses."""
    variant = decisions.variant(context, change.job)
    adoption = promoted_state.adoption(context, variant, change) if change.state is StateFrom.VARIANT else None
    plan = _plan(context, variant, change, adoption)
    verdict = plan.verdict or (plan.restore.verdict if plan.restore is not None else None)
    otherwise = f"To have {variant.parent} begin with it all the same, resume it: --code FILE --force."
    plan = replace(plan, refusal=verdicts.refusal(verdict, change, is_forced=False, otherwise=otherwise))

    def do(ticket: Ticket) -> str:
        found = _checked(context, variant, plan, change, otherwise, ticket)
        run = _promote(context, variant, replace(plan, verdict=found.verdict or plan.verdict), change, adoption, ticket)
        checked.tell(context, found, variant.parent, run)
        return run

    return Planned(plan, do)


def _checked(context: Context, variant: Variant, plan: PromotePlan, change: Promote, otherwise: str, ticket: Ticket) -> Checked:
    """What is known of the variant's code on the parent's state; its own state fits."""
    shown = plan if plan.judged is not None else plan.restore
    if shown is None or change.state is StateFrom.VARIANT or plan.refusal is not None:
        return Checked()
    target, new_queries = _target(context, variant, plan.replaces), promoted_state.new_queries(context, variant)
    return checked.first(context, change, shown, target, ticket, new_queries=new_queries, otherwise=otherwise)


def _target(context: Context, variant: Variant, before: VersionId) -> Version:
    """The version that the parent goes on with."""
    present = versions.get(context, before)
    return versions.changed(present, _revision(variant.version, present), context.now_ms())


def _plan(context: Context, variant: Variant, change: Promote, adoption: Adoption | None) -> PromotePlan:
    """The plan of the promotion; refuses what cannot be done."""
    state, present = change.state, _parent(context, variant)
    before, target = versions.get(context, present.version), _target(context, variant, present.version)
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
        steps=_steps(variant, present, target, change, has_it=has_it),
        warnings=tuple(_warnings(context, variant, before, target)),
        restore=None if has_it else promoted_state.restore_plan(context, variant, present, target, change, adoption),
        verdict=promoted_state.known(context, variant, judged, target, change) if judged is not None else None,
        judged=judged.id if judged is not None else None,
    )


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


def _steps(variant: Variant, present: Run, target: Version, change: Promote, *, has_it: bool) -> tuple[Step, ...]:
    """The steps, in the order in which they are done."""
    parent, state = variant.parent, change.state
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
    rewritten: tuple[Step, ...] = ()
    if change.is_migrated:
        fails = f"where that fails, {parent} {'goes on as it was' if present.state.goes_on else 'stays as it is'}"
        rewritten = (
            Step(Does.REWRITE, f"A copy of that state is migrated for the code of {variant.job}, and a batch rehearsed; {fails}."),
        )
    return *saves, *stop, *rewritten, Step(Does.RESUME, f"{goes}: version {target.id}."), last_step


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


def _promote(context: Context, variant: Variant, plan: PromotePlan, change: Promote, adoption: Adoption | None, ticket: Ticket) -> str:
    if plan.refusal is not None:
        raise plan.refusal.error
    present = _parent(context, variant)
    if plan.version == plan.replaces:
        return _recorded(context, plan, variant, present)
    adopted: SavepointId | None = None
    if adoption is not None:
        ticket.step(f"saving {variant.job}")
        adopted = savepoints.publish(context, adoption.take, ticket).id
    upgrade = _upgrade(context, variant, present, change, adopted)
    queries = adoption.queries if adoption is not None else None
    if plan.stops:
        run = RunId(context.new_id("r"))
        changeover = Changeover(
            job=variant.parent,
            operation=ticket.operation,
            kind="promote",
            stops=present.id,
            begins=run,
            label=f"before {variant.job} was promoted",
            resume=documents.plain(upgrade),
            event=PROMOTED,
            message=_message(plan),
            verdict=plan.verdict,
            adopts=queries,
            decides=_decision(context, plan, run),
            experiment=plan.experiment,
        )
        return changeovers.carry_out(context, changeover, ticket).id
    ticket.step(f"starting {variant.parent}")
    return _recorded(context, plan, variant, resumes.planned(context, upgrade, adopts=queries, verdict=plan.verdict).do(ticket))


def _recorded(context: Context, plan: PromotePlan, variant: Variant, begun: Run) -> str:
    decisions.record(context, variant, _decision(context, plan, begun.id), _message(plan))
    return begun.id


def _decision(context: Context, plan: PromotePlan, run: RunId) -> Decision:
    return Decision(plan.job, Choice.PROMOTED, context.now_ms(), plan.parent, plan.version, run, None)


def _message(plan: PromotePlan) -> str:
    return f"{plan.job} was promoted: {plan.parent} goes on with version {plan.version}"


def _upgrade(context: Context, variant: Variant, present: Run, change: Promote, adopted: SavepointId | None) -> Resume:
    before = versions.get(context, present.version)
    return Resume(
        variant.parent,
        from_savepoint=adopted or (variant.origin.savepoint if change.state is StateFrom.SAVEPOINT else ""),
        new_queries=promoted_state.new_queries(context, variant),
        force=True,  # the plan said the verdict
        migrate=change.migrate,
        drop=change.drop,
        map=change.map,
        **vars(_revision(variant.version, before)),
    )
