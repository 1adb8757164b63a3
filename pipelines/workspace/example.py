"""The example: the generator of events and the job that counts them, as any other jobs of the workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources

from pipelines.domain.errors import AlreadyExists
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Run
from pipelines.domain.requests import ResumeRequest, RunRequest
from pipelines.workspace import resumes, runs
from pipelines.workspace.context import Context

GENERATOR = JobName("post_events")
COUNTER = JobName("post_engagement")
SECONDS_A_FILE = "2"
"""The counter reads a file a second: with one written every other second it catches up after a pause, and so do its forks."""
DATA_ONLY = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}
"""Events never end, so the next file's batch closes the windows: an empty batch after each one would only double them."""


def start(context: Context) -> Sequence[Run]:
    """Runs of both jobs: begun, gone on with, or left alone where they are live."""
    events = str(context.layout.output(GENERATOR))
    return [
        _start(context, GENERATOR, ("--out", runs.OUTPUT, "--interval", SECONDS_A_FILE), {}),
        _start(context, COUNTER, ("--events", events, "--output", runs.OUTPUT), DATA_ONLY),
    ]


def code(script: str) -> str:
    """The text of one of the package's jobs."""
    return resources.files("pipelines.jobs").joinpath(script).read_text(encoding="utf-8")


def _start(context: Context, name: JobName, args: tuple[str, ...], conf: Mapping[str, str]) -> Run:
    with context.holding(name):
        newest = runs.newest(context, name) if context.layout.wanted_file(name).is_file() else None
        if newest is None:
            script = f"{name}.py"
            return runs.begin(context, RunRequest(name, script, code(script), args, conf, source=f"pipelines/jobs/{script}"))
        return newest if newest.state.live else _go_on(context, name)


def _go_on(context: Context, name: JobName) -> Run:
    run = resumes.resume(context, name, ResumeRequest())
    if not isinstance(run, Run):
        raise AlreadyExists("example.exists", f"Job {name} cannot go on by itself", "Resume or forget it.")
    return run
