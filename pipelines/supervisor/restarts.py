"""Restarts: after a run failed what becomes of its job is decided and kept; when its time has come the next run begins.

The order, and what a crash after each step leaves: (1) the run's exit is in its file, (2) `restart.json` says what was decided: the
next supervisor decides anew, (3) the catalog has the run as restarting; (4) when it is time `resumes` begins the next run from the
checkpoint, which ends in `wanted.json`. From then on the run before has failed, and is restarted no more. One run at a time works on
the checkpoint: this one is gone with its whole session before (1), and the driver's lease keeps out any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipelines.domain import restarts
from pipelines.domain.errors import TidemarkError, Unavailable
from pipelines.domain.jobs import Run
from pipelines.domain.resources import EXCEEDED
from pipelines.domain.restarts import FailedBatch, Failure, RestartDecision
from pipelines.domain.run_specs import SPEC_FILE, RunSpec
from pipelines.domain.runs import RESTART_FILE, Exit
from pipelines.supervisor import probations
from pipelines.workspace import events, failures, repairs, resumes, runs, sources
from pipelines.workspace import restarts as decisions
from pipelines.workspace.context import Context

_CHANCES = 2**16


def after(context: Context, run: Run, ended: Exit, *, stopping: bool) -> RestartDecision | None:
    """Decides what becomes of the job after `run` ended like this, and keeps it; None where it did not fail, or somebody stops it."""
    decision = probations.after(context, run, ended, stopping=stopping)
    if decision is None:
        if stopping or ended.reason not in ("failed", "killed"):
            return None
        decision = _decide(context, run, ended)
    context.files.write(context.layout.run(run.job, run.id) / RESTART_FILE, decision)
    return decision


def _decide(context: Context, run: Run, ended: Exit) -> RestartDecision:
    started = any(sources.started_queries(context, run.job, run.id))
    why = restarts.worth(ended.error_class, ran=started or run.attempt > 0)
    if why:
        return RestartDecision(None, why=why)
    chain = _chain(context, run)
    batch = _batch(context, run, ended, chain)
    last = _failure(run, ended, batch, chain[0].restart.backoff_ms if chain and chain[0].restart else 0)
    return _decided(context, run, [last, *_failures(chain)])


def _decided(context: Context, run: Run, failed: Sequence[Failure]) -> RestartDecision:
    started = list(sources.started_queries(context, run.job, run.id))
    ends = bool(started) and all(query.trigger is not None and query.trigger.ends for query in started)
    chance = int.from_bytes(context.entropy(2), "big") / (_CHANCES - 1)
    strategy = repairs.known_job(context, run.job).restarts
    return restarts.decide(strategy, failed, ends=ends, chance=chance)


def _batch(context: Context, run: Run, ended: Exit, chain: Sequence[Run]) -> FailedBatch | None:
    """The batch of the query that failed; of a driver that was killed, or ended without a word, the one that it was in the middle of."""
    if ended.query:
        return failures.batch_of(context, run.job, run.id, ended.query)
    if ended.error_class not in ("", EXCEEDED):
        return None
    before = next((past.restart.batch for past in chain if past.restart and past.restart.batch), None)
    return failures.died_in(context, run.job, run.id, before)


def _chain(context: Context, run: Run) -> list[Run]:
    """The failed runs before `run` since somebody began the job, newest first. A schedule that begins it is nobody."""
    chain: list[Run] = []
    for past in runs.of_job(context, run.job):
        if past.id != run.id and past.created_ms <= run.created_ms:
            if past.exit is None or past.restart is None or not _follows(context, chain[-1] if chain else run):
                break
            chain.append(past)
    return chain


def _follows(context: Context, run: Run) -> bool:
    """Whether the run was begun by itself, after another."""
    if run.attempt:
        return True
    spec = context.files.find(RunSpec, context.layout.run(run.job, run.id) / SPEC_FILE)
    return spec is not None and spec.is_scheduled


def _failures(chain: Sequence[Run]) -> list[Failure]:
    return [_failure(past, past.exit, past.restart.batch) for past in chain if past.exit and past.restart]


def _failure(run: Run, ended: Exit, batch: FailedBatch | None, backoff_ms: int = 0) -> Failure:
    ran_ms = ended.at_ms - run.started_ms if run.started_ms is not None else 0
    return Failure(ended.at_ms, ran_ms, ended.error_class, run.attempt, backoff_ms, batch)


def say(context: Context, run: Run, decision: RestartDecision) -> None:
    """The event of a decision; that a job which was never restarted is not restarted now is none."""
    if decision.back is not None:
        events.say(context, "job.probation_failed", run.job, run.id, f"{run.job} goes back to version {decision.back}: {decision.why}")
    elif decision.at_ms is not None:
        of = f" of {decision.most}" if decision.most is not None else ""
        delay_s = max(0, decision.at_ms - context.now_ms()) / 1_000
        why = f": {decision.why}" if decision.why else ""
        message = f"{run.job} restarts in {delay_s:.1f} s, attempt {decision.attempt}{of}{why}"
        events.say(context, "restart.planned", run.job, run.id, message)
    elif decision.poison and decision.batch is not None:
        batch = decision.batch
        message = f"{run.job} is stopped: {batch.query} failed {decision.poison} times in a row at batch {batch.batch}"
        events.say(context, "restart.poisoned", run.job, run.id, message)
    elif run.attempt or decision.attempt:
        events.say(context, "restart.refused", run.job, run.id, f"{run.job} is not restarted: {decision.why}")


def begin(context: Context, run: Run) -> None:
    """Begins the next run of a job whose time has come. Where something outside is away it is tried again, as a restart that failed; where
    it is refused otherwise the job stays failed. Both say why."""
    decision = run.restart
    if decision is None:
        return
    try:
        resumes.restart(context, run.job, decision.attempt)
    except TidemarkError as error:
        anew = _put_off(context, run, decision, error.message) if isinstance(error, Unavailable) else None
        anew = anew or replace(decision, at_ms=None, why=f"its restart was refused: {error.message}")
        decisions.keep(context, run, anew)
        say(context, run, anew)


def _put_off(context: Context, run: Run, decision: RestartDecision, why: str) -> RestartDecision | None:
    """The restart after one that could not begin; None where the strategy has no other."""
    failed = Failure(context.now_ms(), 0, "", decision.attempt, decision.backoff_ms)
    anew = _decided(context, run, [failed, *_failures([run, *_chain(context, run)])])
    return None if anew.at_ms is None else replace(anew, batch=decision.batch, why=f"attempt {decision.attempt} could not begin: {why}")
