"""States of alerts, one document that is replaced whole: what fires, who acknowledged it, which channel was told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from pipelines.domain.alert_rules import Rule, rules_of
from pipelines.domain.alerts import Alert, AlertState, AlertStates
from pipelines.domain.errors import NotFound, TidemarkError
from pipelines.domain.findings import Finding, Problem, Urgency
from pipelines.domain.jobs import JobSummary
from pipelines.verbs.acknowledge import Acknowledge, AcknowledgePlan
from pipelines.workspace import events, runs
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans

LOCK = "alert states"


def change(context: Context, changed: Callable[[tuple[Alert, ...]], Iterable[Alert]]) -> tuple[Alert, ...]:
    """Applies one change at a time to the newest states; what was before. Nothing is written where nothing differs."""
    with context.claiming(LOCK):
        before = context.files.alert_states()
        after = AlertStates(tuple(changed(before.alerts)))
        if after != before:
            context.files.write(context.layout.alert_states_file, after)
        return before.alerts


def of_job(context: Context, job: str) -> tuple[Alert, ...]:
    """Those that are pending or fire, of a job or (without one) of all, the longest first."""
    held = (alert for alert in context.files.alert_states().alerts if alert.state is not AlertState.RESOLVED and job in ("", alert.job))
    return tuple(sorted(held, key=lambda alert: alert.since_ms))


@plans(Acknowledge)
def plan(context: Context, asked: Acknowledge) -> Planned[Alert, AcknowledgePlan]:
    """Raises NotFound (`alert.not_firing`)."""
    name = runs.known(context, asked.job)
    alert = next((alert for alert in of_job(context, name) if alert.rule == asked.alert and alert.state is AlertState.FIRING), None)
    if alert is None:
        raise NotFound("alert.not_firing", f"The alert {asked.alert!r} of {name} does not fire", "See those that do with `alerts`.")
    return Planned(AcknowledgePlan(name, alert.rule, alert.words), lambda _: _acknowledge(context, alert))


def _acknowledge(context: Context, alert: Alert) -> Alert:
    done = replace(alert, acknowledged_ms=context.now_ms(), acknowledged_by=context.actor)

    def acknowledged(alerts: tuple[Alert, ...]) -> Iterable[Alert]:
        for other in alerts:
            is_it = other.is_same(alert) and other.acknowledged_ms is None
            yield replace(other, acknowledged_ms=done.acknowledged_ms, acknowledged_by=done.acknowledged_by) if is_it else other

    change(context, acknowledged)
    events.say(context, "alert.acknowledged", alert.job, alert.rule, f"{alert.job}: {alert.rule} is acknowledged")
    return done


def with_findings(context: Context, summaries: Sequence[JobSummary]) -> Sequence[JobSummary]:
    """The jobs with a finding for each alert on a figure that fires; one on a finding shows as that. A document that cannot be read keeps
    nobody from the jobs: the supervisor says it."""
    try:
        firing = [alert for alert in of_job(context, "") if alert.state is AlertState.FIRING]
        usual = context.files.alert_settings().rules if firing else ()
    except TidemarkError:
        return summaries
    return [_with_findings(summary, [alert for alert in firing if alert.job == summary.job.name], usual) for summary in summaries]


def _with_findings(summary: JobSummary, firing: Sequence[Alert], usual: Sequence[Rule]) -> JobSummary:
    on_figures = {rule.name for rule in rules_of(summary.job.alerts, usual) if rule.when not in list(Problem)} if firing else set()
    added = [_finding(alert) for alert in firing if alert.rule in on_figures]
    urgent_first = sorted((*summary.findings, *added), key=lambda finding: list(Urgency).index(finding.urgency))
    return replace(summary, findings=tuple(urgent_first)) if added else summary


def _finding(alert: Alert) -> Finding:
    urgency, text = Urgency.WARNING, alert.words
    if alert.acknowledged_ms is not None:
        urgency, text = Urgency.NOTICE, f"{alert.words}; acknowledged by {alert.acknowledged_by}"
    return Finding(alert.job, Problem.ALERT, urgency, f"alert {alert.rule}", text, since_ms=alert.fired_ms)
