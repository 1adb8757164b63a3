"""Summaries of jobs for the overview and the job's page: newest run, newest progress, key figures of the last ten minutes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipelines.catalog import jobs, observed, runs, trends
from pipelines.catalog.connection import Reader
from pipelines.catalog.tables import dicts, read
from pipelines.domain.findings import Problem, Urgency
from pipelines.domain.holdings import Holdings
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job, JobDetail, JobSummary, Run
from pipelines.domain.moments import DAY_MS, HOUR_MS
from pipelines.domain.runs import RunState
from pipelines.domain.sources import Waiting
from pipelines.domain.triggers import Trigger
from pipelines.words import catching_up
from pipelines.words.findings import of_job
from pipelines.words.limits import LAGGING_MS

_FAILED = [state.value for state in RunState if state.has_failed]
WINDOW_MS = 600_000
LINE_POINTS = 60
BEAT_MS = 60_000
"""A driver that said so long ago that it is idle may have died or hung since; longer where it says so more seldom."""

# The figures are those of the newest run that made progress; rates and lag only where that is the newest run of all.
# Of a job with several queries: rates add up, the lag is the worst, the batch is that of the first query by name.
_NEWEST = """
WITH run AS (
    SELECT job, arg_max(document, (created_ms, id)) AS document, arg_max(id, (created_ms, id)) AS id, count(*) AS runs,
           count(*) FILTER (created_ms >= $hour_ago AND coalesce((document->>'attempt')::INTEGER, 0) > 0) AS recent_restarts
    FROM runs GROUP BY job
), seen AS (
    SELECT queries.job, count(*) AS queries,
           if(count(DISTINCT coalesce(queries.document->>'trigger', '')) = 1, any_value(queries.document->>'trigger'), NULL) AS trigger
    FROM queries JOIN run ON queries.run = run.id GROUP BY queries.job
), latest AS (
    SELECT * FROM latest_progress QUALIFY run = arg_max(run, at_ms) OVER (PARTITION BY job)
), last AS (
    SELECT latest.job, arg_min(batch, query) AS batch, list({query: query, batch: batch}) AS batches,
           sum(input_rate) FILTER (at_ms >= $since AND latest.run = run.id) AS input_rate,
           sum(processed_rate) FILTER (at_ms >= $since AND latest.run = run.id) AS processed_rate,
           sum(input_rate) AS last_input_rate, sum(processed_rate) AS last_processed_rate,
           max(lag_ms) FILTER (latest.run = run.id) AS lag_ms,
           max(if(event_max_ms IS NULL, lag_ms, greatest($now - event_max_ms, 0))) FILTER (latest.run = run.id) AS lag_now_ms,
           max(at_ms + batch_ms) FILTER (latest.run = run.id) AS ended_ms, max(gap_ms) AS gap_ms,
           max($now - event_max_ms) AS late_ms, any_value(latest.run) AS last_run, min(watermark_ms) AS watermark_ms,
           sum(late_rows)::BIGINT AS late_rows,
           sum(state_rows)::BIGINT AS state_rows, sum(state_bytes)::BIGINT AS state_bytes, max(at_ms) AS last_progress_ms,
           list({query: query, observed: observed} ORDER BY query) FILTER (observed IS NOT NULL) AS observed
    FROM latest LEFT JOIN run ON run.job = latest.job GROUP BY latest.job
), idle AS (
    SELECT queries.job, count(*) FILTER (latest_idle.at_ms >= coalesce(latest.at_ms + latest.batch_ms, 0)) AS idle_queries,
           min(latest_idle.at_ms) AS idle_ms, max(latest_idle.gap_ms) AS beat_ms
    FROM queries JOIN run ON queries.run = run.id
    LEFT JOIN latest_idle ON latest_idle.run = queries.run AND latest_idle.query_id = queries.document->>'query_id'
    LEFT JOIN latest ON latest.run = queries.run AND latest.query = queries.query
    GROUP BY queries.job
), before AS (
    SELECT job, arg_min(checkpoint_bytes, at_ms) AS checkpoint_bytes FROM sizes
    WHERE at_ms BETWEEN $day_ago AND $day_ago + $hour AND $job IN ('', job) GROUP BY job
), taken AS (
    SELECT job, count(*) AS savepoints, max(created_ms) AS last_savepoint_ms,
           arg_max(document, (created_ms, id))->'holdings' AS holdings
    FROM savepoints GROUP BY job
)
SELECT jobs.document AS job, run.document AS run, coalesce(run.runs, 0) AS runs, coalesce(seen.queries, 0) AS queries,
       seen.trigger, last.batch, last.batches, last.input_rate, last.processed_rate, last.last_input_rate, last.last_processed_rate,
       last.lag_ms, last.lag_now_ms, last.late_ms, last.ended_ms, last.gap_ms, last.last_run, run.document->>'state' AS run_state,
       last.watermark_ms, coalesce(last.late_rows, 0) AS late_rows,
       last.state_rows, last.state_bytes, last.last_progress_ms, last.observed, latest_size.checkpoint_bytes,
       coalesce(taken.savepoints, 0) AS savepoints, taken.last_savepoint_ms, taken.holdings,
       coalesce(run.recent_restarts, 0) AS recent_restarts, before.checkpoint_bytes AS checkpoint_bytes_before,
       idle.idle_ms, idle.beat_ms, coalesce(idle.idle_queries, 0) AS idle_queries
