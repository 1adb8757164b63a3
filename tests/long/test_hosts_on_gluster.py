"""One workspace on a disk that machines share, a real one: what its locks say of drivers, and what a host does that is cut off from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.client.servers import active_address
from pipelines.domain.hosts import LOST
from pipelines.storage.layout import Layout
from tests.dashboard.test_standby import role, shown
from tests.gluster import disk
from tests.long.test_hosts import WAITS, said, state, takes_over
from tests.two_hosts import host
from tests.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


def test_drivers_of_a_host_that_dies_may_live(tmp_path: Path) -> None:
    """The other host stops one by a file. Of a host that is gone it cannot know that it is: its locks may have been taken away."""
    with disk(tmp_path / "disk") as shared:
        root = shared.path / "work"
        with host("a", root, tmp_path, shared) as a:
            assert role(a.server) == "active"
            for name in ("stays", "goes"):
                a.server.tell("/jobs", {"name": name, "script": "waits.py", "code": WAITS})
            until(lambda: {runs[0]["state"] for runs in shown(a.server)} == {"running"}, 120)
            with host("b", root, tmp_path, shared) as b:
                assert (role(b.server), active_address(Layout(root))) == ("standby", "the server on a")
                a.kill_server()
                takes_over(b.server)
                until(lambda: said(b.server, "run.elsewhere") == {"stays", "goes"}, 60)
                assert {runs[0]["state"] for runs in shown(b.server)} == {"running"}
                b.server.tell("/jobs/stays/stop", {"savepoint": False})
                until(lambda: state(b.server, "stays") == "stopped", 120, what=(tmp_path / "b.log").read_text())
                assert state(b.server, "goes") == "running"
                a.kill()
                until(lambda: state(b.server, "goes") != "running", 180)
                assert b.server.ask("/jobs/goes")["runs"][0]["exit"]["error_class"] == LOST


def test_a_host_that_is_cut_off_acts_no_more(tmp_path: Path) -> None:
    """Its client of the disk is gone, and its locks with it, while its server and its driver live."""
    with disk(tmp_path / "disk") as shared:
        root = shared.path / "work"
        with host("a", root, tmp_path, shared) as a:
            a.server.tell("/jobs", {"name": "waits", "script": "waits.py", "code": WAITS})
            until(lambda: shown(a.server)[0][0]["state"] == "running", 120)
            with host("b", root, tmp_path, shared) as b:
                assert role(b.server) == "standby"
                shared.cut_off("a")
                takes_over(b.server)
                until(lambda: not a.has_server(), 120, what=(tmp_path / "a.log").read_text())
                until(lambda: state(b.server, "waits") != "running", 180)
                assert b.server.ask("/jobs/waits")["runs"][0]["exit"]["error_class"] == LOST
