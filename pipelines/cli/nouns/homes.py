"""Homes of savepoints as text."""

from __future__ import annotations

from pipelines.cli import output
from pipelines.cli.additions import group
from pipelines.cli.descriptions import describes
from pipelines.domain.homes import HomeCheck, Homes, UsedHome
from pipelines.verbs.homes import CheckHomePlan, HomePlan
from pipelines.words import formats
from pipelines.words import homes as words

group("home", "Where savepoints are kept.")


@describes(Homes)
def homes_text(shown: Homes, now_ms: int) -> str:
    """Where new ones go, and where those that there are lie."""
    return output.details(
        [
            ("new savepoints", words.place(shown.usual)),
            (words.NEW_JOBS, words.place(shown.of_new_jobs)),
            *((f"of {job}", words.place(home)) for job, home in shown.of_jobs.items()),
            *((words.place(used.home), _held(used)) for used in shown.used),
        ]
    )


@describes(HomePlan)
def plan_text(plan: HomePlan, now_ms: int) -> str:
    """Where new ones go now, and will."""
    of = plan.job or "every job that does not say otherwise"
    pairs = [("of", of), ("before", words.place(plan.before)), ("afterwards", words.place(plan.after))]
    return output.details([*pairs, *([("there, too", words.NEW_JOBS)] if plan.jobs else [])])


@describes(CheckHomePlan)
def check_plan(plan: CheckHomePlan, now_ms: int) -> str:
    """Where something small would be written."""
    return output.details([("home", plan.home)])


@describes(HomeCheck)
def check_text(check: HomeCheck, now_ms: int) -> str:
    """Each step, and what follows."""
    steps = [(tried.step.value, words.step(tried)) for tried in check.steps]
    return output.details([("home", check.home), *steps, ("so", words.verdict(check))])


def _held(used: UsedHome) -> str:
    return f"{formats.plural(used.savepoints, 'savepoint')} of {', '.join(used.jobs)}, {formats.size(used.bytes)}"