FROM jobs
LEFT JOIN run ON run.job = jobs.name
LEFT JOIN seen ON seen.job = jobs.name
LEFT JOIN last ON last.job = jobs.name
LEFT JOIN taken ON taken.job = jobs.name
LEFT JOIN before ON before.job = jobs.name
LEFT JOIN idle ON idle.job = jobs.name
LEFT JOIN latest_size ON latest_size.job = jobs.name
WHERE $job IN ('', jobs.name)
"""

_BATCHES = """
SELECT query, batch FROM latest_progress WHERE job = ? QUALIFY run = arg_max(run, at_ms) OVER ()
"""

# Of the last ten minutes; of a run that failed the ten minutes before its last batch (`ends`: run -> its time).
_RECENT = """
WITH ends AS (
    SELECT unnest($runs::VARCHAR[]) AS run, unnest($ends::BIGINT[]) AS end_ms
), past AS (
    SELECT job, batch_ms, (at_ms - end_ms + $window) // $step AS bucket FROM progress JOIN ends USING (run)
    WHERE at_ms BETWEEN $oldest AND $now AND at_ms >= end_ms - $window
), recent AS (
    SELECT job, batch_ms, (at_ms - $since) // $step AS bucket FROM progress
    WHERE at_ms BETWEEN $since AND $now AND $job IN ('', job) AND job NOT IN (SELECT job FROM past)
    UNION ALL SELECT * FROM past
), line AS (
    SELECT job, list(slowest ORDER BY bucket) AS latency
    FROM (SELECT job, bucket, max(batch_ms) AS slowest FROM recent GROUP BY job, bucket) GROUP BY job
)
SELECT job, quantile_cont(batch_ms, 0.5) AS p50, quantile_cont(batch_ms, 0.99) AS p99, any_value(line.latency) AS latency
FROM recent JOIN line USING (job) GROUP BY job
"""


def listed(reader: Reader, now_ms: int, job: str = "") -> list[JobSummary]:
    """All jobs (or the one named): those that need attention first, most urgent first, then those lagging most, then by name.

    Rates and lag only of live and watched runs that progress; of a failed one those of its last batch.
    """
    newest = dicts(reader, _NEWEST, _moments(now_ms, job))
    since_ms, failures = now_ms - WINDOW_MS, _failures(newest, now_ms)
    recent: dict[str, dict[str, Any]] = {}
    waiting: Mapping[str, tuple[Waiting, ...]] = {}
    changes: Mapping[str, float] = {}
    # To plan a statement takes longer than to find nothing by it: what was not told lately is not asked for.
    if failures["runs"] or any((row["last_progress_ms"] or 0) >= since_ms for row in newest):
        recent = {row["job"]: row for row in dicts(reader, _RECENT, _window(now_ms, job) | failures)}
        waiting = trends.waiting(reader, since_ms, now_ms, job)
    if any((row["late_ms"] or 0) >= LAGGING_MS for row in newest):
        changes = trends.lag_changes(reader, since_ms, now_ms, job)
    summaries = [_summary(row, recent, waiting, changes, now_ms) for row in newest]
    return sorted((_judged(summary, now_ms) for summary in summaries), key=_order)


def detail(reader: Reader, now_ms: int, job: str) -> JobDetail:
    """All of a job's page but its series; NotFound (`job.not_found`)."""
    jobs.get(reader, job)
    summary = listed(reader, now_ms, job)[0]
    seen = runs.queries(reader, summary.run.id) if summary.run else []
    return JobDetail(summary, tuple(seen), tuple(runs.of_job(reader, job)), _batches(reader, job))


def _batches(reader: Reader, job: str) -> dict[str, int]:
    """The newest batch of each query, of the newest run that made progress."""
    rows = reader.execute(_BATCHES, [job]).fetchall()
    return dict(sorted(rows))


def _moments(now_ms: int, job: str) -> dict[str, Any]:
    hours = {"hour": HOUR_MS, "hour_ago": now_ms - HOUR_MS, "day_ago": now_ms - DAY_MS}
    return {"now": now_ms, "since": now_ms - WINDOW_MS, "job": job, **hours}


