"""Upgrades: a job goes on with changed code. One that runs is stopped for it.

The order, for a job that runs: (1) the changed code is checked against the state of the savepoint that stands for the present one, which is
taken where there is none, its environment is made, and it is planned once more; what is refused by then leaves the job untouched; (2) it is
stopped with a savepoint; (3) it is resumed with the changed code. Where (2) or (3) fails, the job goes on as it was. A crash before (2)
leaves it running; from then on the next server goes on with it (`changeovers`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.domain.decisions import Does, Step
from pipelines.domain.errors import Conflict, Invalid
from pipelines.domain.ids import JobName, RunId, SavepointId
from pipelines.domain.jobs import Run
from pipelines.domain.probations import NO_WAY
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import Reason
from pipelines.domain.versions import Version
from pipelines.storage import documents
from pipelines.verbs.resume import Resume
from pipelines.verbs.take import Take
from pipelines.verbs.upgrade import Upgrade, UpgradePlan
from pipelines.workspace import attachments, changeovers, checked, environments, events, resumes, runs, savepoints
from pipelines.workspace.changeovers import Changeover
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.stops import NOTHING_TO_SAVE
from pipelines.workspace.tickets import Ticket

UPGRADED = "job.upgraded"


@dataclass(frozen=True)
class Upgrading:
    """A job to upgrade while it runs: how it goes on once it has stopped, and as what."""

    job: JobName
    resume: Resume
    newest: Run
    version: Version
    restore: RestorePlan
    """Without a refusal that a check may lift."""

    @property
    def message(self) -> str:
        return f"{self.job} was upgraded: it goes on as version {self.version.id}, where it was {self.newest.version}"

    @property
    def checks(self) -> bool:
        return _checks(self.resume, self.restore)


@plans(Upgrade)
def plan(context: Context, change: Upgrade) -> Planned[str, UpgradePlan]:
    """Raises Conflict (`job.attached`, `upgrade.never_ran`), Invalid (`upgrade.unchanged`), and what planning a resume raises; what
    refuses that is the plan's refusal."""
    name = runs.known(context, change.job)
    attachments.refuse(context, name, "upgraded")
    newest = runs.newest(context, name)
    if newest is None:
        raise Conflict("upgrade.never_ran", f"{name} has never run", "Start it as a new job.")
    stops, resume = newest.state.live, change.resume
    made = resumes.planned(context, resume, stops=newest) if stops else resumes.plan(context, resume)
    version = made.begins
    if version is None or (version.id == newest.version and change.memory_bytes is None and change.cpus is None):
        message = f"{name} would go on as version {newest.version}, as before: nothing is changed"
        raise Invalid("upgrade.unchanged", message, "Change its code, arguments or confs. To begin it again as it is, stop and resume it.")
    asked = Upgrading(name, resume, newest, version, _open(resume, made.plan) if stops else made.plan)
    shown = UpgradePlan(name, newest.id, newest.version, stops, _steps(asked, stops=stops, opens=asked.restore != made.plan), asked.restore)

    def do(ticket: Ticket) -> str:
        if stops:
            return _upgrade(context, asked, ticket).id
        run = made.do(ticket)
        events.say(context, UPGRADED, name, run.id, asked.message)
        return run.id

    return Planned(shown, do, version)


def _checks(resume: Resume, restore: RestorePlan) -> bool:
    """Whether nobody knows yet what becomes of the state, and somebody asks."""
    return resume.check and not resume.force and restore.verdict is None


def _open(resume: Resume, restore: RestorePlan) -> RestorePlan:
    """The plan, where the check decides whether there is a way back without the refusal for want of a verdict."""
    refused = restore.refusal
    lifts = refused is not None and refused.code == NO_WAY and _checks(resume, restore) and not resume.is_migrated
    return replace(restore, refusal=None) if lifts else restore


def _steps(asked: Upgrading, *, stops: bool, opens: bool) -> tuple[Step, ...]:
    """The steps, in the order in which they are done."""
    job, judged = asked.job, asked.restore.judged
    steps: list[Step] = []
    if asked.checks and (judged or stops):
        state = f"savepoint {judged}" if judged else f"a savepoint that is taken of {job} now"
        cases = ["it cannot start on that", "it drops what was not accepted"]
        cases += ["the verdict is not same, without which there is no way back from it"] if opens else []
        stays = f"{job} {'runs on untouched' if stops else 'stays as it is'} where {', '.join(cases[:-1])} or {cases[-1]}"
        steps.append(Step(Does.CHECK, f"The changed code is checked against the state of {state}; {stays}."))
    if stops:
        steps.append(Step(Does.STOP, f"{job} stops at its next batch boundary, with a savepoint."))
    if asked.resume.is_migrated:
        steps.append(Step(Does.REWRITE, "A copy of its state is migrated for the changed code, and a batch rehearsed."))
    goes = f"{job} goes on from there as version {asked.version.id}, with its own query ids and output"
    return (*steps, Step(Does.RESUME, f"{goes}; where that does not begin, it goes on as it was." if stops else f"{goes}."))


def _upgrade(context: Context, asked: Upgrading, ticket: Ticket) -> Run:
    if asked.restore.refusal is not None:
        raise asked.restore.refusal.error
    judged, resume = _judged(context, asked, ticket), asked.resume
    plan = replace(asked.restore, judged=judged)
    found = checked.first(context, resume, plan, asked.version, ticket, new_queries=resume.new_queries, is_forced=resume.force)
    environments.make(context, asked.version, ticket)
    _refuse(context, asked, judged)
    asked_for = (asked.job, ticket.operation, "upgrade", asked.newest.id, RunId(context.new_id("r")))
    label, said = f"the last of version {asked.newest.version}", (UPGRADED, asked.message)
    goes_on = Changeover(*asked_for, label, documents.plain(resume), *said, judged, found.verdict or plan.verdict)
    run = changeovers.carry_out(context, goes_on, ticket)
    checked.tell(context, found, asked.job, run.id)
    return run


def _judged(context: Context, asked: Upgrading, ticket: Ticket) -> SavepointId | None:
    """The savepoint that stands for the present state: where the check lacks one, it is taken now. None where there is no state yet."""
    if asked.restore.judged is not None or not asked.checks:
        return asked.restore.judged
    ticket.step(f"taking a savepoint of {asked.job}")
    take = Take(asked.job, label="to check changed code against")
    try:
        return savepoints.taken(context, asked.job, take, Reason.BEFORE_UPGRADE, ticket).id
    except Conflict as error:
        if error.code in NOTHING_TO_SAVE:
            return None
        raise


def _refuse(context: Context, asked: Upgrading, judged: SavepointId | None) -> None:
    """Raises what the resume is refused with by now, before anything stops; Conflict (`upgrade.overtaken`)."""
    made = resumes.planned(context, asked.resume, stops=runs.newest(context, asked.job), judged=judged)
    if made.plan.refusal is not None:
        raise made.plan.refusal.error
    if made.plan.version != asked.version.id:
        message = f"Another call changed what {asked.job} runs meanwhile"
        raise Conflict("upgrade.overtaken", message, "Look at what it runs now; then upgrade it again.")
