"""One workspace, servers of several hosts: whatever of one dies, another takes over, and says what it knows of the drivers there."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pipelines.client.servers import active_address
from pipelines.storage.layout import Layout
from tests.browser.serving import Served
from tests.dashboard.test_standby import role, shown
from tests.two_hosts import host
from tests.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
LONGEST_S = 45.0
"""The period of the lease is in it, where a free lock is not certain to say that the other is gone; on a machine that others use, too."""
WAITS = "import time\nwhile True: time.sleep(1)\n"


def test_drivers_of_the_other_host_live_on_or_are_gone_with_it(tmp_path: Path) -> None:
    """Client mode: they are processes of the host that dies, or whose server does."""
    root = tmp_path / "shared"
    layout = Layout(root)
    with host("a", root, tmp_path) as a:
        assert role(a.server) == "active"
        for name in ("stays", "goes"):
            a.server.tell("/jobs", {"name": name, "script": "waits.py", "code": WAITS})
        until(lambda: {runs[0]["state"] for runs in shown(a.server)} == {"running"})
        with host("b", root, tmp_path) as b:
            assert (role(b.server), active_address(layout)) == ("standby", "the server on a")
            a.kill_server()
            takes_over(b.server)
            until(lambda: said(b.server, "run.elsewhere") == {"stays", "goes"})
            assert {runs[0]["state"] for runs in shown(b.server)} == {"running"}
            b.server.tell("/jobs/stays/stop", {"savepoint": False})
            until(lambda: state(b.server, "stays") == "stopped", what=(tmp_path / "b.log").read_text())
            assert state(b.server, "goes") == "running"
            a.kill()
            until(lambda: state(b.server, "goes") == "failed")
            ended = b.server.ask("/jobs/goes")["runs"][0]["exit"]
            assert ended["message"] == "its driver, a process of host a, is gone; nobody was there to see why"


def said(server: Served, kind: str) -> set[str]:
    """The jobs of which an event says so."""
    return {event["job"] for event in server.ask("/events") if event["kind"] == kind}


def state(server: Served, job: str) -> str:
    return str(server.ask(f"/jobs/{job}")["runs"][0]["state"])


def takes_over(standby: Served) -> None:
    began_s = time.monotonic()
    until(lambda: role(standby) == "active", 120, every=0.05)
    took_s = time.monotonic() - began_s
    print(f"it took over in {took_s:.1f} s")
    assert took_s < LONGEST_S
