"""The whole walk of a new user, in a real browser against a real server: A is compared with B, a savepoint is
proved, exported and brought back, and a job is attached and rewound."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.conftest import artifacts, browser, page, server, watched
from tests.browser.serving import Served
from tests.browser.test_walk import JOB, stopped, walk
from tests.browser.watching import Watched
from tests.long import trusted

__all__ = ["artifacts", "browser", "page", "server", "watched"]
pytestmark = [pytest.mark.long, pytest.mark.browser, pytest.mark.spark, pytest.mark.timeout(1_800)]


def test_the_whole_walk(watched: Watched, server: Served, tmp_path: Path) -> None:
    savepoint = walk(watched, server)
    the_others_are_stopped(server)
    trusted.is_verified_and_proved(watched, server, savepoint)
    trusted.is_annotated(watched, server, savepoint)
    trusted.is_exported_and_brought_back(watched, server, savepoint, tmp_path / "archive")
    trusted.one_that_runs_elsewhere_is_attached(watched, server, f"{JOB}_fork", tmp_path / "checkpoint")
    trusted.a_stopped_job_is_rewound(watched, server, JOB)
    assert watched.errors == []


def the_others_are_stopped(server: Served) -> None:
    """The forks have shown what they should; what follows needs the processor."""
    for job in (f"{JOB}_fork", f"{JOB}_fork_b"):
        server.tell(f"/jobs/{job}/stop", {"savepoint": False})
    for job in (f"{JOB}_fork", f"{JOB}_fork_b"):
        stopped(server, job)
