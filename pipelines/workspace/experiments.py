"""Experiments: forks of one savepoint, begun all at once or not at all, and the tree of versions.

The order of a beginning: (1) every fork is made, and none is wanted; (2) `experiments/<id>.json` is written: from here the experiment
is; (3) every fork is wanted. A crash before (2) leaves half jobs, which the next opening removes; after it, the opening completes (3).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import ExitStack

from pipelines.catalog import experiments as experiment_rows
from pipelines.catalog import tree as tree_rows
from pipelines.domain.errors import Invalid
from pipelines.domain.experiments import Experiment, Tree
from pipelines.domain.ids import ExperimentId, JobName, job_name
from pipelines.domain.jobs import Job
from pipelines.domain.requests import ExperimentRequest
from pipelines.domain.savepoints import Savepoint
from pipelines.workspace import events, forks, runs, savepoints
from pipelines.workspace.context import Context
from pipelines.workspace.files import readable


def start(context: Context, request: ExperimentRequest) -> Experiment:
    """Raises what forks raise, and Invalid (`experiment.variants`) for less than two jobs to compare."""
    names = _names(request)
    savepoint = savepoints.get(context, request.savepoint)
    if request.with_parent:
        runs.known(context, savepoint.job)
    with ExitStack() as held:
        for name in sorted(names):
            held.enter_context(context.holding(name))
            runs.free(context, name)
        return _start(context, request, savepoint, names)


def _names(request: ExperimentRequest) -> list[JobName]:
    names = [job_name(variant.name) for variant in request.variants]
    if len({name.casefold() for name in names}) < len(names):
        raise Invalid("experiment.names", "Two variants have one name", "Give each variant a name of its own.")
    if len(names) + request.with_parent < 2 or not names:
        raise Invalid("experiment.variants", "An experiment compares at least two jobs", "Add a variant, or compare with the parent.")
    if not request.name.strip():
        raise Invalid("experiment.name", "An experiment needs a name", "Name it after what it tries.")
    return names


def _start(context: Context, request: ExperimentRequest, savepoint: Savepoint, names: Sequence[JobName]) -> Experiment:
    experiment_id = ExperimentId(context.new_id("e"))
    made: list[runs.Prepared] = []
    try:
        for variant in request.variants:
            made.append(forks.prepare(context, savepoint.id, variant, experiment_id))  # 1
        jobs = ((savepoint.job,) if request.with_parent else ()) + tuple(names)
        experiment = Experiment(experiment_id, request.name.strip(), savepoint.id, jobs, context.now_ms())
        context.files.write(context.layout.experiment_file(experiment_id), experiment)  # 2
    except BaseException:
        for prepared in made:
            shutil.rmtree(context.layout.job(prepared.job.name))
        raise
    with context.catalog.writing() as writer:
        experiment_rows.save(writer, [experiment])
    events.say(context, "experiment.begun", None, experiment_id, f"experiment {experiment.name} of {', '.join(experiment.jobs)}")
    for prepared in made:
        runs.publish(context, prepared)  # 3
    return experiment


def complete(context: Context) -> None:
    """Step 3 of experiments that a crash interrupted: their forks are whole, and only not wanted yet."""
    for experiment in readable(context.files.experiment, context.files.experiment_ids(), []):
        for job in readable(context.files.job, experiment.jobs, []):
            name = job.name
            if _unwanted_fork(context, job, experiment.id):
                spec = context.files.spec(name, context.files.run_ids(name)[0])
                runs.publish(context, runs.Prepared(job, runs.wanted_run(spec)))


def _unwanted_fork(context: Context, job: Job, experiment: ExperimentId) -> bool:
    begun = context.layout.wanted_file(job.name).is_file()
    return not begun and job.origin is not None and job.origin.experiment == experiment


def newest_first(context: Context) -> Sequence[Experiment]:
    with context.catalog.reading() as reader:
        return experiment_rows.listed(reader)


def get(context: Context, named: str) -> Experiment:
    """By id, or by its name where only one has it; raises NotFound (`experiment.not_found`)."""
    by_name = [one for one in newest_first(context) if one.name == named]
    with context.catalog.reading() as reader:
        return by_name[0] if len(by_name) == 1 else experiment_rows.get(reader, named)


def tree(context: Context) -> Tree:
    with context.catalog.reading() as reader:
        return tree_rows.tree(reader)
