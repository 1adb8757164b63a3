"""Plans as text, for `--dry-run`."""

from __future__ import annotations

import shlex

from pipelines.cli.descriptions import describes
from pipelines.cli.output import details
from pipelines.domain.annotations import Annotation
from pipelines.domain.disposals import DisposePlan
from pipelines.domain.resources import Resources
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import ExportPlan, TakePlan
from pipelines.verbs.check import CheckPlan
from pipelines.verbs.import_ import ImportPlan
from pipelines.verbs.plan_difference import PlanDifferencePlan
from pipelines.verbs.resources import ResourcesPlan
from pipelines.verbs.run import RunPlan
from pipelines.verbs.state import ReadStatePlan
from pipelines.verbs.stop import StopPlan
from pipelines.words import formats, plans, resources

UNLIMITED = "all that the machine has"
SPARK = {True: "is started, to plan the code; it runs nothing", False: "is not started: it is known what Spark plans"}


@describes(RunPlan)
def run_plan(plan: RunPlan, now_ms: int) -> str:
    """The plan of a script that is run; on a savepoint's state with what restoring that does."""
    own = [
        ("job", plan.job),
        ("run", plan.run),
        ("version", plan.version),
        ("script", plan.script),
        *([("arguments", shlex.join(plan.args))] if plan.args else []),
        *([("beside it", ", ".join(plan.files))] if plan.files else []),
        *(("conf", f"{key}={value}") for key, value in plan.conf.items()),
        ("master", plan.master),
        *([("Python", plan.python)] if plan.python else []),
        *([("Java", plan.java_home)] if plan.java_home else []),
        *([("environment", plans.ENVIRONMENT)] if plan.builds else []),
        *([("limits", resources.held(plan.resources, plan.means))] if plan.means else []),
        *([("at its home", plan.place)] if plan.place else []),
        ("output", plan.output),
        *(("remark", remark) for remark in plan.remarks),
    ]
    return "\n\n".join([details(own), *([restore_plan(plan.restore, now_ms)] if plan.restore else [])])


@describes(StopPlan)
def stop_plan(plan: StopPlan, now_ms: int) -> str:
    """The plan of a stop, or of a cancellation."""
    when = "at once, in the middle of a batch" if plan.at_once else "at its next batch boundary"
    what = f"{when}, {'with a savepoint' if plan.savepoint else 'without a savepoint'}"
    under_way = [("under way", f"{plan.under_way} already ends it")] if plan.under_way else []
    return details([("job", plan.job), ("run", plan.run), ("ends", what), *under_way])


@describes(CheckPlan)
def check_plan(plan: CheckPlan, now_ms: int) -> str:
    """The plan of a check of code."""
    return details([("savepoint", plan.savepoint), ("job", plan.job), ("version", plan.version), ("Spark", SPARK[plan.starts_spark])])


@describes(PlanDifferencePlan)
def plan_difference_plan(plan: PlanDifferencePlan, now_ms: int) -> str:
    """The plan of a comparison of plans."""
    job = [("job", plan.job)] if plan.job else []
    return details([("A", plan.a), ("B", plan.b), *job, ("Spark", SPARK[plan.starts_spark])])


@describes(ResourcesPlan)
def resources_plan(plan: ResourcesPlan, now_ms: int) -> str:
    """The plan of a job's limits."""
    after = resources.held(plan.after, plan.means) if plan.means else _limits(plan.after)
    return details([("job", plan.job), ("before", _limits(plan.before)), ("after", after)])


def _limits(limits: Resources) -> str:
    return resources.spelt(limits) or UNLIMITED


@describes(Annotation)
def annotation(changed: Annotation, now_ms: int) -> str:
    """A savepoint's label, note and date as they are, or will be."""
    until = "none: it is kept" if changed.best_before_ms is None else formats.exact(changed.best_before_ms, None)
    return details(
        [
            ("savepoint", changed.savepoint),
            ("label", changed.label or formats.MISSING),
            ("note", changed.note or formats.MISSING),
            ("best before", until),
        ]
    )


@describes(ReadStatePlan)
def read_state_plan(plan: ReadStatePlan, now_ms: int) -> str:
    """The plan of a reading of state."""
    table = plan.table
    return details(
        [
            ("savepoint", plan.savepoint),
            ("job", plan.job),
            ("table", f"{table.store} of operator {table.operator} ({table.name}) of {table.query}, at batch {table.batch:,}"),
            ("reads", f"at most {formats.plural(plan.limit, 'row')}, of {formats.size(table.bytes)}"),
        ]
    )


@describes(ImportPlan)
def import_plan(plan: ImportPlan, now_ms: int) -> str:
    """The plan of an import."""
    return details([("from", plan.url), ("reads", "one compressed file" if plan.archive else "a directory")])


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
            *(("warning", warning) for warning in plan.further_warnings),
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
