"""Examples: the jobs to begin with and the generators of their input, as any other jobs of the workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources

from pipelines.domain import collection, syntax
from pipelines.domain.collection import COLLECTION, GENERATORS, Example
from pipelines.domain.errors import NotFound
from pipelines.domain.homes import WORKSPACE
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Run
from pipelines.verbs.examples import ListExamples, ShownExample
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.system import EXAMPLE, ExamplePlan, StartExample
from pipelines.workspace import resumes, runs, scripts
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans
from pipelines.workspace.tickets import Ticket

GENERATOR = JobName(collection.EVENTS)
COUNTER = JobName(EXAMPLE)


@answers(ListExamples)
def show(context: Context, question: ListExamples) -> Sequence[ShownExample]:
    """The collection, in its own order."""
    return [
        ShownExample(
            JobName(name),
            does(example.scripts[0]),
            example.inputs,
            JobName(example.generator),
            example.second,
            does(example.scripts[1]),
            example.outcome,
        )
        for name, example in COLLECTION.items()
    ]


@plans(StartExample)
def plan(context: Context, change: StartExample) -> Planned[Sequence[Run], ExamplePlan]:
    """Plans the runs of the job and of its generator: new, resumed, or left alone where they are live. NotFound (`example.not_found`)."""
    if change.name not in COLLECTION:
        raise NotFound("example.not_found", f"There is no example {change.name!r}", f"There are {', '.join(COLLECTION)}.")
    example = COLLECTION[change.name]
    jobs = [JobName(example.generator), *([] if change.inputs_only else [JobName(example.name)])]
    begins = tuple(job for job in jobs if not _lives(context, job))
    return Planned(ExamplePlan(begins), lambda ticket: [_start(context, job, example, ticket) for job in jobs])


def _lives(context: Context, job: JobName) -> bool:
    newest = runs.newest(context, job) if context.files.has_begun(job) else None
    return newest is not None and newest.state.goes_on


def _start(context: Context, job: JobName, example: Example, ticket: Ticket) -> Run:
    if job in GENERATORS:
        args, beside = GENERATORS[job]
        return _go_on(context, job, args, {}, beside, ticket)
    made = str(context.layout.output(JobName(example.generator)))
    return _go_on(context, job, example.args(made), example.conf, example.beside, ticket)


def code(script: str) -> str:
    """The text of one of the package's jobs."""
    return resources.files("pipelines.jobs").joinpath(script).read_text(encoding="utf-8")


def does(script: str) -> str:
    """The first line of what a script says of itself."""
    return syntax.title(code(script), script).partition("\n")[0].rstrip(".")


def _go_on(context: Context, name: JobName, args: tuple[str, ...], conf: Mapping[str, str], beside: Sequence[str], ticket: Ticket) -> Run:
    with context.holding(name):
        newest = runs.newest(context, name) if context.files.has_begun(name) else None
        if newest is None:
            script = COLLECTION[name].scripts[0] if name in COLLECTION else f"{name}.py"
            source = f"pipelines/jobs/{script}"
            files = {f"{module}.py": code(f"{module}.py") for module in beside}
            begin = RunScript(name=name, script=script, code=code(script), args=args, conf=conf, source=source, files=files, home=WORKSPACE)
            return scripts.plan(context, begin).do(ticket)
        return newest if newest.state.goes_on else resumes.plan(context, Resume(name)).do(ticket)
