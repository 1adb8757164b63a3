"""Restarts in words: strategies, decisions, the batch that a job failed at. Pure."""

from __future__ import annotations

from pipelines.domain.jobs import Job, Run
from pipelines.domain.restart_strategies import Strategy
from pipelines.domain.restarts import FailedBatch, RestartDecision, SourceSpan
from pipelines.domain.runs import Exit
from pipelines.words import formats, offsets, probations

MENDS = (
    "Fork the job from now with changed code: the savepoint holds the batch before this one. Or resume it with changed code, which does "
    "this batch again: have it leave out the rows that it cannot process. Or leave the whole batch out: the job goes on after it as if its "
    "input had not been there."
)
"""What can be done about a poison batch."""
FIRST_MENDS = (
    "It is the first batch of its query, so that there is no state before it to fork or to go on from. Resume the job with changed code, "
    "which does this batch again: have it leave out the rows that it cannot process. Or mend its input, and resume the job as it is."
)
"""What can be done where it is the first batch of its query."""


def strategy(job: Job) -> str:
    """`fixed-delay --attempts 3`; of a job for which nobody chose one what that means."""
    usual = "usual: exponential-delay, none where its queries end by themselves"
    spelt = str(job.restarts)
    return spelt.replace(Strategy.USUAL.value, usual, 1) if job.restarts.strategy is Strategy.USUAL else spelt


def waits(at_ms: float | None, now_ms: float) -> str:
    """`restarting in 40.0 s`."""
    return f"restarting in {formats.duration(at_ms - now_ms)}" if at_ms is not None and at_ms > now_ms else "restarting now"


def attempt(decision: RestartDecision) -> str:
    """`attempt 3 of 5`."""
    return f"attempt {decision.attempt}{f' of {decision.most}' if decision.most is not None else ''}"


def cause(ended: Exit | None) -> str:
    """`[DIVIDE_BY_ZERO] Division by zero`, Spark's error class first; of an error of Python's that Spark hands on, that one, too."""
    if ended is None:
        return ""
    text = _first(ended.message)
    if not ended.error_class:
        return text
    tag = f"[{ended.error_class}]"
    return text[text.index(tag) :] if tag in text else f"{tag} {text}".strip()


def _first(message: str) -> str:
    """The first line; where it ends with a colon, with the last one, which says what it announces."""
    first, *more = message.strip().splitlines() or [""]
    return f"{first} {more[-1].strip()}" if more and first.endswith(":") else first


def failed_at(decision: RestartDecision) -> str:
    """`counts failed 3 times in a row at batch 7`; empty where the batch is not known."""
    batch = decision.batch
    if batch is None:
        return ""
    again = f" {decision.poison} times in a row" if decision.poison else ""
    return f"{batch.query} failed{again} at batch {batch.batch:,}"


def next_step(run: Run, now_ms: float) -> str:
    """What became of the job after a run of it failed: `restarted after 1.04 s`, `waits`, `not restarted: …`; empty of any other run."""
    decision = run.restart
    if decision is None:
        return ""
    if decision.back is not None:
        return probations.decision(decision, goes_on=run.state.goes_on)
    if decision.at_ms is None:
        return f"not restarted: {decision.why}"
    if not run.state.goes_on:
        return f"restarted, {attempt(decision)}"
    why = f": {decision.why}" if decision.why else ""
    return f"{waits(decision.at_ms, now_ms)}, {attempt(decision)}{why}"


def span(source: SourceSpan) -> str:
    """What a batch reads of a source: `entry 6 of the file log → entry 7 of the file log, 1 file`."""
    most = "at most " if source.at_most else ""
    amount = "" if source.amount is None else f", {most}{formats.plural(source.amount, source.unit.removesuffix('s'))}"
    return f"{offsets.words(source.before)} → {offsets.words(source.offset)}{amount}"


def left_out(batch: FailedBatch) -> list[tuple[str, str]]:
    """What is never read where the batch is left out: each source with its span and its first files."""
    files = ", ".join(name for source in batch.sources for name in source.files)
    spans = [(f"not read of {source.source}", span(source)) for source in batch.sources]
    return [("left out", f"batch {batch.batch:,} of {batch.query}"), *spans, *([("files", files)] if files else [])]


def passed(job: str, batch: FailedBatch) -> str:
    """`counts left out batch 7 of totals: entry 6 of the file log → entry 7 of the file log, 1 file`."""
    spans = "; ".join(map(span, batch.sources))
    return f"{job} left out batch {batch.batch:,} of {batch.query}" + (f": {spans}" if spans else "")


def mends(batch: FailedBatch) -> str:
    """What can be done about a poison batch."""
    return FIRST_MENDS if batch.is_first else MENDS


def _commands(job: str, batch: FailedBatch) -> str:
    if batch.is_first:
        return f"resume {job} --code FILE; or resume {job}"
    return f"savepoint {job}, then fork SAVEPOINT --name NAME --code FILE; or resume {job} --code FILE; or resume {job} --past-batch"


def poison(run: Run | None) -> list[tuple[str, str]]:
    """The batch that a job was stopped at, and what it reads of each source; empty for any other job."""
    decision = run.restart if run else None
    if decision is None or decision.batch is None or not decision.poison:
        return []
    spans = [(f"it reads of {source.source}", span(source)) for source in decision.batch.sources]
    job = run.job if run else ""
    ways = [("what to do", mends(decision.batch)), ("commands", _commands(job, decision.batch))]
    return [("poison batch", failed_at(decision)), *spans, ("its input rows", f"input-rows {job}"), *ways]
