"""Plans of savepoints as text, for `--dry-run`."""

from __future__ import annotations

from pipelines.cli.descriptions import describes
from pipelines.cli.output import details
from pipelines.domain.disposals import DisposePlan
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import ExportPlan, TakePlan
from pipelines.words import plans


@describes(TakePlan)
def take_plan(plan: TakePlan, now_ms: int) -> str:
    """The plan of a savepoint."""
    return details([("job", plan.job), *plans.take(plan)])


@describes(RestorePlan)
def restore_plan(plan: RestorePlan, now_ms: int) -> str:
    """The plan of a fork or a resume."""
    return details(
        [
            *([("savepoint", plan.savepoint)] if plan.savepoint else []),
            ("job", plan.job),
            ("checkpoints", plan.checkpoints),
            *plans.restore(plan),
            *(("output", plans.sink(sink)) for sink in plan.sinks),
            *(("warning", warning) for warning in plans.warnings(plan)),
        ]
    )


@describes(DisposePlan)
def dispose_plan(plan: DisposePlan, now_ms: int) -> str:
    """The plan of a disposal."""
    return details([("savepoint", plan.savepoint), *plans.dispose(plan)])


@describes(ExportPlan)
def export_plan(plan: ExportPlan, now_ms: int) -> str:
    """The plan of an export."""
    then = [("then", plans.LEAVES)] if plan.disposes else []
    return details([("savepoint", plan.savepoint), ("to", plan.url), *plans.export(plan), *then])
