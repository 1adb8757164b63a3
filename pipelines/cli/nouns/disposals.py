"""Savepoints that are deleted: what that frees, and why one was refused."""

from __future__ import annotations

from pipelines.cli import output
from pipelines.cli.additions import Shown, plans, shows
from pipelines.cli.nouns.plans import dispose_plan
from pipelines.cli.session import Here
from pipelines.domain.disposals import Disposal, DisposeOutcome
from pipelines.verbs.dispose import Dispose
from pipelines.words import plans as words


@shows(Dispose)
def _disposed(here: Here, change: Dispose, disposal: Disposal) -> Shown:
    return _shown(here, "disposed of", disposal)


@plans(Dispose)
def _planned(here: Here, change: Dispose, disposal: Disposal) -> Shown:
    return _shown(here, "would dispose of", disposal)


def _shown(here: Here, does: str, disposal: Disposal) -> Shown:
    """All outcomes, then the first refusal. What the disk gets back for all need not be the sum of what each would free alone."""
    output.tell(f"{does} {words.disposed(disposal)}")
    error = next((outcome.refusal.error for outcome in disposal.refused if outcome.refusal), None)
    now_ms = here.session.now_ms
    return Shown(disposal, "\n\n".join(_outcome(outcome, now_ms) for outcome in disposal.outcomes), error)


def _outcome(outcome: DisposeOutcome, now_ms: int) -> str:
    if outcome.plan is not None:
        return dispose_plan(outcome.plan, now_ms)
    return output.details([("savepoint", outcome.savepoint), ("refused", outcome.refusal.message if outcome.refusal else "")])
