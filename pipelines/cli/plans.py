"""Plans as text, for `--dry-run`."""

from __future__ import annotations

from pipelines.cli import formats
from pipelines.cli.output import details
from pipelines.domain.savepoints import DisposePlan, ExportPlan, RestorePlan, TakePlan


def take_plan(plan: TakePlan) -> str:
    """What taking a savepoint would do."""
    batches = ", ".join(f"{query}: {batch}" for query, batch in plan.batches.items())
    return details(
        [
            ("job", plan.job),
            ("batches", batches),
            ("files", formats.count(plan.files)),
            ("size", formats.size(plan.bytes)),
            ("new bytes", formats.size(plan.new_bytes)),
            ("how", plan.how),
        ]
    )


def restore_plan(plan: RestorePlan) -> str:
    """What a fork or a resume would do."""
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
            *sinks,
            *(("warning", warning) for warning in plan.warnings),
        ]
    )


def dispose_plan(plan: DisposePlan) -> str:
    """What disposing of a savepoint deletes, or would."""
    return details(
        [
            ("savepoint", plan.savepoint),
            ("files", formats.count(plan.files)),
            ("size", formats.size(plan.bytes)),
            ("frees", formats.size(plan.frees_bytes)),
            *(("needed by", blocker) for blocker in plan.blockers),
        ]
    )


def export_plan(plan: ExportPlan) -> str:
    """What exporting a savepoint would do."""
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
