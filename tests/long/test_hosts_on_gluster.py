"""One workspace on a disk that machines share, a real one: what its locks say of drivers, and what a host does that is cut off from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.client.servers import active_address
from pipelines.domain.hosts import LOST
from pipelines.storage.layout import Layout
from tests.browser.serving import Served
from tests.dashboard.test_standby import role, shown
from tests.gluster import disk
from tests.long.test_hosts import WAITS, said, state, takes_over
from tests.two_hosts import host
from tests.waiting import until
from tests.workspace.serving import serving
from tests.workspace.test_job_places_exact import FILES, ONE_STORE, SCRIPT, UTC, undisturbed, write_files, writes

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]
PATIENCE_S = 400.0
ROWS = 3
"""Of a file."""


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


@pytest.mark.spark
def test_a_job_goes_on_exactly_on_the_other_host(tmp_path: Path, spark: Any) -> None:
    """Its host dies in the middle; resumed, saved and forked on the other one it has the rows of a run never interrupted."""
    folder, late = tmp_path / "in", tmp_path / "late"
    write_files(folder)
    late.mkdir()
    for path in sorted(folder.iterdir())[2:]:
        path.rename(late / path.name)

    def comes(number: int) -> None:
        (late / f"{number:03d}.json").rename(folder / f"{number:03d}.json")

    with disk(tmp_path / "disk") as shared:
        root = shared.path / "work"
        with host("b", root, tmp_path, shared) as b, host("a", root, tmp_path, shared) as a:
            job = {
                "name": "counts",
                "script": "job.py",
                "code": SCRIPT,
                "args": [folder.as_uri(), "{output}"],
                "conf": {**ONE_STORE, **UTC},
            }
            b.server.tell("/jobs", job)
            until(lambda: files_read(b.server, "counts") == 2, PATIENCE_S)
            b.kill()
            takes_over(a.server)
            until(lambda: state(a.server, "counts") == "failed", 180)
            comes(2)
            a.server.tell("/jobs/counts/resume", {})
            until(lambda: files_read(a.server, "counts") == 3, PATIENCE_S)
            saved = a.server.tell("/jobs/counts/savepoints", {"label": "after"})
            a.server.tell(f"/savepoints/{saved['id']}/fork", {"name": "fork"})
            comes(3)
            comes(4)
            until(lambda: [files_read(a.server, name) for name in ("counts", "fork")] == [FILES, FILES - 3], PATIENCE_S)
            for name in ("counts", "fork"):
                a.server.tell(f"/jobs/{name}/stop", {"savepoint": True})
            until(lambda: {runs[0]["state"] for runs in shown(a.server)} == {"stopped"}, PATIENCE_S)
        expected = undisturbed(spark, folder, tmp_path / "undisturbed")
        with serving(root) as server:
            for name in ("counts", "fork"):
                writes(server, name, expected, tmp_path)


def files_read(server: Served, job: str) -> int:
    """By this job itself, one a batch, whose windows are written, too: by a batch without input."""
    rows = [row["input_rows"] for row in server.ask(f"/jobs/{job}/batches?limit=1000")]
    return sum(rows) // ROWS if rows and rows[0] == 0 else 0
