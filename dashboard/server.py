"""The server: pages, REST and assets in one process on one port. `python3 -m dashboard`, or `streamlit run dashboard/server.py`."""

from __future__ import annotations

import faulthandler
import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from starlette.middleware import Middleware
from starlette.routing import Mount, Route
from streamlit.starlette import App

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # under `streamlit run` the path begins with this folder instead
    sys.path.insert(0, str(ROOT))

from dashboard import assembly, downloads, last_words, readiness, server_log, session, shell, succession  # noqa: E402
from dashboard.entrance import Entrance  # noqa: E402
from dashboard.guard import Guard  # noqa: E402
from dashboard.oidc import settings as oidc_settings  # noqa: E402
from dashboard.oidc.flow import Flow  # noqa: E402
from dashboard.reach import Reach, refuse_open_host  # noqa: E402
from dashboard.served import serve_asset  # noqa: E402
from dashboard.streamlit_fixes import left_pages, moved_parts, offered_files, refreshes  # noqa: E402
from pipelines.api.push.settings import chosen  # noqa: E402
from pipelines.client.servers import entry  # noqa: E402
from pipelines.domain.errors import TidemarkError, Unavailable  # noqa: E402
from pipelines.sandbox import environment as spark_environment  # noqa: E402

WORKSPACE_VARIABLE = "TIDEMARK_WORKSPACE"
SWITCH_SECONDS = 0.0005
"""After so long a thread that computes (reading progress into the catalog) lets those go on that answer people: Python's own 5 ms would be
waited for several times in each answer."""
GRACE_SECONDS, INSIST_SECONDS = 5, 30
"""What has not ended so long after the server was told to is ended with it: a file system that hangs, a checksum of many gigabytes."""
COLLECTED_AFTER = (20_000, 20, 20)
"""Python's collector looks at all that is kept in memory every so often; a page makes more objects than its defaults expect."""
PATIENCE_SECONDS = 120
"""A browser that draws for long answers no ping meanwhile; cut off, it would lose its open dialog."""

api = assembly.Api()


@asynccontextmanager
async def lifespan(_app: App) -> AsyncIterator[None]:
    """Opens the workspace where `main` has not done so: that is under `streamlit run`."""
    gc.set_threshold(*COLLECTED_AFTER)
    moved_parts.mend()
    refreshes.mend()
    left_pages.mend()
    if session.is_open():
        yield
        return
    with last_words.ended_by_errors():
        settings = _streamlit_settings()
        api.signs_in(oidc())
        _run_as("", settings.workspace)
        with spark_environment.inheriting(), assembly.assembled(settings, api), leaving_when_told():
            _announce(settings)
            yield


@contextmanager
def leaving_when_told() -> Iterator[None]:
    """Ends streams with the signal that ends the server: uvicorn waits for them before the lifespan ends, and Streamlit's without limit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def leave(number: int, frame: FrameType | None) -> None:
        _leave()
        if callable(handler := handlers[signal.Signals(number)]):
            handler(number, frame)

    for number in handlers:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _leave() -> None:
    """The server has been told to end: streams do; it does, whatever its threads wait for."""
    end_within(INSIST_SECONDS)
    api.leave()


def _interrupt(number: int, frame: FrameType | None) -> None:
    _leave()
    signal.default_int_handler(number, frame)


def _streamlit_settings() -> assembly.Settings:
    """The workspace that the environment names, at the address that Streamlit's configuration names."""
    from streamlit import config

    host, port = config.get_option("server.address") or "", config.get_option("server.port")
    refuse_open_host(host)
    workspace = Path(os.environ.get(WORKSPACE_VARIABLE) or assembly.DEFAULT_WORKSPACE)
    return assembly.Settings(workspace.resolve(), port, reach=Reach(host), receivers=chosen(os.environ))


def oidc() -> oidc_settings.Oidc | None:
    """What people sign in with, as the environment says. The secret leaves it: drivers and other processes inherit what is there."""
    named = oidc_settings.chosen(os.environ)
    os.environ.pop(oidc_settings.SECRET, None)
    return named


