"""Alerts in words: a rule, what it finds in a job, and the message that is sent of it. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from pipelines.domain.alert_rules import SECONDS, Condition, Reading, Rule, condition
from pipelines.domain.alerts import Alert, AlertState, Channel, Silence
from pipelines.domain.findings import Problem
from pipelines.domain.moments import spelt_duration
from pipelines.domain.runs import RunState
from pipelines.words import formats
from pipelines.words.figures import ALERTABLE, Seen, metric_of, value_of

TEST_TITLE, TEST_BODY = "Test of Tidemark's alerts", "This channel works: alerts that name it are sent here."
_ENDED = (None, RunState.STOPPED, RunState.FINISHED)


@dataclass(frozen=True)
class Message:
    """What is sent: `kind` is Apprise's (`failure`, `success`, `info`)."""

    title: str
    body: str
    kind: str


def reading(rule: Rule, seen: Seen) -> Reading:
    """What the rule finds in the job now; Invalid where the rule cannot be read. A job that ends at a poison batch has failed, too."""
    rule_condition = condition(rule)
    if rule_condition.problem is not None:
        problems = {rule_condition.problem} | ({Problem.POISON} if rule_condition.problem is Problem.FAILED else set())
        finding = next((candidate for candidate in seen.job.findings if candidate.problem in problems), None)
        return Reading(finding is not None, finding is None, ": ".join(filter(None, (finding.title, finding.words))) if finding else "")
    has_ended = seen.job.state in _ENDED
    lasts = not has_ended or _lasts(rule_condition)
    value = value_of(rule_condition, seen) if lasts or seen.job.job.schedule.run_at else None
    if value is None:
        return Reading(holds=False, is_over=not lasts, words="")
    return Reading(
        rule_condition.holds(value),
        rule_condition.is_over(value),
        f"{rule_condition.figure} is {amount(rule_condition.figure, value)}; {_limit(rule_condition)}",
    )


def _lasts(rule_condition: Condition) -> bool:
    """Whether the figure is of now for a job that has ended; between two runs that a schedule begins so is any that is known."""
    figure = ALERTABLE.get(rule_condition.figure)
    return figure is not None and figure.lasts


def amount(figure: str, value: float) -> str:
    """`5m 12s` of seconds, `1.2 GB` of bytes, else the number."""
    if math.isinf(value):
        return "endless"
    if SECONDS in figure and "timestamp" not in figure:
        return formats.duration(value * 1_000) if value >= 0 else f"-{formats.duration(-value * 1_000)}"
    if figure.endswith("_bytes") or "_bytes in " in figure:
        return formats.size(value) if value >= 0 else f"-{formats.size(-value)}"
    return f"{value:,.10g}"


def _limit(condition: Condition) -> str:
    return f"limit {condition.sign} {amount(condition.figure, condition.limit)}"


def spelt(rule: Rule) -> str:
    """`event_time_lag_seconds > 5m for 10m; over at 1m for 5m; again every 4h; to oncall`."""
    parts = [f"{rule.when}{f' for {spelt_duration(rule.for_ms)}' if rule.for_ms else ''}"]
    if rule.clear or rule.clear_for_ms:
        at, long = f" at {rule.clear}" if rule.clear else "", f" for {spelt_duration(rule.clear_for_ms)}" if rule.clear_for_ms else ""
        parts.append(f"over{at}{long}")
    parts += [f"again every {spelt_duration(rule.repeat_ms)}"] if rule.repeat_ms else []
    parts += [f"to {', '.join(rule.channels)}"] if rule.channels else []
    return f"off ({'; '.join(parts)})" if rule.off else "; ".join(parts)


def metric(rule: Rule) -> str:
    """`tidemark_job_event_time_lag_seconds in /metrics`: the name of the rule's figure there; empty where it has none."""
    name = metric_of(re.split(r"[\s<>=]", rule.when, maxsplit=1)[0])
    return f"{name} in /metrics" if name else ""


def place(channel: Channel) -> str:
    """`$TIDEMARK_ONCALL_URL`, `/run/secrets/oncall`: where the address is, never the address."""
    return f"${channel.env}" if channel.env else channel.file


def silence(quiet: Silence) -> str:
    """`alert lag of counts`, `all alerts of counts`, `all alerts`."""
    which = f"alert {quiet.rule}" if quiet.rule else "all alerts"
    return f"{which} of {quiet.job}" if quiet.job else which


def told(alert: Alert) -> str:
    """`sent to oncall; mail failed: the service answered 503`; a dash where nothing was sent."""
    sent = [record.channel for record in alert.told if record.firing_ms is not None]
    failed = [f"{record.channel} failed: {record.error}" for record in alert.told if record.failed_ms is not None]
    return "; ".join([*([f"sent to {', '.join(sent)}"] if sent else []), *failed]) or formats.MISSING


def message(alert: Alert) -> Message:
    """What is sent of it now."""
    is_over = alert.state is AlertState.RESOLVED
    title = f"[{'RESOLVED' if is_over else 'FIRING'}] {alert.job}: {alert.rule}"
    lasted = f" after {formats.duration((alert.resolved_ms or 0) - alert.since_ms)}" if is_over else ""
    lines = [alert.words, f"since {formats.exact(alert.since_ms, None)}{', over' if is_over else ''}{lasted}"]
    return Message(title, "\n".join(filter(None, lines)), "success" if is_over else "failure")
