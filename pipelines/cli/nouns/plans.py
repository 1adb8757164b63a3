"""Plans of savepoints as text, for `--dry-run`."""

from __future__ import annotations

from pipelines.cli.describing import describes
from pipelines.cli.output import details
from pipelines.domain.savepoints import DisposePlan, ExportPlan, RestorePlan
from pipelines.words import formats


@describes(RestorePlan)
def restore_plan(plan: RestorePlan, now_ms: int) -> str:
    """The plan of a fork or a resume."""
    sinks = [("sink", f"{sink.query} ({sink.sink}): {sink.action}, {sink.message}") for sink in plan.sinks]
    return details(
        [
            ("savepoint", plan.savepoint),
            ("job", plan.job),
            ("query id", "kept" if plan.keeps_query_id else "new"),
            ("checkpoints", plan.checkpoints),
            ("files", formats.count(plan.files)),
            ("size", formats.size(plan.bytes)),
            ("new bytes", formats.size(plan.new_bytes)),
            ("how", plan.how),
            *(("saves first", label) for label in plan.saves),
            *sinks,
            *(("warning", warning) for warning in plan.warnings),
        ]
    )


@describes(DisposePlan)
def dispose_plan(plan: DisposePlan, now_ms: int) -> str:
    """The plan of a disposal."""
    return details(
        [
            ("savepoint", plan.savepoint),
            ("files", formats.count(plan.files)),
            ("size", formats.size(plan.bytes)),
            ("frees", formats.size(plan.frees_bytes)),
            *(("needed by", blocker) for blocker in plan.blockers),
        ]
    )


@describes(ExportPlan)
def export_plan(plan: ExportPlan, now_ms: int) -> str:
    """The plan of an export."""
    return details(
        [
            ("savepoint", plan.savepoint),
            ("to", plan.url),
            ("as", "one .tar.zst file" if plan.archive else "a directory"),
            ("files", formats.count(plan.files)),
            ("size", formats.size(plan.bytes)),
            ("how", plan.how),
            ("then disposes of it here", "yes" if plan.disposes else "no"),
        ]
    )