offered_files.mend()
app = App(
    Path(__file__).with_name("app.py"),
    lifespan=lifespan,
    routes=[
        Route("/assets/{name}", serve_asset),
        Mount("/api", app=api),
        Route("/metrics", api),
        Route("/flink/v1/{path:path}", api),
        Route(readiness.PATH, api.readiness.answer),
        *downloads.routes(),
        *shell.routes(),
        *Flow(api).routes(),
    ],
    middleware=[
        Middleware(Guard, reach=lambda: api.reach),
        Middleware(
            Entrance,
            access=lambda: api.access,
            entered=api.entered,
            refused=api.refused,
            provider=lambda: api.provider_name,
            bearers=lambda: api.bearers,
        ),
    ],
)


def main(
    reach: Reach, port: int, workspace: str, example: bool, structured_log: bool = False, standby: bool = False, run_as: str = ""
) -> int:
    """Serves until it is told to end (Ctrl-C, SIGTERM); prints the address once it answers. Returns the exit code."""
    if structured_log:
        server_log.structured()
    try:
        api.reach = reach.checked()
        api.signs_in(oidc())
        _run_as(run_as, Path(workspace).resolve())
        with spark_environment.inheriting(), listening(api.reach.host, port) as bound:
            own = bound.getsockname()[1]
            settings = assembly.Settings(Path(workspace).resolve(), own, example, api.reach, structured_log, chosen(os.environ))
            with succession.succeeding(settings, api) if standby else assembly.assembled(settings, api):
                _serve(bound, settings)
    except TidemarkError as error:
        return last_words.failed(error, structured_log)
    except KeyboardInterrupt:
        last_words.say(logging.INFO, "Tidemark has stopped; running jobs go on.", structured_log)
    return 0


def _run_as(name: str, workspace: Path) -> None:
    from pipelines.storage.users import VARIABLE
    from pipelines.workspace import run_as

    run_as.begin(name or os.environ.get(VARIABLE, ""), workspace)


def listening(host: str, port: int) -> socket.socket:
    """A bound socket without Nagle's delay, which costs a page 90 ms; Unavailable where the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        bound.bind((host, port))
        bound.listen(2048)
        bound.setblocking(False)
    except (OSError, OverflowError) as error:
        bound.close()
        why = error.strerror if isinstance(error, OSError) else "a port is a number up to 65535"
        raise Unavailable("server.port", f"Port {port} of {host} cannot be served on: {why}.", "Choose another with --port.") from error
    return bound


def _serve(bound: socket.socket, settings: assembly.Settings) -> None:
    import uvicorn

    from dashboard.slow_clients import TimedProtocol, TimedWebsocket

    class Announcing(uvicorn.Server):
        """Prints the address when, and only when, the server answers."""

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            _leave()
            super().handle_exit(sig, frame)

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                _announce(settings)

    sys.setswitchinterval(SWITCH_SECONDS)
    # uvicorn raises the signal again after its shutdown; as KeyboardInterrupt it still closes the workspace on its way out.
    signal.signal(signal.SIGTERM, _interrupt)
    options: dict[str, Any] = {
        "timeout_graceful_shutdown": GRACE_SECONDS,
        "timeout_keep_alive": 30,
        "access_log": False,
        "ws_ping_timeout": PATIENCE_SECONDS,
        "use_colors": False,
        **({"log_config": None} if settings.structured_log else {}),
        **settings.reach.uvicorn,
    }
    uvicorn_config = uvicorn.Config(app, http=TimedProtocol, ws=TimedWebsocket, log_level="warning", server_header=False, **options)
    Announcing(uvicorn_config).run(sockets=[bound])


def _announce(settings: assembly.Settings) -> None:
    """Prints the address that lets in who opens it."""
    address = entry(settings.url, api.access.key if api.access else "")
    role = "a standby, which only reads, of " if api.readiness.is_standby else ""
    print(f"Tidemark serves {address}   ({role}workspace {settings.workspace}; Ctrl-C stops it, jobs run on)", flush=True)


@cache
def end_within(seconds: float) -> None:
    """Ends this process after so long whatever it does then (a thread of Python's own would need the interpreter's lock), and says
    on stderr what that was; asked again, it ends no later. Jobs run on."""
    faulthandler.dump_traceback_later(seconds, exit=True)
