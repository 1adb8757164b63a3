"""YARN's resource manager: where it answers HTTP, and what it says of an application."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.domain.applications import Application, Stage
from pipelines.domain.errors import Unavailable
from pipelines.domain.ids import RunId
from pipelines.domain.texts import first_line

MANAGER = "yarn.resourcemanager"
HOSTNAME, WEB, WEB_TLS, IDS = (f"{MANAGER}.{name}" for name in ("hostname", "webapp.address", "webapp.https.address", "ha.rm-ids"))
POLICY = "yarn.http.policy"
PORT, PORT_TLS = 8088, 8090
OVER = ("FINISHED", "FAILED", "KILLED")
"""The states of `YarnApplicationState` that nothing follows."""
WAITING = ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED")
"""Those before its driver runs."""


def application(raw: Mapping[str, Any]) -> Application:
    """An application as the resource manager knows it (`/ws/v1/cluster/apps`): how it ended, and the first line of its diagnostics."""
    state, final = raw["state"], raw["finalStatus"]
    stage = Stage.OVER if state in OVER else Stage.WAITING if state in WAITING else Stage.RUNNING
    diagnostics = first_line(raw.get("diagnostics") or "")
    return Application(raw["id"], stage, f"{final}: {diagnostics}", final == "KILLED")


def tag(run: RunId) -> str:
    """By which the application of a run is found again."""
    return f"tidemark-{run}"


def addresses(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Where the resource managers answer HTTP, by Hadoop's settings; raises Unavailable (`master.yarn`) where these do not say it."""
    secure = settings.get(POLICY, "") == "HTTPS_ONLY"
    scheme, key, port = ("https", WEB_TLS, PORT_TLS) if secure else ("http", WEB, PORT)
    names = [f".{name.strip()}" for name in settings.get(IDS, "").split(",") if name.strip()] or [""]
    endpoints = [_address(settings, key, name, port) for name in names]
    if not any(endpoints):
        hint = f"Name {WEB} or {HOSTNAME} in yarn-site.xml: a run in cluster mode is followed by it."
        raise Unavailable("master.yarn", "Hadoop's configuration does not say where YARN's resource manager answers HTTP", hint)
    return tuple(f"{scheme}://{address}" for address in endpoints if address)


def _address(settings: Mapping[str, str], key: str, name: str, port: int) -> str:
    hostname = settings.get(f"{HOSTNAME}{name}", "")
    named = settings.get(f"{key}{name}", "").replace(f"${{{HOSTNAME}}}", hostname)
    return named or (f"{hostname}:{port}" if hostname else "")
