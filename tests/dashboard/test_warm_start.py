"""The first job of a server begins in a process that was warmed up before, whatever the libraries of pages do to the environment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.domain.processes import PROCESS_FILE
from pipelines.sandbox.pool import DRIVERS_VARIABLE, MOST_VARIABLE
from tests.browser.serving import served
from tests.waiting import until

pytestmark = pytest.mark.spark


def test_the_first_job_begins_in_a_warm_process(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    with served(root, tmp_path / "log", **{DRIVERS_VARIABLE: "1", MOST_VARIABLE: "1024"}) as server:
        until(lambda: [process["is_warm"] for process in server.ask("/about")["warm"]] == [True], 200)
        (waiting,) = server.ask("/about")["warm"]
        server.tell("/jobs", {"name": "first", "script": "first.py", "code": "print('up')\n"})
        until(lambda: bool(list(root.glob(f"jobs/first/runs/*/{PROCESS_FILE}"))), 60)
        (document,) = root.glob(f"jobs/first/runs/*/{PROCESS_FILE}")
        process = json.loads(document.read_text())
        assert process["pid"] == waiting["pid"] and process["home"]