def _window(now_ms: int, job: str) -> dict[str, Any]:
    return {"since": now_ms - WINDOW_MS, "now": now_ms, "step": WINDOW_MS // LINE_POINTS + 1, "job": job}


def _failures(newest: Sequence[Mapping[str, Any]], now_ms: int) -> dict[str, Any]:
    """The runs that failed, and when each began its last batch."""
    failed = [(row["last_run"], row["last_progress_ms"]) for row in newest if row["run_state"] in _FAILED and row["last_run"]]
    runs, ends = zip(*failed, strict=True) if failed else ((), ())
    return {"runs": list(runs), "ends": list(ends), "oldest": min(ends, default=now_ms) - WINDOW_MS, "window": WINDOW_MS}


def _idle_since(newest: dict[str, Any], run: Run | None, now_ms: int) -> int | None:
    """The end of the last batch (of a run without one its start) where the driver said later, and lately, that each query is idle.

    Of several queries one may be idle while another hangs in its batch: such a job is not idle.
    """
    if newest["idle_queries"] < newest["queries"]:
        return None
    ended, idle = newest["ended_ms"] or (run.started_ms if run else None), newest["idle_ms"]
    if idle is None or ended is None or idle < ended or run is None or run.state is not RunState.RUNNING:
        return None
    fresh = now_ms - idle <= max(BEAT_MS, 3 * (newest["beat_ms"] or 0))
    return int(ended) if fresh else None


def _summary(
    newest: dict[str, Any],
    recents: dict[str, dict[str, Any]],
    waiting: Mapping[str, tuple[Waiting, ...]],
    changes: Mapping[str, float],
    now_ms: int,
) -> JobSummary:
    job = read(Job, [(newest["job"],)], "job")[0]
    run = read(Run, [(newest["run"],)], "run")[0] if newest["run"] else None
    current = run is not None and run.state.current
    past = "last_" if run is not None and run.state.has_failed and not job.attached else ""
    recent, idle_since = recents.get(job.name, {}), _idle_since(newest, run, now_ms)
    return JobSummary(
        job=job,
        state=run.state if run else None,
        run=run,
        queries=newest["queries"],
        batch=newest["batch"],
        batch_ms_p50=recent.get("p50"),
        batch_ms_p99=recent.get("p99"),
        latency=tuple(recent.get("latency", ())),
        input_rate=newest[f"{past}input_rate"] if current or past else None,
        processed_rate=newest[f"{past}processed_rate"] if current or past else None,
        lag_ms=newest["lag_ms" if idle_since or past else "lag_now_ms"] if current or past else None,
        watermark_ms=newest["watermark_ms"],
        late_rows=newest["late_rows"],
        state_rows=newest["state_rows"],
        state_bytes=newest["state_bytes"],
        checkpoint_bytes=newest["checkpoint_bytes"],
        last_progress_ms=newest["last_progress_ms"],
        savepoints=newest["savepoints"],
        last_savepoint_ms=newest["last_savepoint_ms"],
        holdings=read(Holdings, [(newest["holdings"],)], "savepoint")[0] if newest["holdings"] not in (None, "null") else None,
        restarts=max(0, newest["runs"] - 1),
        recent_restarts=newest["recent_restarts"],
        checkpoint_bytes_before=newest["checkpoint_bytes_before"],
        gap_ms=newest["gap_ms"],
        trigger=read(Trigger, [(newest["trigger"],)], "query")[0] if newest["trigger"] else None,
        idle_since_ms=idle_since,
        backlog=waiting.get(job.name, ()) if current else (),
        lag_change=changes.get(job.name) if current else None,
        observed=observed.now(newest["observed"]),
        batches_left=_batches_left(job, newest["batches"]),
    )


def _batches_left(job: Job, newest: Sequence[Mapping[str, Any]] | None) -> int | None:
    """Up to the batch of its leader's that each query ends at. One that is there already when it is forked never has a batch."""
    until = job.lead.until if job.lead else {}
    return max((until[row["query"]] - row["batch"] for row in newest or () if row["query"] in until), default=None)


def _judged(summary: JobSummary, now_ms: int) -> JobSummary:
    """The summary with its findings; the rates of a job without progress are those of the past, and nobody's now, nor is its backlog
    worked off. A job that nothing is to be said of stays as it is: a changed copy takes as long as all of the judging."""
    catching = catching_up.shown(summary)
    known = summary if catching is None else replace(summary, catching_up=catching)
    findings = tuple(of_job(known, now_ms))
    if any(finding.problem is Problem.NO_PROGRESS for finding in findings):
        left = tuple(replace(waiting, per_second=None) for waiting in known.backlog)
        return replace(known, findings=findings, input_rate=None, processed_rate=None, backlog=left, lag_change=None, catching_up=None)
    return replace(known, findings=findings) if findings else known


def _order(summary: JobSummary) -> tuple[int, float, JobName]:
    urgencies = [list(Urgency).index(finding.urgency) for finding in summary.findings]
    lag = summary.lag_ms or 0.0 if urgencies else 0.0
    return (min(urgencies, default=len(Urgency)), -lag, summary.job.name)
