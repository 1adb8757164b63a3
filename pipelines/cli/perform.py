"""Asks a question, performs or plans a change, and shows the answer."""

from __future__ import annotations

from typing import Any

from pipelines.cli import additions, output
from pipelines.cli.additions import Shown, Shows
from pipelines.cli.descriptions import described
from pipelines.cli.follow import done
from pipelines.cli.output import Table
from pipelines.cli.session import Here
from pipelines.domain.errors import Refusal
from pipelines.verbs.verb import Asked, Change, Question


def perform(here: Here, change: Change[Any, Any]) -> None:
    """Begins a change, follows it and shows its answer; with `--dry-run` shows its plan, and raises what beginning it would raise."""
    added = additions.of(type(change))
    if here.words.get("dry_run"):
        plan = here.face.plan(change)
        _show(here, added.plans, change, plan, described(plan, here.session.now_ms))
        _tell_left(here, change)
        if (refusal := _refusal(plan)) is not None:
            raise refusal.error
        return
    timeout = here.words.get("timeout") if "wait" not in here.words else None
    answer = done(here, change, timeout=timeout)
    usual = change.prints.format(answer) if change.prints else described(answer, here.session.now_ms)
    _show(here, added.shows, change, answer, usual)
    _tell_left(here, change)


def _tell_left(here: Here, change: Change[Any, Any]) -> None:
    """Says what nobody does of the change while no server runs."""
    left = change.left_to_server()
    if left and here.session.running is None:
        output.tell(f"No server of this workspace runs: {left} once one does (python3 -m dashboard).")


def _refusal(plan: object) -> Refusal | None:
    """Why what is planned would be refused, as far as the plan says it."""
    from pipelines.domain.decisions import PromotePlan
    from pipelines.domain.restores import RestorePlan
    from pipelines.verbs.experiment import ExperimentPlan
    from pipelines.verbs.replay import ReplayPlan
    from pipelines.verbs.rescale import RescalePlan
    from pipelines.verbs.run import RunPlan
    from pipelines.verbs.upgrade import UpgradePlan

    refuses = plan.restore if isinstance(plan, RunPlan | RescalePlan | ReplayPlan | UpgradePlan) else plan
    return refuses.refusal if isinstance(refuses, RestorePlan | ExperimentPlan | PromotePlan) else None


def ask(here: Here, question: Question[Any]) -> None:
    """Asks a question and shows the answer."""
    answer = here.face.ask(question)
    _show(here, additions.of(type(question)).shows, question, answer, described(answer, here.session.now_ms))


def _show(here: Here, shows: Shows | None, request: Asked[Any], answer: Any, usual: str | Table) -> None:
    shown = shows(here, request, answer) if shows else None
    if not isinstance(shown, Shown):
        shown = Shown(answer, usual if shown is None else shown)
    here.show(shown.value, shown.text)
    if shown.error is not None:
        raise shown.error
