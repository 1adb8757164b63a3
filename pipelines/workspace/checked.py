"""Changed code is checked before it begins on state, where that was asked for and nobody has done it yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipelines.domain.decisions import PromotePlan
from pipelines.domain.errors import Unavailable
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Run
from pipelines.domain.restores import RestorePlan
from pipelines.domain.verdicts import Outcome, Verdict
from pipelines.domain.versions import Version
from pipelines.verbs.fork import Fork
from pipelines.verbs.migrating import Migrating
from pipelines.verbs.resume import Resume
from pipelines.words import verdicts as words
from pipelines.workspace import checks, events, savepoints, verdicts
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket


@dataclass(frozen=True)
class Checked:
    """What a check has found, or why there was none."""

    verdict: Verdict | None = None
    why_not: str = ""


def first(
    context: Context,
    change: Migrating,
    plan: RestorePlan | PromotePlan,
    version: Version,
    ticket: Ticket,
    *,
    new_queries: Sequence[str] = (),
    is_forced: bool = False,
    otherwise: str = verdicts.BY_FORCE,
) -> Checked:
    """What is known of the version that the change begins with on its state, by a check where it asks for one and the code is changed.

    Raises what the change's plan is refused with once that verdict is known; a check that cannot be done holds up nothing.
    """
    if not change.check or plan.refusal is not None:
        return Checked()
    if plan.verdict is not None or plan.judged is None or is_forced:
        return Checked(plan.verdict)
    manifest = savepoints.manifest(context, plan.judged)
    if manifest.version.id == version.id:
        return Checked()
    try:
        verdict = checks.check(context, manifest, version, tuple(new_queries), change.map or {}, ticket)
    except Unavailable as away:
        return Checked(why_not=away.message)
    refused = verdicts.refusal(verdict, change, is_forced=False, otherwise=otherwise)
    if refused is not None:
        raise refused.error
    return Checked(verdict)


def begun(
    context: Context, change: Fork | Resume, plan: RestorePlan, version: Version | None, ticket: Ticket, begin: Callable[[Ticket], Run]
) -> Run:
    """The run that `begin` begins with the version once the change's check lets it; its verdict is told."""
    found = Checked()
    if version is not None:
        found = first(context, change, plan, version, ticket, new_queries=change.new_queries, is_forced=change.force)
    run = begin(ticket)
    tell(context, found, run.job, run.id)
    return run


def tell(context: Context, found: Checked, job: JobName, run: str) -> None:
    """An event of the run, where its state does not mean the same for certain."""
    if found.why_not:
        events.say(context, words.CHECKED, job, run, f"{job}: its code was not checked against its state: {found.why_not}")
    if found.verdict is not None and found.verdict.outcome is not Outcome.SAME:
        events.say(context, words.CHECKED, job, run, f"{job}: {words.told(found.verdict)}")
