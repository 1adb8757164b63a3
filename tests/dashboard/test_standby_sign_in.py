"""Sign-in with a provider on a standby: there, at the active server, and after it has taken over. Two real servers, no driver."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.browser.serving import Served, served
from tests.dashboard.providers import CLIENT, SECRET, Running, running
from tests.dashboard.test_standby import role
from tests.waiting import until

JSON = {"content-type": "application/json"}


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    with running() as there:
        there.knows("1", email="ann@example.org", email_verified=True, groups=["sre"])
        given = {"ISSUER": there.issuer, "CLIENT_ID": CLIENT, "CLIENT_SECRET": SECRET, "ROLES": "sre=operator"}
        for name, value in given.items():
            monkeypatch.setenv(f"TIDEMARK_OIDC_{name}", value)
        yield there


def browser() -> httpx.Client:
    """It keeps cookies for all ports of a host, and follows no redirect by itself."""
    return httpx.Client(timeout=60, trust_env=False)


def signs_in(browser: httpx.Client, server: Served) -> httpx.Response:
    """The server's answer at the end of it all."""
    begun = browser.get(f"{server.url}/oidc/sign-in?to=/")
    assert begun.status_code == 302, begun.text
    agreed = httpx.post(begun.headers["location"], data={"sub": "1"}, trust_env=False, timeout=60)
    return browser.get(agreed.headers["location"])


def jobs(browser: httpx.Client, server: Served) -> int:
    return browser.get(f"{server.url}/api/v1/jobs").status_code


@pytest.mark.filterwarnings("ignore:get_jwt_config:DeprecationWarning")  # of the provider's own code
def test_who_signs_in_on_a_standby_is_let_in_by_both_and_signs_out_of_both_for_good(tmp_path: Path, provider: Running) -> None:
    root = tmp_path / "ws"
    with served(root, tmp_path / "active.log") as active, served(root, tmp_path / "standby.log", "--standby") as standby, browser() as ann:
        assert ann.get(standby.url).status_code == 401 and "Sign in with localhost" in ann.get(standby.url).text
        answer = signs_in(ann, standby)
        assert answer.status_code == 200 and "As ann@example.org" in answer.text
        assert (jobs(ann, standby), jobs(ann, active)) == (200, 200)
        assert ann.get(standby.url).status_code == 200
        refused = ann.post(f"{standby.url}/api/v1/jobs/a/stop", headers=JSON, json={})
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "server.standby")
        assert ann.post(f"{active.url}/api/v1/jobs/a/stop", headers=JSON, json={}).status_code == 404, (
            "an operator, and there is no such job"
        )

        with browser() as thief:
            thief.cookies.update(ann.cookies)
            assert ann.post(f"{standby.url}/sign-out").status_code == 200
            assert (jobs(thief, standby), jobs(thief, active)) == (401, 401), "also at the active server"
            assert signs_in(ann, standby).status_code == 200
            half = ann.get(f"{standby.url}/oidc/sign-in?to=/job")
            os.kill(active.pid, signal.SIGKILL)
            until(lambda: role(standby) == "active", what=(tmp_path / "standby.log").read_text())
            assert (jobs(ann, standby), jobs(thief, standby)) == (200, 401), "who was in stays in, who was out stays out"
            agreed = httpx.post(half.headers["location"], data={"sub": "1"}, trust_env=False, timeout=60)
            assert ann.get(agreed.headers["location"]).status_code == 200, "a sign-in that began before it took over"
            assert ann.post(f"{standby.url}/api/v1/jobs/a/stop", headers=JSON, json={}).status_code == 404
            lines = standby.ask("/audit")
            assert ("enter", "ann@example.org") in [(line["verb"], line["by"]) for line in lines]
