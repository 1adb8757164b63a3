"""The dashboard on a workspace in memory, to look at pages without Spark: `python -m tests.browser.on_fakes --busy`."""

from __future__ import annotations

import argparse
import time

import uvicorn

from dashboard import server, session
from pipelines.api.app import create_api
from pipelines.domain.requests import RunRequest
from tests import faces, samples
from tests.browser import pasts, waves
from tests.faces import FakeFace
from tests.memory import Memory

DAMAGED = "sp-000000000003"


def main() -> None:
    """Serves until it is told to end; the fakes' time is the moment of the start."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--port", type=int, default=0)
    asked.add_argument("--busy", action="store_true", help="with jobs run elsewhere and operations under way")
    asked.add_argument("--damaged", action="store_true", help="with a savepoint and a failed job that are damaged")
    asked.add_argument("--memory", action="store_true", help="with much state of several kinds")
    asked.add_argument("--jobs", type=int, default=0, help="with so many jobs more")
    asked.add_argument("--past", action="store_true", help="those jobs with a day behind them: savepoints, forks, some that ended")
    given = asked.parse_args()
    faces.NOW_MS = samples.NOW_MS = int(time.time() * 1_000)
    face = FakeFace.busy() if given.busy else FakeFace.sample()
    vars(face)["series"] = waves.series
    for number in range(given.jobs):
        face.run(RunRequest(f"job_{number}", "job.py", "print('a')\n"))
    if given.past:
        pasts.give(face, given.jobs)
    if given.memory:
        face.memory = Memory(rows=25_000, several=True)
    if given.damaged:
        face.damaged |= {DAMAGED, "post_engagement_split"}
        face.verify(DAMAGED)
    session.open_with(face)
    server.api.app = create_api(face)
    with server.listening("127.0.0.1", given.port) as bound:
        print(f"serves {server.url_of(*bound.getsockname()[:2])}", flush=True)
        uvicorn.Server(uvicorn.Config(server.app, ws="websockets-sansio", log_level="warning")).run(sockets=[bound])


if __name__ == "__main__":
    main()
