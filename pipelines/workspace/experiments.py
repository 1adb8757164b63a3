"""Experiments: forks of one savepoint, begun all at once or not at all, and the tree of versions.

The order of a beginning: (1) every fork is made, and none is wanted; (2) `experiments/<id>.json` is written: from here the experiment
is; (3) every fork is wanted. A crash before (2) leaves half jobs, which the next opening removes; after it, the opening completes (3).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from pipelines.catalog import experiments as experiment_rows
from pipelines.catalog import tree as tree_rows
from pipelines.domain.errors import Invalid
from pipelines.domain.experiments import Experiment, Tree
from pipelines.domain.ids import ExperimentId, JobName, job_name
from pipelines.domain.jobs import Job
from pipelines.verbs.experiment import ExperimentPlan, StartExperiment
from pipelines.verbs.experiments import ListExperiments, ShowExperiment, ShowTree
from pipelines.verbs.fork import Variant
from pipelines.workspace import checked, events, forks, runs, savepoints
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans
from pipelines.workspace.files import readable
from pipelines.workspace.forks import PlannedFork
from pipelines.workspace.tickets import Ticket


@plans(StartExperiment)
def plan(context: Context, change: StartExperiment) -> Planned[Experiment, ExperimentPlan]:
    """Raises what forks raise, and Invalid (`experiment.variants`) for less than two jobs to compare."""
    names = _names(change)
    savepoint = savepoints.get(context, change.savepoint)
    if change.with_parent:
        runs.known(context, savepoint.job)
    manifest = savepoints.manifest(context, savepoint.id)
    asked = [replace(variant, lock_step=True) if change.lock_step else variant for variant in change.variants]
    variants = [forks.plan_variant(context, manifest, variant) for variant in asked]
    jobs = ((savepoint.job,) if change.with_parent else ()) + tuple(names)
    experiment_id = ExperimentId(context.new_id("e"))
    plan = ExperimentPlan(experiment_id, change.name.strip(), savepoint.id, jobs, tuple(variant.plan for variant in variants))
    return Planned(plan, lambda ticket: _start_checked(context, plan, variants, asked, ticket), variants[0].version)


def _names(change: StartExperiment) -> list[JobName]:
    names = [job_name(variant.name) for variant in change.variants]
    if len({name.casefold() for name in names}) < len(names):
        raise Invalid("experiment.names", "Two variants have the same name", "Give each variant a name of its own.")
    if len(names) + change.with_parent < 2 or not names:
        raise Invalid("experiment.variants", "An experiment compares at least two jobs", "Add a variant, or compare with the parent.")
    if not change.name.strip():
        raise Invalid("experiment.name", "An experiment needs a name", "Name it after what it tries.")
    return names


def _start_checked(
    context: Context, plan: ExperimentPlan, variants: Sequence[PlannedFork], asked: Sequence[Variant], ticket: Ticket
) -> Experiment:
    found = [
        checked.first(context, variant, fork.plan, fork.version, ticket, new_queries=fork.new_queries, is_forced=fork.is_forced)
        for fork, variant in zip(variants, asked, strict=True)
    ]
    experiment = _start(context, plan, variants, ticket)
    for fork, of_fork in zip(variants, found, strict=True):
        checked.tell(context, of_fork, fork.job, fork.run)
    return experiment


def _start(context: Context, plan: ExperimentPlan, variants: Sequence[PlannedFork], ticket: Ticket) -> Experiment:
    with ExitStack() as held:
        for name in sorted(variant.job for variant in variants):
            held.enter_context(context.holding(name))
            runs.free(context, name)
        return _begin(context, plan, variants, ticket)


def _begin(context: Context, plan: ExperimentPlan, variants: Sequence[PlannedFork], ticket: Ticket) -> Experiment:
    prepared_jobs: list[runs.Prepared] = []
    try:
        for variant in variants:
            prepared_jobs.append(forks.prepare(context, variant, plan.id, ticket))  # 1
        experiment = Experiment(plan.id, plan.name, plan.savepoint, plan.jobs, context.now_ms())
        context.files.write(context.layout.experiment_file(plan.id), experiment)  # 2
    except BaseException:
        for prepared in prepared_jobs:
            runs.unmake(context, prepared.job)
        raise
    with context.catalog.writing() as writer:
        experiment_rows.save(writer, [experiment])
    events.say(context, "experiment.begun", None, plan.id, f"experiment {experiment.name} of {', '.join(experiment.jobs)}")
    for prepared in prepared_jobs:
        runs.publish(context, prepared)  # 3
    return experiment


def complete(context: Context) -> None:
    """Step 3 of experiments that a crash interrupted: their forks are whole, and only not wanted yet."""
    for experiment in readable(context.files.experiment, context.files.experiment_ids(), []):
        for job in readable(context.files.job, experiment.jobs, []):
            name = job.name
            if _unwanted_fork(context, job, experiment.id):
                spec = context.files.spec(name, context.files.run_ids(name)[0])
                run = replace(runs.wanted_run(spec), edge=context.files.edge(name, spec.run))
                runs.publish(context, runs.Prepared(job, run))


def _unwanted_fork(context: Context, job: Job, experiment: ExperimentId) -> bool:
    begun = context.layout.wanted_file(job.name).is_file()
    return not begun and job.origin is not None and job.origin.experiment == experiment


@answers(ListExperiments)
def newest_first(context: Context, question: ListExperiments) -> Sequence[Experiment]:
    with context.catalog.reading() as reader:
        return experiment_rows.listed(reader)


@answers(ShowExperiment)
def show(context: Context, question: ShowExperiment) -> Experiment:
    """By id, or by its name where only one has it; raises NotFound (`experiment.not_found`)."""
    name = question.experiment
    by_name = [experiment for experiment in newest_first(context, ListExperiments()) if experiment.name == name]
    with context.catalog.reading() as reader:
        return by_name[0] if len(by_name) == 1 else experiment_rows.get(reader, name)


@answers(ShowTree)
def tree(context: Context, question: ShowTree) -> Tree:
    with context.catalog.reading() as reader:
        return tree_rows.tree(reader)
