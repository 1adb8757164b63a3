"""What needs attention in a job, in words. Pure: a summary in, findings out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pipelines.domain.findings import Finding, Problem, Urgency
from pipelines.domain.holdings import Usable
from pipelines.domain.jobs import JobSummary
from pipelines.domain.runs import RunState
from pipelines.domain.schedules import Attempt, Outcome
from pipelines.domain.texts import first_line
from pipelines.words import backlog, catching_up, formats, holdings, limits, probations, restarts

_BEHIND = 1.15
AGAIN = "tried again at the next time; "
MOST_CHARS = 150
"""Of a reason that stands in a line."""


def of_job(job: JobSummary, now_ms: float) -> list[Finding]:
    """All that needs attention, most urgent first."""
    return sorted(_of(job, now_ms), key=lambda finding: list(Urgency).index(finding.urgency))


def _of(job: JobSummary, now_ms: float) -> Iterator[Finding]:
    proof = job.job.proved
    of_what = f"{proof.savepoint or 'the newest scheduled savepoint'}: " if proof else ""
    yield from _failed_by_itself(job, proof, Problem.UNPROVED, "proof failed", of_what)
    yield from _unusable(job)
    yield from _failed_by_itself(job, job.job.began, Problem.UNBEGUN, "scheduled run failed")
    if job.run is None:
        return
    if job.state is RunState.FAILED:
        yield _failed(job)
    elif job.state is RunState.RESTARTING:
        yield _waiting(job, now_ms)
    elif job.state in (RunState.STARTING, RunState.WANTED) and now_ms - job.run.created_ms > limits.starting_ms(job):
        yield _warning(job, Problem.NOT_UP, "still starting", _not_up(job), job.run.created_ms)
    elif job.state in (RunState.STARTING, RunState.WANTED):
        yield from _restarted(job)
    elif job.state is RunState.WATCHED or (job.state is RunState.RUNNING and _streams(job)):
        yield from _slow(job, now_ms)
        yield from _restarting(job)
        yield from _growing(job)
        yield from _unsaved(job, now_ms)
        yield from _failed_by_itself(job, job.job.scheduled, Problem.SCHEDULE, "scheduled savepoint failed")


def _streams(job: JobSummary) -> bool:
    """Whether it has had a query: a script without one has nothing to be late with."""
    return bool(job.queries) or job.last_progress_ms is not None


def _failed(job: JobSummary) -> Finding:
    run = job.run
    ended = run.exit if run else None
    message = first_line(ended.message) if ended else ""
    since = (run.ended_ms or (ended.at_ms if ended else None)) if run else None
    code = ended.error_class if ended else ""
    if run and run.restart and run.restart.poison:
        words = f"{restarts.failed_at(run.restart)}: {message}"
        return Finding(job.job.name, Problem.POISON, Urgency.FAILED, "poison batch", _short(words), code, since)
    return Finding(job.job.name, Problem.FAILED, Urgency.FAILED, "failed", _short(message), code, since)


def _waiting(job: JobSummary, now_ms: float) -> Finding:
    """A job that failed and begins again by itself."""
    run = job.run
    ended, decision = (run.exit, run.restart) if run else (None, None)
    if ended and decision and decision.back:
        words = _short(probations.decision(decision, goes_on=True))
        return Finding(job.job.name, Problem.WAITING, Urgency.WARNING, "going back", words, ended.error_class, ended.at_ms)
    words = _short(". ".join(filter(None, (restarts.attempt(decision) if decision else "", restarts.cause(ended)))))
    since = ended.at_ms if ended else None
    title = restarts.waits(decision.at_ms if decision else None, now_ms)
    return Finding(job.job.name, Problem.WAITING, Urgency.WARNING, title, words, ended.error_class if ended else "", since)


def _slow(job: JobSummary, now_ms: float) -> Iterator[Finding]:
    """At most one of: no batch at all, late, late but catching up, or slower than its input. An idle job is none of them."""
    if job.idle_since_ms is not None:
        return
    own, last = job.job.limits, _newest_sign_ms(job)
    if last is not None and now_ms - last > limits.quiet_ms(job):
        yield _warning(job, Problem.NO_PROGRESS, "no progress", _quiet(job, now_ms - last), last)
    elif (catching := catching_up.of_job(job)) is not None:
        yield Finding(job.job.name, Problem.CATCHING_UP, Urgency.NOTICE, "catching up", catching_up.described(catching))
    elif job.lag_ms is not None and job.lag_ms >= limits.lag_ms(job):
        words = f"event-time lag {formats.duration(job.lag_ms)}{_behind(job)}; {limits.limit(limits.lag_ms(job), own.lag_ms)}"
        grows = backlog.grows(backlog.main(job.backlog)) or _lag_grows(job)
        problem, title = (Problem.FALLING_BEHIND, "falling behind") if grows else (Problem.LAGGING, "lagging")
        yield _warning(job, problem, title, words)
    elif job.job.attached and job.watermark_ms is not None and now_ms - job.watermark_ms >= limits.lag_ms(job):
        limit = limits.limit(limits.lag_ms(job), own.lag_ms)
        words = f"its watermark is {formats.duration(now_ms - job.watermark_ms)} behind the clock, with the delay that its code allows"
        yield _warning(job, Problem.LAGGING, "lagging", f"{words}; {limit}")
    elif (backlog.behind_ms(backlog.main(job.backlog), job.input_rate) or 0) >= limits.lag_ms(job):
        words = f"{_behind(job).removeprefix(' · ')}; {limits.limit(limits.lag_ms(job), own.lag_ms)}"
        yield _warning(job, Problem.FALLING_BEHIND, "falling behind", words)
    elif _falls_behind(job):
        yield _warning(job, Problem.FALLING_BEHIND, "falling behind", _behind(job).removeprefix(" · "))


def _newest_sign_ms(job: JobSummary) -> int | None:
    """When its newest batch ended, or when its run began where that is later: a job that was stopped is not behind for it. When an
    attached job began, nobody here sees."""
    began_ms = job.run.started_ms if job.run else None
    if job.job.attached:
        return job.last_progress_ms or began_ms
    return max((at_ms for at_ms in (job.last_progress_ms, began_ms) if at_ms is not None), default=None)


def _quiet(job: JobSummary, silent_ms: float) -> str:
    what = f"no batch {'was committed' if job.job.attached else 'has ended'} for {formats.duration(silent_ms)}"
    every = f"; its trigger is every {formats.duration(job.interval_ms)}" if job.interval_ms else ""
    learnt = f"; usually one every {formats.duration(job.gap_ms)}" if job.gap_ms and not every else ""
    return f"{what}{every}{learnt}; {limits.limit(limits.quiet_ms(job), job.job.limits.quiet_ms)}"


def crowded(finding: Finding, partitions: int, cores: int) -> Finding:
    """The finding of a job whose state is spread over many more partitions than its Spark has cores."""
    where = f"its state is in {partitions:,} partitions, and its Spark has {formats.plural(cores, 'core')}"
    why = f"{where}: each batch takes a task and a store of each"
    hint = "rescale makes fewer, and for a new job --conf spark.sql.shuffle.partitions=N does"
    return replace(finding, words=f"{finding.words}; {why}; {hint}")


def _not_up(job: JobSummary) -> str:
    return f"its driver has not come up yet; {limits.limit(limits.starting_ms(job), job.job.limits.starting_ms)}"


def _restarting(job: JobSummary) -> Iterator[Finding]:
    if job.recent_restarts >= limits.restarts(job):
        own = ", set for this job" if job.job.limits.restarts else ""
        words = f"{job.recent_restarts} times in the last hour; limit {limits.restarts(job)}{own}"
        yield _warning(job, Problem.RESTARTING, "restarting often", words)
    else:
        yield from _restarted(job)


def _restarted(job: JobSummary) -> Iterator[Finding]:
    """A job that failed and began again by itself, until a batch shows that it goes on: between two failures it would seem well."""
    run = job.run
    if run is None or not run.attempt or job.idle_since_ms is not None or (job.last_progress_ms or 0) >= run.created_ms:
        return
    words = f"restart {run.attempt:,} in a row, and no batch has ended since; its log says why the run before failed"
    yield _warning(job, Problem.WAITING, "restarted", words, run.created_ms)


def _growing(job: JobSummary) -> Iterator[Finding]:
    now, before = job.checkpoint_bytes, job.checkpoint_bytes_before
    if now and before and now - before >= limits.growth_bytes(job):
        own = ", set for this job" if job.job.limits.growth_bytes else ""
        words = f"{formats.size(before)} a day ago, {formats.size(now)} now; limit {formats.size(limits.growth_bytes(job))} a day{own}"
        yield _warning(job, Problem.GROWING, "checkpoint growing", words)


def _unsaved(job: JobSummary, now_ms: float) -> Iterator[Finding]:
    begun = job.run.started_ms if job.run else None
    saved = _saved_ms(job) or begun
    if job.state_rows and begun and saved and min(now_ms - begun, now_ms - saved) > limits.unsaved_ms(job):
        none = job.last_savepoint_ms is None
        since, title = ("none was ever taken", "no savepoint") if none else ("the last one is old", "savepoint too old")
        words = (
            f"{formats.compact(job.state_rows)} rows of state; {since}; {limits.limit(limits.unsaved_ms(job), job.job.limits.unsaved_ms)}"
        )
        yield Finding(job.job.name, Problem.UNSAVED, Urgency.NOTICE, title, words, since_ms=saved)


def _saved_ms(job: JobSummary) -> int | None:
    """When its state was last in a savepoint as it is: when one was taken, or a schedule found nothing new to take."""
    last = job.job.scheduled
    unchanged_ms = last.at_ms if last is not None and last.outcome is Outcome.UNCHANGED else None
    return max(filter(None, (job.last_savepoint_ms, unchanged_ms)), default=None)


def _failed_by_itself(job: JobSummary, last: Attempt | None, problem: Problem, title: str, before: str = AGAIN) -> Iterator[Finding]:
    """Something that a schedule does failed the last time."""
    if last is not None and last.outcome is Outcome.FAILED:
        yield Finding(job.job.name, problem, Urgency.WARNING, title, _short(f"{before}{last.message}"), last.code, last.at_ms)


def _unusable(job: JobSummary) -> Iterator[Finding]:
    """Also of a job that does not run."""
    held = job.holdings
    if held is not None and held.usable is Usable.NO:
        words = _short(f"the newest savepoint can no longer be used; {holdings.why(held)}")
        yield _warning(job, Problem.UNUSABLE, "savepoint unusable", words, held.since_ms)


def _warning(job: JobSummary, problem: Problem, title: str, words: str, since_ms: int | None = None) -> Finding:
    return Finding(job.job.name, problem, Urgency.WARNING, title, words, since_ms=since_ms)


def _falls_behind(job: JobSummary) -> bool:
    return bool(job.input_rate and job.processed_rate and job.input_rate > _BEHIND * job.processed_rate and (job.batch_ms_p50 or 0) > 5_000)


def _lag_grows(job: JobSummary) -> bool:
    """Of a job whose sources do not say what waits."""
    waiting = backlog.main(job.backlog)
    known = waiting is not None and waiting.per_second is not None
    return not known and backlog.is_steady_growth(job.lag_change, (job.lag_ms or 0) / 1_000)


def _behind(job: JobSummary) -> str:
    if backlog.grows(backlog.main(job.backlog)):
        return f" · its backlog is {backlog.outlook(backlog.main(job.backlog))}"
    if _lag_grows(job):
        return f" · it grows by {formats.duration(60_000 * (job.lag_change or 0))} a minute"
    if not job.input_rate or job.processed_rate is None:
        return ""
    share = 100 * (1 - job.processed_rate / job.input_rate)
    return f" · processed rate {share:.0f} % below input" if share >= 1 else ""


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS - 1].rstrip() + "…"
