"""The page of alerts, and a job's tab of them: what fires, and what can be done about it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import session
from dashboard.views.alerts import forms, lists
from pipelines.domain.alerts import Alerts, PlacedRule, Silence
from pipelines.domain.errors import Unavailable
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Event
from pipelines.verbs.acknowledge import Acknowledge
from pipelines.verbs.alerts import ShowAlerts
from pipelines.verbs.channel import SetChannel
from pipelines.verbs.set_alert import SetAlert
from pipelines.verbs.silence import SilenceAlerts
from pipelines.verbs.system import ListEvents
from pipelines.verbs.try_channel import TryChannel
from tests import samples
from tests.dashboard.opening import Opener, answered, asked, clicked, column, tables, texts
from tests.faces import FakeFace
from tests.samples import NOW_MS

JOB = "post_engagement"


def test_it_shows_what_fires_the_rules_and_who_is_told(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "alerts")
    shown = texts(app)
    assert "Firing" in shown and "event_time_lag_seconds is 6m 12s" in shown and "sent to oncall" in shown
    assert "all alerts of post_events" in shown and "$TIDEMARK_ONCALL_URL" in shown
    assert column(app, "rules_", "When") == ["event_time_lag_seconds > 5m for 5m; over at 1m", "failed"]
    assert column(app, "rules_", "Now") == ["1 firing", "–"] and "silenced until" not in shown
    face, silence = FakeFace.sample(), Silence(JOB, "lag", round(session.now_ms()) + 3_600_000, "alice", NOW_MS)
    face.answers(ShowAlerts, replace(samples.alerts(""), silences=(silence,)))
    assert "silenced until" in texts(opened(face, "alerts"))


def test_it_acknowledges_silences_and_ends_a_silence(opened: Opener) -> None:
    face = FakeFace.sample()
    clicked(opened(face, "alerts"), f"acknowledge_{JOB}_lag")
    app = opened(face, "alerts")
    answered(asked(app, f"silence_{JOB}_lag", silence_for="30m"), f"silence_{JOB}_lag", "silenced_yes")
    clicked(opened(face, "alerts"), "end_post_events_")
    changes = [Acknowledge(JOB, "lag"), SilenceAlerts(JOB, "lag", for_ms=1_800_000), SilenceAlerts("post_events", "", end=True)]
    assert face.begun == changes


def test_a_channel_is_tried_and_says_what_failed(opened: Opener) -> None:
    face = FakeFace.sample()
    app = clicked(opened(face, "alerts"), "test_oncall")
    assert [message.value for message in app.success] == ["oncall has accepted the test message."]
    face.refuses(TryChannel, Unavailable("channel.failed", "its service answered 503", "Look whether it is up."))
    assert "its service answered 503" in texts(clicked(opened(face, "alerts"), "test_oncall"))


def test_a_channel_and_a_rule_are_added(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "alerts")
    answered(asked(app, "add_channel", channel_name="mail", channel_file="/run/mail"), "add_channel", "channel_yes")
    app = opened(face, "alerts")
    typed = {"rule_name": "late", "rule_job": JOB, "rule_when": "recent_late_rows > 10", "rule_for_ms": "5m"}
    answered(asked(app, "new_rule", **typed), "new_rule", "rule_yes")
    assert face.begun == [SetChannel("mail", file="/run/mail"), SetAlert("late", JOB, "recent_late_rows > 10", for_ms=300_000)]


def test_a_new_rule_of_a_name_that_is_there_says_what_it_changes(opened: Opener) -> None:
    app = asked(opened(FakeFace.sample(), "alerts"), "new_rule", rule_name="late")
    assert "There is a rule of this name" not in texts(app)
    placed = samples.alerts("").rules[0]
    typed = {"rule_name": placed.rule.name} | ({"rule_job": placed.job} if placed.job else {})
    assert "There is a rule of this name: it fires when" in texts(asked(app, "new_rule", **typed))


def test_a_rule_is_changed_and_keeps_its_other_threshold(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "job", job=JOB, tab="Alerts")
    rule = samples.alerts(JOB).rules[0].rule
    typed = {"job": JOB, "name": "lag", "when": "event_time_lag_seconds > 9m", "clear": "1m", "off": False}
    times = {"for_ms": "5m", "clear_for_ms": "", "repeat_ms": ""}
    assert app and forms._change(rule, typed | times) == SetAlert("lag", JOB, "event_time_lag_seconds > 9m", "1m")
    over = forms._change(rule, typed | times | {"when": rule.when, "clear": ""})
    assert over == SetAlert("lag", JOB, rule.when, "5m"), "over at the threshold itself"
    assert forms._change(rule, typed | times | {"when": rule.when}) is None


def test_a_rule_that_names_a_channel_which_is_gone_is_shown_so_and_keeps_its_name(opened: Opener) -> None:
    shown, face = samples.alerts(""), FakeFace.sample()
    placed = shown.rules[0]
    rule = replace(placed.rule, channels=("gone",))
    face.answers(ShowAlerts, replace(shown, rules=(PlacedRule(placed.job, rule),)))
    assert column(opened(face, "alerts"), "rules_", "Sent to") == ["gone"]
    cell = lists._sent_to(rule, {"oncall"})
    assert (cell.tone, cell.hint) == ("red", "There is no channel gone: nothing is sent there")

    def form() -> None:
        from dashboard.views.alerts import forms
        from pipelines.domain.alert_rules import Rule
        from pipelines.domain.alerts import Channel

        forms._typed("", Rule("failed", "failed", channels=("gone",)), [Channel("oncall", env="A")])

    assert AppTest.from_function(form).run().multiselect(key="rule_channels").value == ["gone"]


def test_what_cannot_be_read_is_said_and_not_set(opened: Opener) -> None:
    app = asked(opened(FakeFace.sample(), "alerts"), "new_rule", rule_name="late", rule_for_ms="soon")
    assert "is no duration" in texts(app) and app.button(key="rule_yes").disabled


def test_a_job_has_its_alerts_with_their_history(opened: Opener) -> None:
    face = FakeFace.sample()
    face.happened = [Event(NOW_MS - 60_000, "alert.firing", JobName(JOB), "lag", "[FIRING] lag", "supervisor")]
    app = opened(face, "job", job=JOB, tab="Alerts")
    assert tables(app)[f"rules_{JOB}"] == ["0", "1"] and "0" in tables(app)["alert_history"]
    assert ListEvents(JOB, 200, kind="alert") in face.asked


@pytest.mark.parametrize("page", ["alerts", "job"])
def test_without_any_it_says_what_a_rule_is(opened: Opener, page: str) -> None:
    face = FakeFace.sample()
    face.answers(ShowAlerts, Alerts("", (), (), (), ()))
    shown = texts(opened(face, page, **({"job": JOB, "tab": "Alerts"} if page == "job" else {})))
    assert "No rules yet" in shown


@pytest.mark.parametrize(
    ("when", "value"),
    [
        ("event_time_lag_seconds > 5m", "5m"),
        ("up<1", "1"),
        ("observed checks.count((k > 5)) <= 3", "3"),
        ("observed checks.bad_rows >= 5", "5"),
        ("failed", ""),
    ],
)
def test_a_rules_threshold_is_behind_its_last_sign(when: str, value: str) -> None:
    assert forms._threshold(when) == value
