"""The dashboard on a workspace in memory, to look at pages without Spark: `python -m tests.browser.on_fakes --busy`.

`POST /arrange` with a JSON list of the options below makes the workspace anew, so that one server does for many tests.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dashboard import server, session
from dashboard.views import events, live
from pipelines.api.app import create_api
from pipelines.domain.events import FAILED
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ShowSeries
from pipelines.verbs.run import RunScript
from pipelines.verbs.system import ListEvents
from pipelines.verbs.verb import Question
from pipelines.verbs.verify import Verify
from tests import faces, samples
from tests.browser import pasts, waves
from tests.copies import Copies
from tests.faces import FakeFace
from tests.memory import Memory

READ, DAMAGED = "sp-000000000002", "sp-000000000003"
REFRESH_SECONDS = live.REFRESH_SECONDS
STILL_SECONDS = 86_400


def options() -> argparse.ArgumentParser:
    """What can be asked for."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--port", type=int, default=0)
    asked.add_argument("--empty", action="store_true", help="without any job")
    asked.add_argument("--busy", action="store_true", help="with jobs run elsewhere and operations under way")
    asked.add_argument("--damaged", action="store_true", help="with a savepoint and a failed job that are damaged")
    asked.add_argument("--memory", action="store_true", help="with much state of several kinds")
    asked.add_argument("--copying", action="store_true", help="where savepoints, forks and resumes are copied until they are cancelled")
    asked.add_argument("--jobs", type=int, default=0, help="with so many jobs more")
    asked.add_argument("--past", action="store_true", help="those jobs with a day behind them: savepoints, forks, some that ended")
    asked.add_argument("--still", action="store_true", help="pages do not refresh themselves")
    return asked


def arrange(face: FakeFace, given: argparse.Namespace) -> None:
    """Makes `face` what the options say, whatever was done to it; its time is this moment."""
    faces.NOW_MS = samples.NOW_MS = int(time.time() * 1_000)
    made = FakeFace() if given.empty else FakeFace.busy() if given.busy else FakeFace.sample()
    vars(face).clear()
    vars(face).update(vars(made), ask=partial(_answered, face))
    for number in range(given.jobs):
        do(face, RunScript(name=f"job_{number}", script="job.py", code="print('a')\n"))
    if given.past:
        pasts.give(face, given.jobs)
    if given.memory:
        face.memory = Memory(rows=25_000, several=True)
        pasts.read_partly(face, READ)
    if given.damaged:
        face.damaged |= {DAMAGED, "post_engagement_split"}
        do(face, Verify(DAMAGED))
    if given.copying:
        Copies(face)
    face.answers(ListEvents(limit=events.LIMIT, kind=FAILED), face.ask(ListEvents())[:1])
    live.REFRESH_SECONDS = STILL_SECONDS if given.still else REFRESH_SECONDS
    session.open_with(face)


def _answered(face: FakeFace, question: Question[Any]) -> Any:
    """As the face says, but charts have waves to show."""
    return waves.series(question) if isinstance(question, ShowSeries) else FakeFace.ask(face, question)


def arranging(app: ASGIApp, face: FakeFace) -> ASGIApp:
    """`app`, and `/arrange` before it."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/arrange":
            await app(scope, receive, send)
            return
        arrange(face, options().parse_args(await Request(scope, receive).json()))
        await Response(status_code=204)(scope, receive, send)

    return answer


def main(arguments: Sequence[str] | None = None) -> None:
    """Serves until it is told to end."""
    given, face = options().parse_args(arguments), FakeFace()
    arrange(face, given)
    server.api.app = create_api(face)
    with server.listening("127.0.0.1", given.port) as bound:
        print(f"serves {server.url_of(*bound.getsockname()[:2])}", flush=True)
        app = arranging(server.app, face)
        uvicorn.Server(uvicorn.Config(app, ws="websockets-sansio", log_level="warning")).run(sockets=[bound])


if __name__ == "__main__":
    main()
