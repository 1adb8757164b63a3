"""Runs that begin: fields that complete a script, a fork, a resume and an upgrade, and the wait until a run is up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from pipelines.cli import output
from pipelines.cli.additions import Parameter, Shown, completes, excludes, shows
from pipelines.cli.nouns import code
from pipelines.cli.nouns.stops import within
from pipelines.cli.session import Here
from pipelines.domain import syntax
from pipelines.domain.jobs import Run
from pipelines.domain.operations import BegunThenFailed
from pipelines.domain.runs import RunState
from pipelines.domain.sql_jobs import is_sql
from pipelines.verbs.check import Check
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.system import ListEvents
from pipelines.verbs.upgrade import Upgrade
from pipelines.verbs.verb import Change
from pipelines.words.verdicts import CHECKED

UP = (RunState.RUNNING, RunState.FINISHED, RunState.WATCHED)
WAITS = {
    "wait": Parameter(bool, typer.Option("--wait", help="Wait until it runs; exit code 1 if it fails before."), False),
    "timeout": within(300),
}
"""The parameters of what begins runs."""

excludes(Resume, "from_savepoint", "batch")


@completes(RunScript, "name", module=code.MODULE, event_log=code.EVENT_LOG, **code.SHIPPED)
def _script(here: Here, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The file's name, text and place, with what it needs; the job is called after it if not given."""
    path, module = here.words["script"], here.words["module"]
    called = module.rpartition(".")[2] if module else path.stem
    return {**code.of_script(here, values, path, module), "name": values.get("name", called), "source": str(path.resolve())}


@completes(Check, **code.SHIPPED)
@completes(Fork, event_log=code.EVENT_LOG, **code.SHIPPED)
def _fork(here: Here, values: Mapping[str, Any]) -> Mapping[str, Any]:
    return code.for_savepoint(here, values)


@completes(Resume, event_log=code.EVENT_LOG, **code.SHIPPED)
@completes(Upgrade, event_log=code.EVENT_LOG, **code.SHIPPED)
def _resume(here: Here, values: Mapping[str, Any]) -> Mapping[str, Any]:
    asked = code.of_script(here, values, here.words["code"])
    if (script := asked.pop("script", "")) and not is_sql(script):  # a job keeps the name of its script
        syntax.refuse(asked["code"], script)
    return {**asked, **({"conf": {**_newest_conf(here, values["job"]), **asked["conf"]}} if "conf" in asked else {})}


@shows(Run, **WAITS)
def _begun(here: Here, change: Change[Run, Any], begun: Run) -> Shown:
    """The run, with `--wait` once it is up."""
    if isinstance(change, Fork | Resume | RunScript) and change.check:
        tell_verdict(here, begun.job, begun.id)
    run = awaited(here, begun)
    return Shown(run, change.prints.format(run))


def tell_verdict(here: Here, job: str, run: str = "") -> None:
    """Says what a check has found of the code of a run that has begun (of the only one, of a new job), where its state does not mean the
    same for certain."""
    for event in here.face.ask(ListEvents(job, limit=20, kind=CHECKED)):
        if run in ("", event.subject):
            output.tell(event.message)


def awaited(here: Here, begun: Run, *, with_batch: bool = False) -> Run:
    """The run as it is, with `--wait` once it is up. BegunThenFailed where it failed before, Unavailable where it takes too long."""
    if not here.words["wait"]:
        return begun
    return here.session.until(lambda: _up(here, begun, with_batch), here.words["timeout"], f"the start of {begun.job}")


def _up(here: Here, begun: Run, with_batch: bool) -> Run | None:
    """The run once it runs (`with_batch`: and a savepoint of it can be taken), or finished; None before. BegunThenFailed where it ended
    otherwise."""
    job = here.face.ask(ShowJob(begun.job))
    run = next(run for run in job.runs if run.id == begun.id)
    if run.state in UP:
        is_early = with_batch and run.state is RunState.RUNNING and any(query.query not in job.batches for query in job.queries)
        return None if is_early else run
    if run.state.live:
        return None
    why = f"{run.exit.error_class} {run.exit.message}".strip() if run.exit else "no reason is known"
    raise BegunThenFailed("run.failed", f"{begun.job} is {run.state.value}: {why}", f"Read its log: python -m pipelines logs {begun.job}")


def _newest_conf(here: Here, job: str) -> dict[str, str]:
    """The confs of the job's newest version, to which given ones are added."""
    run = here.face.ask(ShowJob(job)).summary.run
    return dict(here.face.ask(ShowVersion(run.version)).conf) if run else {}
