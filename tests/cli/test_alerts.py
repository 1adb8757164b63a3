"""Alerts as text: what fires, the rules, who is told, and what is refused."""

from __future__ import annotations

import json

from pipelines.domain.alerts import Alerts
from pipelines.domain.errors import Unavailable
from pipelines.verbs.alerts import ShowAlerts
from pipelines.verbs.set_alert import SetAlert
from pipelines.verbs.silence import SilenceAlerts
from pipelines.verbs.try_channel import TryChannel
from tests.cli.doors import Door
from tests.faces import FakeFace

JOB = "post_engagement"


def test_it_shows_what_fires_the_rules_and_who_is_told() -> None:
    door = Door(FakeFace.sample())
    shown = door("alerts").stdout
    assert f"firing  {JOB}: lag, event_time_lag_seconds is 6m 12s; limit > 5m 00s" in shown and "sent to oncall" in shown
    assert "failed of every job: failed" in shown and "all alerts of post_events until" in shown
    assert "oncall, address in $TIDEMARK_ONCALL_URL" in shown
    assert json.loads(door("alerts", "--json").stdout)["alerts"][0]["state"] == "firing"


def test_without_any_it_says_how_one_is_made() -> None:
    face = FakeFace.sample()
    face.answers(ShowAlerts, Alerts("", (), (), (), ()))
    assert "alert set" in Door(face)("alerts").stdout


def test_it_sets_silences_and_refuses() -> None:
    face = FakeFace.sample()
    door = Door(face)
    assert door("alert", "set", "lag", "--job", JOB, "--when", "event_time_lag_seconds > 5m", "--for", "5m").exit_code == 0
    assert door("alert", "silence", JOB, "--for", "2h").exit_code == 0
    assert face.begun == [SetAlert("lag", JOB, "event_time_lag_seconds > 5m", for_ms=300_000), SilenceAlerts(JOB, for_ms=7_200_000)]
    assert door("alert", "silence", "--for", "2h", "--until", "23:00:00").exit_code == 2
    for beyond in ("400d", "usual"):
        refused = door("alert", "silence", JOB, "--for", beyond)
        assert (refused.exit_code, f"--for does not take '{beyond}'" in refused.stderr) == (2, True)
    assert door("alert", "channel", "c", "--env", "A", "--file", "/b").exit_code == 2
    face.refuses(TryChannel, Unavailable("channel.failed", "its service answered 503", "Look whether it is up."))
    refused = door("alert", "test", "oncall")
    assert (refused.exit_code, "its service answered 503" in refused.stderr) == (9, True)
