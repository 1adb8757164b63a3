"""Looks after alerts, in a thread of its own beside the supervisor's: what fires, what is over, and who is told.

A message is due as long as its state says so: what a server could not send before it ended, the next one sends. What was sent is written
down at once, so that it is not sent again: only a server that is killed between the two lets the next one say it twice.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from pipelines.domain.alert_rules import rules_of
from pipelines.domain.alerts import AGAIN_MS, Alert, AlertSettings, AlertState, Channel, Told, is_due
from pipelines.domain.errors import TidemarkError, Unavailable
from pipelines.domain.jobs import JobSummary
from pipelines.domain.moments import DAY_MS
from pipelines.supervisor.readings import Readings
from pipelines.words import alerts as words
from pipelines.workspace import events, message_worker
from pipelines.workspace.alerts import states as alert_states
from pipelines.workspace.context import Context

log = logging.getLogger("tidemark.alerts")
INTERVAL_S = 2.0
AT_ONCE = 4
"""So many messages are under way, at most one to a channel; others stay due."""
ATTEMPTS, FIRST_WAIT_S, LONGEST_WAIT_S = 5, 1.0, 30.0
KEPT_MS = DAY_MS
"""The end of an alert that could not be said for so long is not said any more."""
SAID = {AlertState.FIRING: "alert.firing", AlertState.RESOLVED: "alert.resolved"}


class Alerter:
    """The alerts of one workspace."""

    def __init__(self, context: Context, first_wait_s: float = FIRST_WAIT_S) -> None:
        self._context = context
        self._readings = Readings(context)
        self._first_wait_s = first_wait_s
        self._ended = threading.Event()
        self._pool = ThreadPoolExecutor(AT_ONCE, "message")
        self._sending: dict[str, Future[None]] = {}
        """By channel."""
        self._blocked_ms: dict[str, int] = {}
        """Until when a channel is told nothing, because nothing could be written down."""
        self._complained = ""
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Ticks every two seconds until it is closed."""
        self._thread = threading.Thread(target=self._work, name="alerts", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Waits for messages under way to be accepted or not; those that wait for another attempt stay due."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._pool.shutdown(cancel_futures=True)

    def tick(self) -> None:
        """One look at every job. What keeps it from that is an event, once."""
        try:
            self._look()
            self._complained = ""
        except TidemarkError as error:
            if self._complained != error.message:
                self._complained = error.message
                events.say(self._context, "supervisor.failed", None, "", f"alerts are not attended to: {error.message}. {error.hint}")

    def _look(self) -> None:
        """What has been sent is let go of first: the states read after that say so. A message that ends later keeps its channel until the
        next look, or it would be sent once more by states of before."""
        self._context.files.check()
        settings, now_ms = self._context.files.alert_settings(), self._context.now_ms()
        self._reap(now_ms)
        if not settings.rules and not self._context.files.alert_states().alerts and not self._readings.has_rules():
            return
        jobs = self._readings.jobs()
        after: list[Alert] = []

        def looked(before: tuple[Alert, ...]) -> Sequence[Alert]:
            after[:] = self._after(before, jobs, settings, now_ms)
            return after

        before = alert_states.change(self._context, looked)
        for alert in after:
            if alert.state in SAID and not any(earlier.is_same(alert) and earlier.state is alert.state for earlier in before):
                message = words.message(alert)
                events.say(self._context, SAID[alert.state], alert.job, alert.rule, f"{message.title}: {alert.words}".rstrip(": "))
        self._send(after, jobs, settings, now_ms)

    def _after(self, before: Sequence[Alert], jobs: Sequence[JobSummary], settings: AlertSettings, now_ms: int) -> list[Alert]:
        """What becomes of each; one whose rule or job is gone is resolved."""
        open_ones = [earlier for earlier in before if earlier.state is not AlertState.RESOLVED]
        after = [earlier for earlier in before if earlier.state is AlertState.RESOLVED and self._is_unsaid(earlier, settings, now_ms)]
        looked_at: list[Alert] = []
        for job in jobs:
            for rule in rules_of(job.job.alerts, settings.rules):
                held = next((earlier for earlier in open_ones if (earlier.rule, earlier.job) == (rule.name, job.job.name)), None)
                looked_at += [held] if held else []
                alert = self._readings.advance(rule, job, held, now_ms)
                after += [alert] if alert else []
        gone = [earlier for earlier in open_ones if earlier not in looked_at and earlier.state is AlertState.FIRING]
        return [*after, *(replace(earlier, state=AlertState.RESOLVED, resolved_ms=now_ms) for earlier in gone)]

    def _is_unsaid(self, alert: Alert, settings: AlertSettings, now_ms: int) -> bool:
        told = [alert.told_of(channel.name) for channel in settings.channels]
        return now_ms - (alert.resolved_ms or 0) < KEPT_MS and any(
            entry.firing_ms is not None and entry.resolved_ms is None for entry in told
        )

    def _send(self, alerts: Sequence[Alert], jobs: Sequence[JobSummary], settings: AlertSettings, now_ms: int) -> None:
        """Begins what is due, the longest first; a channel that still has a message under way is told later."""
        rules = {(job.job.name, rule.name): rule for job in jobs for rule in rules_of(job.job.alerts, settings.rules)}
        for alert in sorted(alerts, key=lambda alert: alert.since_ms):
            rule = rules.get((alert.job, alert.rule))
            for channel in settings.channels:
                is_free = channel.name not in self._sending and self._blocked_ms.get(channel.name, 0) <= now_ms
                is_meant = alert.state is AlertState.RESOLVED or (rule is not None and channel.name in (rule.channels or (channel.name,)))
                repeat_ms = rule.repeat_ms if rule else 0
                if is_meant and is_free and is_due(alert, channel.name, repeat_ms, settings.silences, now_ms):
                    self._sending[channel.name] = self._pool.submit(self._tell, channel, alert)

    def _reap(self, now_ms: int) -> None:
        """Lets go of what has ended. Where nobody could write down what came of it, the channel has to wait: it would be said again."""
        for channel in [channel for channel, future in self._sending.items() if future.done()]:
            error = self._sending.pop(channel).exception()
            if error is not None:
                log.error("a message to %s", channel, exc_info=error)
                self._blocked_ms[channel] = now_ms + AGAIN_MS
                events.say(self._context, "alert.failed", None, channel, f"channel {channel}: {type(error).__name__}: {error}")

    def _tell(self, channel: Channel, alert: Alert) -> None:
        """Tells the channel, again and again where it does not take it, and writes down what came of it."""
        told = alert.told_of(channel.name)
        try:
            self._attempts(channel, alert)
        except TidemarkError as error:
            if not self._ended.is_set():
                self._failed(channel, alert, error.message)
        else:
            is_over, now_ms = alert.state is AlertState.RESOLVED, self._context.now_ms()
            told = replace(told, resolved_ms=now_ms) if is_over else replace(told, firing_ms=now_ms)
            self._keep(alert, replace(told, failed_ms=None, error=""))

    def _attempts(self, channel: Channel, alert: Alert) -> None:
        waits = wait_exponential_jitter(multiplier=self._first_wait_s, max=LONGEST_WAIT_S, jitter=self._first_wait_s)
        again, ends = retry_if_exception_type(Unavailable), stop_after_attempt(ATTEMPTS)
        retrying = Retrying(stop=ends, wait=waits, retry=again, sleep=self._sleep, reraise=True)
        retrying(message_worker.send, self._context.message_workers, channel, words.message(alert))

    def _sleep(self, seconds: float) -> None:
        """Waits for the next attempt; Unavailable (`channel.closed`) where the server ends meanwhile."""
        if self._ended.wait(seconds):
            raise Unavailable("channel.closed", "The server ends", "The next one sends it.")

    def _failed(self, channel: Channel, alert: Alert, reason: str) -> None:
        told = alert.told_of(channel.name)
        self._keep(alert, replace(told, failed_ms=self._context.now_ms(), error=reason))
        if told.error != reason:
            events.say(self._context, "alert.failed", alert.job, alert.rule, f"{alert.job}: {alert.rule} could not be sent: {reason}")

    def _keep(self, alert: Alert, told: Told) -> None:
        """Writes down what the channel was told, whatever has become of the alert meanwhile."""
        alert_states.change(self._context, lambda alerts: [other.telling(told) if other.is_same(alert) else other for other in alerts])

    def _work(self) -> None:
        while not self._ended.wait(INTERVAL_S):
            try:
                self.tick()
            except Exception:
                log.exception("a look at alerts failed")
