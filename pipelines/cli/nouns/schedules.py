"""Schedules of savepoints, and what is pruned of those that were taken by themselves, as text."""

from __future__ import annotations

from collections.abc import Callable

from pipelines.cli import output
from pipelines.cli.additions import Shown, excludes, plans, shows
from pipelines.cli.descriptions import describes
from pipelines.cli.session import Here
from pipelines.domain.retention import Judged, PrunePlan
from pipelines.domain.schedules import Attempt, Schedule, SchedulePlan, ScheduleState
from pipelines.verbs.prune import Prune
from pipelines.verbs.schedule import SetSchedule
from pipelines.words import formats, schedules
from pipelines.words import plans as words

excludes(SetSchedule, "cron", "every_ms")


@describes(ScheduleState)
def state_text(state: ScheduleState, now_ms: int) -> str:
    """What holds, who said so, the next times, what came of the last one."""
    pairs = [
        ("of", state.job or "the workspace"),
        ("savepoints by themselves", schedules.spelt(state.schedule)),
        *([("set for this job", _own(state.own)), ("set for the workspace", _own(state.usual))] if state.job else []),
        *_coming(state.next_ms),
        *_last("last time", state.last, schedules.attempt, now_ms),
        *_at("next proof", state.next_proof_ms),
        *_last("last proof", state.last_proof, schedules.proof, now_ms),
        *_at("next run", state.next_run_ms),
        *_last("last run", state.last_run, schedules.run, now_ms),
    ]
    return output.details(pairs)


@describes(SchedulePlan)
def plan_text(plan: SchedulePlan, now_ms: int) -> str:
    """The schedule before and after a change."""
    pairs = [("of", plan.job or "the workspace"), ("set before", _own(plan.before)), ("set afterwards", _own(plan.after))]
    return output.details(
        [
            *pairs,
            ("what holds then", schedules.spelt(plan.schedule)),
            *_coming(plan.next_ms),
            *_at("next proof", plan.next_proof_ms),
            *_at("next run", plan.next_run_ms),
            *(("warning", warning) for warning in plan.warnings),
        ]
    )


@shows(Prune)
def _pruned(here: Here, change: Prune, plan: PrunePlan) -> Shown:
    return _shown(here, "pruned", plan)


@plans(Prune)
def _planned(here: Here, change: Prune, plan: PrunePlan) -> Shown:
    return _shown(here, "would prune", plan)


def _shown(here: Here, does: str, plan: PrunePlan) -> Shown:
    """What goes, what stays though it is past a limit, and the first refusal."""
    output.tell(f"{does} {words.disposed(plan.disposal)}" if plan.goes else "nothing is past what is kept")
    error = next((outcome.refusal.error for outcome in plan.disposal.refused if outcome.refusal), None)
    frees = {dispose_plan.savepoint: dispose_plan.frees_bytes for dispose_plan in plan.disposal.plans}
    rows = [_row(judged, frees.get(judged.savepoint), here.session.now_ms) for judged in (*plan.goes, *plan.stays)]
    return Shown(plan, output.Table(("SAVEPOINT", "JOB", "TAKEN>", "FREES ALONE>", "WHY"), rows) if rows else "", error)


def _row(judged: Judged, frees_bytes: int | None, now_ms: int) -> tuple[str, ...]:
    when = formats.ago(judged.created_ms, now_ms)
    return (judged.savepoint, judged.job, when, formats.size(frees_bytes), schedules.why(judged))


def _own(own: Schedule) -> str:
    return schedules.spelt_own(own) or formats.MISSING


def _coming(times: tuple[int, ...]) -> list[tuple[str, str]]:
    return [("next" if place == 0 else "then", formats.exact(at_ms, None)) for place, at_ms in enumerate(times)]


def _at(name: str, at_ms: int | None) -> list[tuple[str, str]]:
    return [(name, formats.exact(at_ms, None))] if at_ms is not None else []


def _last(name: str, last: Attempt | None, says: Callable[[Attempt], str], now_ms: int) -> list[tuple[str, str]]:
    return [(name, f"{formats.when(last.due_ms, now_ms, None)}: {says(last)}")] if last else []
