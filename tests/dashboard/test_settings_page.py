"""The settings: what there is, and the index made anew after one question."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from dashboard import session
from pipelines.domain.access import Caller, Role
from pipelines.domain.homes import WORKSPACE, Step, TriedStep
from pipelines.verbs.backups import CheckBackup, CreateBackup
from pipelines.verbs.homes import CheckHome, ListHomes, SetHome
from pipelines.verbs.system import RebuildCatalog, ShowAbout
from pipelines.verbs.tokens import CreateToken, ListTokens, RevokeToken
from pipelines.words.formats import MISSING
from tests import homed
from tests.dashboard.opening import Opener, agreed, answered, asked, clicked, column, tables, texts
from tests.faces import FakeFace


def test_it_says_what_jobs_and_the_workspace_stand_on(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "settings")
    words = texts(app)
    for part in (
        "/<wbr>srv/<wbr>tidemark/<wbr>data/<wbr>workspace",
        "ext4",
        "120 GB",
        "works",
        "not here",
        "http://127.0.0.1:8501",
        "1a2b3c4d5e6f",
        "this machine alone",
        "<dt>Jobs</dt><dd>3</dd>",
        "1.06 GiB of at most 3 GiB of memory",
    ):
        assert part in words
    assert tables(app) == {
        "runtimes": ["/srv/tidemark/.venv/bin/python", "/opt/python3.12/bin/python"],
        "homes": [WORKSPACE, homed.BUCKET],
        "warm": ["4712", "4713"],
        "pushes": ["OTLP", "StatsD"],
        "tokens": ["nightly"],
        "audit": ["1"],
    }
    assert ["PySpark 3.5.7 runs on Java 17 to 23" in warning.value and "--java-home" in warning.value for warning in app.warning] == [True]


def test_of_credentials_it_says_only_whether_they_are_there(opened: Opener) -> None:
    words = texts(opened(FakeFace.sample(), "settings"))
    assert 'tm-chip green square mono" title="Set' in words and "AWS_ENDPOINT_URL" in words


def test_it_says_where_metrics_are_pushed_and_whether_they_arrive(opened: Opener) -> None:
    face, now_ms = FakeFace.sample(), time.time_ns() // 1_000_000
    about = face.ask(ShowAbout())
    collector, agent = about.pushes
    agent = replace(agent, pushed_ms=now_ms - 300_500, failed_ms=now_ms - 5_000)
    face.answers(ShowAbout, lambda _: replace(about, pushes=(collector.arrived(now_ms), agent)))
    app = opened(face, "settings")
    assert column(app, "pushes", "Address") == ["http://collector:4318/v1/metrics", "udp://agent:8125"]
    arrived, away = column(app, "pushes", "Newest push")
    assert arrived.startswith("arrived ") and away == "does not arrive, last 5 min ago"
    none, refused = column(app, "pushes", "Last error")
    assert none == MISSING and refused.startswith("[Errno 111] Connection refused (")
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in texts(app)


def test_the_index_is_made_anew_after_a_question(opened: Opener) -> None:
    face = FakeFace.sample()
    app = clicked(opened(face, "settings"), "rebuild")
    assert face.begun == []
    app = agreed(app, "rebuild")
    assert face.begun == [RebuildCatalog()]
    assert "The index was made anew: 5 rows." in [message.value for message in app.success]


def test_a_disk_that_is_nearly_full_is_said(opened: Opener) -> None:
    face = FakeFace.sample()
    response = face.ask(ShowAbout())
    disk = replace(response.storage.disk, free_bytes=10_000_000_000)
    face.answers(ShowAbout, lambda _: replace(response, storage=replace(response.storage, disk=disk)))
    assert "nearly full" in texts(opened(face, "settings"))


def test_a_home_is_tried_out_and_set(opened: Opener) -> None:
    face = FakeFace.sample()
    app = asked(opened(face, "settings"), "set_home", home_url="s3://backups/other")
    app = answered(app, "set_home", "home_check")
    assert face.begun == [CheckHome("s3://backups/other")]
    assert "Savepoints can be kept here" in texts(app) + app.success[0].value and "copied by the store" in texts(app)
    broken = replace(homed.CHECK, steps=(TriedStep(Step.WRITE, 4.0, "<b>no rights</b>"),))
    face.answers(CheckHome, lambda _: broken)
    app = asked(app, "set_home", home_url="s3://locked/other")
    app = answered(app, "set_home", "home_check")
    assert "Savepoints cannot be kept here" in texts(app) and "&lt;b&gt;no rights" in texts(app) and "<b>no" not in texts(app)
    app = answered(app, "set_home", "home_yes")
    assert face.begun[-1] == SetHome("s3://locked/other")


def test_a_home_of_new_jobs_is_set_and_shown(opened: Opener) -> None:
    face = FakeFace.sample()
    app = asked(opened(face, "settings"), "set_home", home_url="s3://lake/jobs", home_jobs=True)
    app = answered(app, "set_home", "home_yes")
    assert face.begun == [SetHome("s3://lake/jobs", jobs=True)]
    face.answers(ListHomes, lambda _: replace(homed.HOMES, of_new_jobs="s3://lake/jobs"))
    assert tables(opened(face, "settings"))["homes"] == ["workspace", "s3://lake/jobs", homed.BUCKET]


def test_a_token_is_made_and_shown_this_once(opened: Opener) -> None:
    face = FakeFace.sample()
    app = asked(opened(face, "settings"), "new_token", token_name="ci", token_role=Role.OPERATOR, token_expires="soon")
    assert "is no duration" in texts(app) and app.button(key="token_yes").disabled
    app = asked(app, "new_token", token_expires="12h")
    assert "Lets in as operator until 20" in texts(app)
    app = answered(app, "new_token", "token_yes")
    assert face.begun == [CreateToken("ci", Role.OPERATOR, 43_200_000)]
    assert "tm_secret" in [code.value for code in app.code] and "kept nowhere" in "".join(message.value for message in app.success)
    assert "token create" not in "".join(code.value for code in app.code), "nothing is left to press"
    app = answered(app, "new_token", "token_done")
    assert "tm_secret" not in [code.value for code in app.code] and "token_name" not in [field.key for field in app.text_input]


def test_a_token_is_revoked_by_admins_alone(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    face = FakeFace.sample()
    (nightly,) = face.ask(ListTokens())
    face.answers(ListTokens, lambda _: (nightly, replace(nightly, name="old", role=Role.ADMIN, expires_ms=nightly.created_ms // 2)))
    app = opened(face, "settings")
    assert column(app, "tokens", "Role") == ["operator", "admin"] and column(app, "tokens", "Lets in until")[1] == "expired"
    app = asked(app, "revoke", revoked_token="nightly")
    app = answered(app, "revoke", "revoke_token_yes")
    assert face.begun == [RevokeToken("nightly")]
    face.answers(ListTokens, lambda _: ())
    assert opened(face, "settings").button(key="revoke").disabled
    monkeypatch.setattr(session, "caller", lambda: Caller("ci", Role.AUTHOR))
    app = opened(face, "settings")
    assert "tokens" not in tables(app) and [caption.value for caption in app.caption].count("Takes the role admin; yours is author") >= 2


def test_a_backup_is_planned_and_begun_and_those_at_the_place_are_listed(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "settings")
    app.text_input(key="backup_url").set_value("s3://lake/backups").run()
    assert tables(app)["backups"] == ["b-00000000000a"]
    app = clicked(app, "backup")
    assert face.begun == [] and "post_events: No streaming query of job post_events has started" in texts(app)
    app.button(key="backup").click()
    app.button(key="create_backup_yes").click().run()
    assert face.begun == [CreateBackup("s3://lake/backups")]


def test_a_backup_is_checked_by_its_id_or_the_newest(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "settings")
    app.text_input(key="backup_url").set_value("s3://lake/backups").run()
    app = clicked(app, "check_backup")
    assert "300 files" in texts(app) and "Nothing is restored" in texts(app)
    app.button(key="check_backup").click()
    app.text_input(key="checked_backup").set_value("b-00000000000a")
    app.button(key="check_backup_yes").click().run()
    assert face.begun == [CheckBackup("s3://lake/backups", "b-00000000000a")]
