"""Schedules in words: when savepoints are taken by themselves, what is kept, what came of the last time. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo

from pipelines.domain.moments import DAY_MS, HOUR_MS, spelt_duration
from pipelines.domain.retention import Judged
from pipelines.domain.schedules import UTC, Attempt, Outcome, Schedule, ScheduleState, Times
from pipelines.words import formats

USUAL_CRON: Mapping[str, str] = {"0 * * * *": "every hour", "0 0 * * *": "every day at midnight", "* * * * *": "every minute"}
LIMITS: Mapping[str, str] = {"keep": "more than are kept", "keep_ms": "older than is kept", "keep_bytes": "more bytes than are kept"}
OUTCOMES: Mapping[Outcome, str] = {
    Outcome.TAKEN: "took {savepoint}",
    Outcome.UNCHANGED: "nothing new since {savepoint}",
    Outcome.NOTHING: "no batch was committed yet",
    Outcome.FAILED: "failed: {message}",
}
PROOFS: Mapping[Outcome, str] = {
    Outcome.PROVED: "proved {savepoint}",
    Outcome.UNCHANGED: "{savepoint} was proved before",
    Outcome.NOTHING: "no savepoint was taken by schedule yet",
    Outcome.OPEN: "{savepoint} is not proved: {message}",
    Outcome.FAILED: "failed: {message}",
}


RUNS: Mapping[Outcome, str] = {
    Outcome.BEGUN: "began run {run}",
    Outcome.BUSY: "none begun: run {run} had not ended",
    Outcome.FAILED: "failed: {message}",
}


def times(when: Times | None) -> str:
    """`every hour`, `every 30m`, `by cron 5 3 * * mon`; `never`."""
    if not when:
        return "never"
    if when.every_ms:
        return {HOUR_MS: "every hour", DAY_MS: "every day"}.get(when.every_ms, f"every {spelt_duration(when.every_ms)}")
    return USUAL_CRON.get(when.cron, f"by cron {when.cron}")


def kept(schedule: Schedule) -> str:
    """`keeps 24, for 7d, at most 10.0 GB`; `keeps all`."""
    parts = [f"{schedule.keep:,}"] if schedule.keep else []
    parts += [f"for {spelt_duration(schedule.keep_ms)}"] if schedule.keep_ms else []
    parts += [f"at most {formats.size(schedule.keep_bytes)}"] if schedule.keep_bytes else []
    return f"keeps {', '.join(parts) or 'all'}"


def spelt(schedule: Schedule) -> str:
    """`by cron 0 3 * * * in Europe/Berlin, not 22:00-06:00; keeps 24`."""
    zone = schedule.zone or UTC
    placed = f" in {zone}" if zone != UTC and (schedule.blackouts or (schedule.times and schedule.times.cron)) else ""
    windows = f", not {', '.join(schedule.blackouts)}" if schedule.blackouts else ""
    return f"{times(schedule.times)}{placed}{windows}; {kept(schedule)}{_proofs(schedule)}{_runs(schedule)}"


def _proofs(schedule: Schedule) -> str:
    return f"; proves the newest {', '.join((times(Times(schedule.prove_at)), *limits(schedule)))}" if schedule.prove_at else ""


def limits(schedule: Schedule) -> list[str]:
    """`within 30m`, `on 1 processor`: of a proof, as far as they are set."""
    within = [f"within {spelt_duration(schedule.proof_limit_ms)}"] if schedule.proof_limit_ms else []
    return within + ([f"on {formats.plural(schedule.proof_cpus, 'processor')}"] if schedule.proof_cpus else [])


def _runs(schedule: Schedule) -> str:
    return f"; begins the job {times(Times(schedule.run_at))}" if schedule.run_at else ""


def spelt_own(own: Schedule) -> str:
    """Only what is set here: `every 30m, keeps 24`, `never`; empty where nothing is."""
    parts = [] if own.times is None else [times(own.times)]
    parts += [] if own.zone is None else [f"in {own.zone}"]
    parts += [] if own.blackouts is None else [f"not {', '.join(own.blackouts)}" if own.blackouts else "no blackout window"]
    parts += [kept(own)] if own.keep or own.keep_ms or own.keep_bytes or own.keep_all else []
    parts += [] if own.prove_at is None else [f"proves the newest {times(Times(own.prove_at))}"]
    parts += [f"a proof {' '.join(limits(own))}"] if limits(own) else []
    parts += [f"begins the job {times(Times(own.run_at))}"] if own.run_at else []
    return ", ".join(parts)


def line(state: ScheduleState, zone: tzinfo | None) -> str:
    """`every hour, next at 2027-01-15 14:00:00 UTC; keeps 24`."""
    if not state.schedule.times:
        return f"none{_proofs(state.schedule)}{_runs(state.schedule)}"
    first, _, rest = spelt(state.schedule).partition("; ")
    at = f", next at {formats.exact(state.next_ms[0], zone)}" if state.next_ms else ""
    return f"{first}{at}; {rest}"


def attempt(last: Attempt | None) -> str:
    """`took sp-1`, `failed: no space left`; a dash where there was none."""
    return OUTCOMES[last.outcome].format(savepoint=last.savepoint, message=last.message) if last else formats.MISSING


def proof(last: Attempt | None) -> str:
    """`proved sp-1`, `sp-1 was proved before`; a dash where there was none."""
    return PROOFS[last.outcome].format(savepoint=last.savepoint, message=last.message) if last else formats.MISSING


def run(last: Attempt | None) -> str:
    """`began run r-1`, `none begun: run r-1 had not ended`; a dash where there was none."""
    return RUNS[last.outcome].format(run=last.run, message=last.message) if last else formats.MISSING


def why(judged: Judged) -> str:
    """`more than are kept, older than is kept`, with why it stays if it does."""
    past = ", ".join(LIMITS[name] for name in judged.limits)
    return f"{past}; stays: {judged.stays}" if judged.stays else past


def missed(count: int, counted: str, reason: str, made_up: str, *, at_least: bool) -> str:
    """`3 times of its schedule were missed: no server ran; one savepoint is taken now, if there is anything new`."""
    number = f"{'at least ' if at_least else ''}{formats.plural(count, counted)}"
    return f"{number} of its schedule {'was' if count == 1 else 'were'} missed: {reason}; {made_up}"
