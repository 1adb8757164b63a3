"""Alerts on golden jobs, with a clock that the test sets and a real webhook: when they fire, what is sent, and what outlasts a server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.domain.alerts import AGAIN_MS, Alert, AlertState
from pipelines.domain.errors import Conflict, Invalid, NotFound, TidemarkError, Unavailable
from pipelines.domain.findings import Problem
from pipelines.domain.runs import PROGRESS_FILE, RunState
from pipelines.supervisor import alerts
from pipelines.supervisor.alerts import ATTEMPTS, Alerter
from pipelines.verbs.acknowledge import Acknowledge
from pipelines.verbs.alerts import ShowAlerts
from pipelines.verbs.annotate import Annotate
from pipelines.verbs.channel import SetChannel
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.holdings import AskHoldings
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.schedule import SetSchedule
from pipelines.verbs.set_alert import SetAlert
from pipelines.verbs.silence import SilenceAlerts
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.verbs.try_channel import TryChannel
from pipelines.workspace import ingestion
from pipelines.workspace.alerts import states as alert_states
from pipelines.workspace.context import Context
from tests.sourced import lay_input
from tests.supervisor.webhook import Webhook, webhook
from tests.waiting import until
from tests.workspace.conftest import House as Opened
from tests.workspace.conftest import progress_line

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
BEGAN_MS = 500_000 * HOUR_MS


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now_ms = BEGAN_MS

    def __call__(self) -> int:
        return self.now_ms


class House(Opened):
    """A workspace that looks after its alerts."""

    def __init__(self, root: Path) -> None:
        self.hand = Clock()
        super().__init__(root)
        self.clock = self.hand  # type: ignore[assignment]
        self.reopen()
        self.alerter = Alerter(self.face.context, first_wait_s=0.01)

    def restart(self) -> None:
        """The server ends, and another one begins."""
        self.alerter.close()
        self.reopen()
        self.alerter = Alerter(self.face.context, first_wait_s=0.01)

    def after(self, ms: int) -> list[Alert]:
        """Alerts once so much time has passed, they were attended to, and all that was due was sent."""
        self.hand.now_ms += ms
        self.alerter.tick()
        self.settle()
        return list(self.face.ask(ShowAlerts()).alerts)

    def settle(self) -> None:
        until(lambda: all(future.done() for future in self.alerter._sending.values()))
        self.alerter.tick()
        until(lambda: all(future.done() for future in self.alerter._sending.values()))

    def kinds(self) -> list[str]:
        return [event.kind for event in reversed(self.face.ask(ListEvents(kind="alert")))]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    here = House(tmp_path / "ws")
    yield here
    here.alerter.close()
    here.face.close()


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Webhook]:
    with webhook() as listening:
        monkeypatch.setenv("TIDEMARK_ONCALL_URL", listening.url)
        yield listening


def states(alerts: list[Alert]) -> list[tuple[str, str, str]]:
    return [(alert.rule, alert.job, alert.state.value) for alert in alerts]


def test_it_is_pending_then_fires_then_is_resolved_and_each_is_said_once(house: House, hook: Webhook) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    do(house.face, SetChannel("oncall", env="TIDEMARK_ONCALL_URL"))
    do(house.face, SetAlert("down", when="up < 1", for_ms=5 * MINUTE_MS, clear_for_ms=2 * MINUTE_MS))
    assert house.after(0) == []
    house.see(run, RunState.FAILED)
    assert states(house.after(MINUTE_MS)) == [("down", "a", AlertState.PENDING)]
    assert hook.asked == 0
    (fires,) = house.after(5 * MINUTE_MS)
    assert (fires.state, fires.words) == (AlertState.FIRING, "up is 0; limit < 1")
    house.after(HOUR_MS)
    assert hook.titles == ["[FIRING] a: down"] and hook.bodies[0]["type"] == "failure"
    finding = next(finding for finding in house.face.ask(ShowJob("a")).summary.findings if finding.problem is Problem.ALERT)
    assert (finding.title, finding.words) == ("alert down", "up is 0; limit < 1")
    assert any(finding.problem is Problem.ALERT for finding in house.face.ask(ListJobs())[0].findings)
    house.see(run, RunState.RUNNING)
    (house.folder(run) / "exit.json").unlink()
    house.see(run, RunState.RUNNING)
    assert states(house.after(MINUTE_MS)) == [("down", "a", AlertState.FIRING)], "it is over, and not for long enough"
    assert house.after(2 * MINUTE_MS) == []
    assert hook.titles == ["[FIRING] a: down", "[RESOLVED] a: down"] and hook.bodies[1]["type"] == "success"
    house.after(HOUR_MS)
    assert hook.asked == 2
    assert house.kinds() == ["alert.channel", "alert.set", "alert.firing", "alert.resolved"]


def test_a_number_of_the_jobs_own_fires_and_is_over(house: House) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    do(house.face, SetAlert("bad", job="a", when="tidemark_job_observed checks.bad_rows > 5", clear="1"))
    assert house.face.ask(ShowAlerts("a")).rules[0].rule.when == "observed checks.bad_rows > 5"
    assert house.after(MINUTE_MS) == [], "no batch has said it"

    def observes(batch: int, bad_rows: float) -> list[Alert]:
        line = {**json.loads(progress_line(batch, "2026-11-20T09:00:00.000Z")), "observedMetrics": {"checks": {"bad_rows": bad_rows}}}
        house.append(run, PROGRESS_FILE, json.dumps(line) + "\n")
        ingestion.follow(house.face.context, ingestion.of_run(house.face.context, run.job, run.id))
        return house.after(MINUTE_MS)

    assert observes(1, 5) == []
    (fires,) = observes(2, 6)
    assert (fires.rule, fires.state, fires.words) == ("bad", AlertState.FIRING, "observed checks.bad_rows is 6; limit > 5")
    (lasts,) = observes(3, 3)
    assert (lasts.state, lasts.words) == (AlertState.FIRING, "observed checks.bad_rows is 3; limit > 5"), "between the two thresholds"
    assert lasts.is_same(fires)
    assert observes(4, 1) == []
    with pytest.raises(Invalid, match="There is no figure 'observed'"):
        do(house.face, SetAlert("bad", job="a", when="observed>5"))


def test_state_that_grows_too_fast_fires_and_is_over_once_it_grows_no_more(house: House) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    do(house.face, SetAlert("grows", when="growth of state_rows in 1h > 100", clear="10"))
    do(house.face, SetAlert("heavy", when="growth of state_bytes in 1d >= 1e6"))
    assert house.after(0) == [], "no batch has said it"

    def keeps(batch: int, rows: int) -> list[Alert]:
        """The alerts ten minutes later, once a batch has said how many rows of state there are."""
        house.hand.now_ms += 10 * MINUTE_MS
        at = datetime.fromtimestamp(house.hand.now_ms / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        kept = {"operatorName": "stateStoreSave", "numRowsTotal": rows, "memoryUsedBytes": rows * 1_000}
        line = {**json.loads(progress_line(batch, at)), "timestamp": at, "stateOperators": [kept]}
        house.append(run, PROGRESS_FILE, json.dumps(line) + "\n")
        ingestion.follow(house.face.context, ingestion.of_run(house.face.context, run.job, run.id))
        return house.after(0)

    assert [keeps(batch, 500 + 10 * batch) for batch in range(6)] == [[]] * 6, "it grows by 60 an hour"
    (fires,) = keeps(6, 650)
    assert (fires.rule, fires.state, fires.words) == ("grows", AlertState.FIRING, "growth of state_rows in 1h is 150; limit > 100")
    assert [alert.rule for alert in keeps(7, 2_000)] == ["grows", "heavy"]
    assert [alert.rule for alert in house.after(2 * HOUR_MS)] == ["heavy"], "no batch since, no growth"
    assert "state_bytes in 1d is 1.5 MB" in house.face.ask(ShowAlerts()).alerts[0].words


def test_of_a_job_that_has_ended_its_newest_savepoint_is_looked_after(house: House, tmp_path: Path) -> None:
    run = house.ran("a", state=RunState.STOPPED)
    house.append(run, PROGRESS_FILE, progress_line(13, "2026-11-20T09:00:00.000Z") + "\n")
    ingestion.follow(house.face.context, ingestion.of_run(house.face.context, run.job, run.id))
    lay_input(Path(run.checkpoints) / "counts", tmp_path / "input")
    first = do(house.face, Take("a"))
    do(house.face, Annotate(first.path, best_before_ms=house.hand.now_ms + HOUR_MS))
    do(house.face, SetAlert("ends", when="best_before_seconds < 2h"))
    do(house.face, SetAlert("old", when="savepoint_age_seconds > 2h"))
    do(house.face, SetAlert("slow", when="batch_age_seconds > 1m"))
    assert states(house.after(MINUTE_MS)) == [("ends", "a", AlertState.FIRING)]
    ends, old = [(rule, "a", AlertState.FIRING) for rule in ("ends", "old")]
    assert states(house.after(2 * HOUR_MS)) == [ends, old]
    do(house.face, SetSchedule("a", run_at="0 0 * * *"))
    assert states(house.after(MINUTE_MS)) == [ends, old, ("slow", "a", AlertState.FIRING)], "it is to begin again"
    do(house.face, SetSchedule("a", run_at="off"))
    assert states(house.after(MINUTE_MS)) == [ends, old]
    newest = do(house.face, Take("a"))
    assert states(house.after(MINUTE_MS)) == [ends], "nobody knows yet whether the newest one ends"
    do(house.face, AskHoldings(newest.id))
    assert house.after(MINUTE_MS) == [], "it does not, whatever becomes of the one before it"


def test_a_message_that_is_taken_while_the_states_are_read_is_sent_once(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a", state=RunState.FAILED)
    do(house.face, SetChannel("oncall", env="TIDEMARK_ONCALL_URL"))
    do(house.face, SetAlert("failed", when="failed"))
    taken, sent = threading.Event(), []

    def send(*message: object) -> None:
        sent.append(message)
        assert taken.wait(60)

    def read(context: Context, changed: Any) -> tuple[Alert, ...]:
        before = alert_states.change(context, changed)
        if sent and threading.current_thread() is threading.main_thread():
            taken.set()
            until(lambda: all(future.done() for future in house.alerter._sending.values()))
        return before

    monkeypatch.setattr(alerts, "message_worker", SimpleNamespace(send=send))
    monkeypatch.setattr(alerts, "alert_states", SimpleNamespace(change=read))
    house.alerter.tick()
    until(lambda: bool(sent))
    house.alerter.tick()
    house.settle()
    assert len(sent) == 1


def test_a_restart_sends_nothing_twice_and_what_was_not_sent(house: House, hook: Webhook) -> None:
    house.ran("a", state=RunState.FAILED)
    do(house.face, SetChannel("oncall", env="TIDEMARK_ONCALL_URL"))
    do(house.face, SetAlert("failed", when="failed"))
    house.after(0)
    house.restart()
    house.after(MINUTE_MS)
    assert hook.titles == ["[FIRING] a: failed"]
    hook.statuses = [503] * ATTEMPTS
    do(house.face, SetAlert("failed", remove=True))
    house.after(MINUTE_MS)
    assert hook.asked == 1 + ATTEMPTS
    (failed,) = house.face.ask(ListEvents(kind="alert.failed"))
    assert failed.message == "a: failed could not be sent: The channel oncall was not told: its service answered 503"
    house.restart()
    house.after(AGAIN_MS)
    assert hook.titles == ["[FIRING] a: failed", "[RESOLVED] a: failed"]
    assert house.face.context.files.alert_states().alerts == ()


def test_a_server_that_ends_waits_for_the_answer_and_the_next_one_does_not_ask_again(house: House, hook: Webhook) -> None:
    house.ran("a", state=RunState.FAILED)
    do(house.face, SetChannel("oncall", env="TIDEMARK_ONCALL_URL"))
    do(house.face, SetAlert("failed", when="failed"))
    hook.answering.clear()
    house.alerter.tick()
    until(lambda: hook.asked == 1)
    house.hand.now_ms += MINUTE_MS
    house.alerter.tick()
    assert house.face.ask(ShowAlerts("a")).alerts[0].told == (), "a slow service holds nobody up"
    hook.answering.set()
    house.restart()
    house.after(MINUTE_MS)
    assert hook.asked == 1 and hook.titles == ["[FIRING] a: failed"]


def test_what_is_acknowledged_or_silenced_is_not_said(house: House, hook: Webhook) -> None:
    house.ran("a", state=RunState.FAILED)
    do(house.face, SetChannel("oncall", env="TIDEMARK_ONCALL_URL"))
    do(house.face, SetAlert("failed", when="failed", repeat_ms=10 * MINUTE_MS))
    with pytest.raises(NotFound, match="no alert 'x' of a or the workspace"):
        do(house.face, SilenceAlerts("a", "x", for_ms=HOUR_MS))
    do(house.face, SilenceAlerts("a", for_ms=HOUR_MS))
    assert states(house.after(0)) == [("failed", "a", AlertState.FIRING)] and hook.asked == 0
    house.after(HOUR_MS)
    house.after(9 * MINUTE_MS)
    assert hook.asked == 1, "the silence is over"
    house.after(2 * MINUTE_MS)
    assert hook.asked == 2, "and it is said again"
    alert = do(house.face.acting("alice"), Acknowledge("a", "failed"))
    assert alert.acknowledged_by == "alice"
    house.after(HOUR_MS)
    assert hook.asked == 2
    assert house.face.ask(ShowAlerts("a")).alerts[0].acknowledged_by == "alice"
    with pytest.raises(NotFound):
        do(house.face, Acknowledge("a", "other"))


def test_a_jobs_rules_stand_before_the_workspaces_and_go_along(house: House) -> None:
    house.ran("a", state=RunState.FAILED)
    house.ran("b", state=RunState.FAILED)
    do(house.face, SetAlert("failed", when="failed"))
    do(house.face, SetAlert("failed", "b", off=True))
    assert states(house.after(0)) == [("failed", "a", AlertState.FIRING)]
    assert [placed.job for placed in house.face.ask(ShowAlerts("b")).rules] == ["b", ""]
    do(house.face, Fork(do(house.face, Take("b")).id, name="c"))
    assert [placed.rule.off for placed in house.face.ask(ShowAlerts("c")).rules if placed.job == "c"] == [True]
    do(house.face, SetAlert("failed", "b", remove=True))
    assert len(house.after(0)) == 2
    house.restart()
    assert len(house.face.ask(ShowAlerts()).alerts) == 2


def test_no_address_is_stored_or_shown(house: House, hook: Webhook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = tmp_path / "address"
    address.write_text(hook.url + "\n")
    do(house.face, SetChannel("oncall", env="TIDEMARK_ONCALL_URL"))
    do(house.face, SetChannel("file", file=str(address)))
    do(house.face, TryChannel("file"))
    assert hook.bodies[0]["message"].startswith("This channel works")
    shown = house.face.ask(ShowAlerts())
    assert [(seen.channel.name, seen.is_given) for seen in shown.channels] == [("oncall", True), ("file", True)]
    hook.statuses = [404]
    with pytest.raises(Unavailable) as failed:
        do(house.face, TryChannel("oncall"))
    address.write_text("s3cr3t nonsense")
    with pytest.raises(Invalid) as nonsense:
        do(house.face, TryChannel("file"))
    address.unlink()
    with pytest.raises(Invalid) as missing:
        do(house.face, TryChannel("file"))
    assert [error.value.code for error in (failed, nonsense, missing)] == ["channel.failed", "channel.address", "channel.missing"]
    messages = "".join(f"{error.value.message} {error.value.hint}" for error in (failed, nonsense, missing))
    files = "".join(path.read_text() for path in house.root.rglob("*.json*"))
    assert "s3cr3t" not in messages + files + str(shown) and "hook-0f3a" not in messages + files
    assert json.loads((house.root / "alerts.json").read_text())["channels"][0]["env"] == "TIDEMARK_ONCALL_URL"


def test_a_channel_that_a_rule_names_is_not_removed_before_the_rule_is_sent_elsewhere(house: House, hook: Webhook) -> None:
    """Else nobody would be told, or everybody."""
    house.ran("a", state=RunState.FAILED)
    for name in ("oncall", "mail"):
        do(house.face, SetChannel(name, env="TIDEMARK_ONCALL_URL"))
    do(house.face, SetAlert("failed", when="failed", channels=("oncall",)))
    do(house.face, SetAlert("lag", "a", when="event_time_lag_seconds > 5m", channels=("mail", "oncall"), off=True))
    for change in (lambda: house.face.plan(SetChannel("oncall", remove=True)), lambda: do(house.face, SetChannel("oncall", remove=True))):
        with pytest.raises(Conflict, match="sent to oncall: lag of a, failed of every job") as refused:
            change()
        assert refused.value.code == "channel.named" and "alert set" in refused.value.hint
    do(house.face, SetAlert("failed", channels=("mail",)))
    do(house.face, SetAlert("lag", "a", remove=True))
    shown = do(house.face, SetChannel("oncall", remove=True))
    assert [seen.channel.name for seen in shown.channels] == ["mail"] and shown.rules[0].rule.channels == ("mail",)
    house.after(0)
    assert hook.titles == ["[FIRING] a: failed"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (SetAlert("x"), "alert.when"),
        (SetAlert("x", when="nonsense"), "alert.when"),
        (SetAlert("x", when="no_such_figure > 1"), "alert.when"),
        (SetAlert("x", when="late_rows > many"), "alert.when"),
        (SetAlert("x", when="event_time_lag_seconds > 5 parsecs"), "duration.invalid"),
        (SetAlert("x", when="late_rows > nan"), "alert.when"),
        (SetAlert("x", when="late_rows > 5", clear="6"), "alert.clear"),
        (SetAlert("x", when="growth of state_rows > 5"), "alert.when"),
        (SetAlert("x", when="growth of batch in 1h > 5"), "alert.when"),
        (SetAlert("x", when="growth of state_rows in 32d > 5"), "alert.when"),
        (SetAlert("x", when="growth of state_rows in 0h > 5"), "duration.invalid"),
        (SetAlert("x", when="growth of state_rows in ages > 5"), "duration.invalid"),
        (SetAlert("x", when="failed", clear="6"), "alert.clear"),
        (SetAlert("../x", when="failed"), "alert.name"),
        (SetAlert("x", when="failed", channels=("nobody",)), "channel.not_found"),
        (SetAlert("x", "none", when="failed"), "job.not_found"),
        (SetAlert("x", remove=True), "alert.not_found"),
        (SetChannel("c"), "channel.place"),
        (SetChannel("c", env="json://host/secret"), "channel.place"),
        (SetChannel("c", file="json://host/secret"), "channel.place"),
        (SetChannel("c", env="A", file="/b"), "channel.place"),
        (SetChannel("c", remove=True), "channel.not_found"),
        (TryChannel("c"), "channel.not_found"),
        (SilenceAlerts(), "silence.until"),
        (SilenceAlerts(until_ms=1), "silence.until"),
        (SilenceAlerts(end=True), "silence.not_found"),
        (SilenceAlerts(rule="x", for_ms=HOUR_MS), "alert.not_found"),
    ],
)
def test_refusals(house: House, change: SetAlert | SetChannel | TryChannel | SilenceAlerts, code: str) -> None:
    with pytest.raises(TidemarkError) as refused:
        house.face.plan(change)
    assert refused.value.code == code and refused.value.hint
    assert not (house.root / "alerts.json").exists()


def test_a_wrong_name_of_a_variable_is_said_to_be_one_and_is_not_repeated(house: House) -> None:
    with pytest.raises(TidemarkError, match="no name of an environment variable") as refused:
        house.face.plan(SetChannel("c", env="json://host/secret"))
    assert "secret" not in f"{refused.value} {refused.value.hint}"


def test_a_document_that_cannot_be_read_is_said_once_and_keeps_no_job_from_its_page(house: House) -> None:
    house.ran("a", state=RunState.FAILED)
    do(house.face, SetAlert("failed", when="failed"))
    house.after(0)
    (house.root / "alerts.json").write_text('{"rules": [{"name": 5}]}')
    house.alerter.tick()
    house.alerter.tick()
    messages = [event.message for event in house.face.ask(ListEvents(kind="supervisor.failed"))]
    assert len(messages) == 1 and "alerts.json is damaged" in messages[0]
    assert house.face.ask(ListJobs())[0].job.name == "a"
