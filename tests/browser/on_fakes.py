"""The dashboard on canned answers, to look at pages without Spark: `python -m tests.browser.on_fakes --busy`.

`POST /arrange` with a JSON list of the options below makes them anew, so that one server does for many tests.
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
from dashboard.oidc.settings import Oidc
from dashboard.views import events, live
from pipelines.api.app import create_api
from pipelines.domain.access import Access, Role
from pipelines.domain.errors import AlreadyExists, NotFound
from pipelines.domain.events import FAILED
from pipelines.domain.sign_ins import Admission
from pipelines.domain.trust import Trust
from pipelines.domain.versions import version
from pipelines.verbs.attach import Attach
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.export import Export
from pipelines.verbs.import_ import Import
from pipelines.verbs.jobs import ListBatches, ShowSeries
from pipelines.verbs.system import ListEvents
from pipelines.verbs.verb import Change, Question
from tests import afterwards, samples
from tests.browser import pasts, waves
from tests.copies import Copies
from tests.entering import TOKEN
from tests.faces import FakeFace
from tests.memory import Memory

READ, DAMAGED = "sp-000000000002", "sp-000000000003"
ARCHIVED = "s3://lake/archive/clicks.tar.zst"
REFRESH_SECONDS = live.REFRESH_SECONDS
STILL_SECONDS = 86_400


def options() -> argparse.ArgumentParser:
    """What can be asked for."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--port", type=int, default=0)
    asked.add_argument("--empty", action="store_true", help="without any job")
    asked.add_argument("--busy", action="store_true", help="with jobs run elsewhere and operations under way")
    asked.add_argument("--damaged", action="store_true", help="with a savepoint and a failed job that are damaged")
    asked.add_argument("--failing", action="store_true", help="with a job that waits for its restart, and one stopped at a poison batch")
    asked.add_argument("--memory", action="store_true", help="with much state of several kinds")
    asked.add_argument("--copying", action="store_true", help="where savepoints, forks and resumes are copied until they are cancelled")
    asked.add_argument("--jobs", type=int, default=0, help="with so many jobs more")
    asked.add_argument("--past", action="store_true", help="those jobs with a day behind them: savepoints, forks, some that ended")
    asked.add_argument("--issuer", default="", help="where people of this provider's group staff sign in as viewers")
    asked.add_argument("--long", action="store_true", help="with two jobs of long names, which differ in their last letters")
    asked.add_argument("--still", action="store_true", help="pages do not refresh themselves")
    return asked


def arrange(face: FakeFace, given: argparse.Namespace) -> None:
    """Makes `face` what the options say, whatever was done to it; its time is this moment."""
    samples.NOW_MS = int(time.time() * 1_000)
    made = FakeFace() if given.empty else FakeFace.busy() if given.busy else FakeFace.sample()
    vars(face).clear()
    vars(face).update(vars(made), ask=partial(_answered, face))
    afterwards.follow(face)
    refuse(face)
    for number in range(given.jobs):
        face.began(f"job_{number}", version("job.py", "print('a')\n"))
    for name in pasts.LONG_NAMES if given.long else ():
        face.began(name, version("job.py", "print('a')\n"))
    if given.past:
        pasts.give(face, given.jobs)
    if given.failing:
        pasts.fail(face)
    if given.memory:
        face.memory = Memory(rows=25_000, several=True)
        pasts.read_partly(face, READ)
    if given.damaged:
        face.answers(Diagnose, lambda asked: [samples.diagnosis(asked.subject, f"/fake/{asked.subject}", damaged=True)])
        face.verified(samples.verification(face.savepoints_by_id[DAMAGED], Trust.INTACT, damaged=True))
    if given.copying:
        Copies(face)
    face.answers(ListEvents(limit=events.LIMIT, kind=FAILED), face.ask(ListEvents())[:1])
    live.REFRESH_SECONDS = STILL_SECONDS if given.still else REFRESH_SECONDS
    let_in(given.issuer)
    session.open_with(face, server.api.access if given.issuer else None)


def let_in(issuer: str) -> None:
    """Whom the server lets in: who has the token of all tests, and the viewers of a provider where one is named."""
    server.api.signs_in(Oidc(Admission(issuer, "tidemark", {"staff": Role.VIEWER}), "a-secret") if issuer else None)
    server.api.access = Access(TOKEN, now_ms=lambda: int(time.time() * 1_000), sign_ins=server.api.admission)


def refuse(face: FakeFace) -> None:
    """A name and a place that are taken, and two where nothing is."""
    exists = AlreadyExists("job.exists", "a job 'post_events' exists", "Choose another name.")
    taken = AlreadyExists("export.exists", f"{ARCHIVED} is taken", "Choose another URL.")
    gone = NotFound("checkpoint.not_found", "there is no checkpoint at /data/gone", "Give the checkpoint location of the query.")
    face.refuses(lambda asked: isinstance(asked, Change) and getattr(asked, "name", "") == "post_events", exists)
    face.refuses(lambda asked: isinstance(asked, Export) and asked.url == ARCHIVED, taken)
    face.refuses(lambda asked: isinstance(asked, Attach) and "/data/gone" in asked.checkpoints.values(), gone)
    face.refuses(Import("/nowhere"), NotFound("export.not_found", "there is no savepoint at /nowhere", "Give the URL it was exported to."))


def _answered(face: FakeFace, question: Question[Any]) -> Any:
    """As the face says, but charts have waves to show."""
    if isinstance(question, ShowSeries):
        return waves.series(question)
    answer = FakeFace.ask(face, question)
    return waves.batches(answer) if isinstance(question, ListBatches) else answer


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
    server.api.app, server.api.access = create_api(face), Access(TOKEN)
    with server.listening("127.0.0.1", given.port) as bound:
        print(f"serves {server.api.reach.local_url(bound.getsockname()[1])}", flush=True)
        app = arranging(server.app, face)
        uvicorn.Server(uvicorn.Config(app, ws="websockets-sansio", log_level="warning")).run(sockets=[bound])


if __name__ == "__main__":
    main()
