"""The example: the generator of events and the job that counts them, as any other jobs of the workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources

from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Run
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.system import ExamplePlan, StartExample
from pipelines.workspace import resumes, runs, scripts
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.tickets import Ticket

GENERATOR = JobName("post_events")
COUNTER = JobName("post_engagement")
SECONDS_A_FILE = "2"
"""The counter reads a file a second: with one written every other second it catches up after a pause, and so do its forks."""
DATA_ONLY = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}
"""Events never end, so the next file's batch closes the windows: an empty batch after each one would only double them."""


@plans(StartExample)
def plan(context: Context, change: StartExample) -> Planned[Sequence[Run], ExamplePlan]:
    """Plans the runs of both jobs: new, resumed, or left alone where they are live."""
    begins = tuple(job for job in (GENERATOR, COUNTER) if not _lives(context, job))
    return Planned(ExamplePlan(begins), lambda ticket: _start(context, ticket))


def _lives(context: Context, job: JobName) -> bool:
    newest = runs.newest(context, job) if context.files.has_begun(job) else None
    return newest is not None and newest.state.goes_on


def _start(context: Context, ticket: Ticket) -> Sequence[Run]:
    events = str(context.layout.output(GENERATOR))
    return [
        _go_on(context, GENERATOR, ("--out", runs.OUTPUT, "--interval", SECONDS_A_FILE), {}, ticket),
        _go_on(context, COUNTER, ("--events", events, "--output", runs.OUTPUT), DATA_ONLY, ticket),
    ]


def code(script: str) -> str:
    """The text of one of the package's jobs."""
    return resources.files("pipelines.jobs").joinpath(script).read_text(encoding="utf-8")


def _go_on(context: Context, name: JobName, args: tuple[str, ...], conf: Mapping[str, str], ticket: Ticket) -> Run:
    with context.holding(name):
        newest = runs.newest(context, name) if context.files.has_begun(name) else None
        if newest is None:
            script = f"{name}.py"
            source = f"pipelines/jobs/{script}"
            begin = RunScript(name=name, script=script, code=code(script), args=args, conf=conf, source=source)
            return scripts.plan(context, begin).do(ticket)
        return newest if newest.state.goes_on else resumes.plan(context, Resume(name)).do(ticket)
