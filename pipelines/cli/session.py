"""The workspace of a command: over a running server, else opened in this process."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import typer

from pipelines.cli import output
from pipelines.domain.access import OWNER
from pipelines.domain.errors import STATUS_AND_EXIT_CODES, TidemarkError, Unavailable
from pipelines.domain.events import COMMAND, SUPERVISOR

if TYPE_CHECKING:
    from pipelines.client.servers import Running
    from pipelines.verbs.face import Face
    from pipelines.workspace.workspace import Workspace

T = TypeVar("T")
DEFAULT_WORKSPACE = Path(__file__).resolve().parents[2] / "data" / "workspace"
POLL_SECONDS = 0.25
FULL, READ_ONLY = "the disk is full: what reads works, and what makes room (dispose)", "the disk is read-only: what reads works"
UNWRITABLE = {"storage.full": FULL, "catalog.disk_full": FULL, "storage.read_only": READ_ONLY, "catalog.read_only": READ_ONLY}
"""Codes of the errors of a disk that takes nothing, and what is said of it."""


@dataclass(frozen=True)
class Session:
    """An opened workspace and the time. `tick` lets the supervisor act: nothing to do where a server's own does."""

    face: Face
    tick: Callable[[], object]
    now: Callable[[], datetime]
    sleep: Callable[[float], None]
    running: Running | None = None
    """The server that the workspace is reached over."""

    @property
    def now_ms(self) -> int:
        return round(self.now().timestamp() * 1000)

    def until(self, look: Callable[[], T | None], seconds: float, what: str) -> T:
        """Polls `look` until it returns a value, ticking; Unavailable after `seconds`."""
        end_ms = self.now_ms + seconds * 1000
        while (answer := look()) is None:
            self.refuse_late(end_ms, seconds, what)
            self.pause(POLL_SECONDS)
        return answer

    def pause(self, seconds: float) -> None:
        """Lets time pass; the supervisor acts after it."""
        self.sleep(seconds)
        self.tick()

    def refuse_late(self, end_ms: float, seconds: float, what: str) -> None:
        """Unavailable where a wait of so many seconds, until `end_ms`, is over."""
        if self.now_ms >= end_ms:
            raise Unavailable("wait.timeout", f"{what} took more than {seconds:.0f} s", "It goes on; see 'show' and 'events'.")


class Absent(enum.Enum):
    """What becomes of a folder that is no workspace."""

    REFUSED = "refused"
    PLANNED = "planned"
    """It is seen as an empty one, and left as it is."""
    MADE = "made"


class Opener(Protocol):
    """Opens the workspace at a path; `rebuilding` also one whose catalog cannot be read."""

    def __call__(self, path: Path, *, rebuilding: bool = False, absent: Absent = Absent.REFUSED) -> AbstractContextManager[Session]: ...


@dataclass(frozen=True)
class Here:
    """The context of a command: its session, the typed parameters by name, and how it shows an answer."""

    session: Session
    as_json: bool
    words: Mapping[str, Any] = field(default_factory=dict)

    @property
    def face(self) -> Face:
        return self.session.face

    def show(self, value: Any, human: str | output.Table) -> None:
        """`value` as JSON, or `human`, on stdout."""
        if self.as_json:
            output.print_json(value)
        else:
            output.print_human(human)


@contextmanager
def opened(
    ctx: typer.Context,
    workspace: Path | None,
    as_json: bool,
    words: Mapping[str, Any],
    *,
    rebuilding: bool = False,
    absent: Absent = Absent.REFUSED,
) -> Iterator[Here]:
    """The workspace for the length of a command; an error inside is printed on stderr and ends it with its group's exit code."""
    _refuse_empty(ctx)
    opener: Opener = ctx.obj or open_session
    try:
        place = (workspace or DEFAULT_WORKSPACE).expanduser().resolve()
        with output.narrating(as_json=as_json), opener(place, rebuilding=rebuilding, absent=absent) as session:
            yield Here(session, as_json, words)
    except TidemarkError as error:
        output.print_error(error, as_json=as_json)
        raise typer.Exit(STATUS_AND_EXIT_CODES[error.group][1]) from error


def _refuse_empty(ctx: typer.Context) -> None:
    """A usage error for an argument that may be left out and is empty: the variable of a script that was never set means no "all"."""
    for part in ctx.command.params:
        given = ctx.get_parameter_source(part.name or "")
        if (
            part.param_type_name == "argument"
            and ctx.params.get(part.name or "") == ""
            and given is not None
            and given.name == "COMMANDLINE"
        ):
            raise typer.BadParameter("it is empty", param_hint=part.metavar)


@contextmanager
def open_session(path: Path, *, rebuilding: bool = False, absent: Absent = Absent.REFUSED) -> Iterator[Session]:
    """The server of the workspace at `path` if one runs, else the workspace itself, with a supervisor that acts when asked."""
    from pipelines.client.servers import running_server
    from pipelines.storage.layout import Layout

    running = running_server(Layout(path))
    with _remote(running) if running else _local(path, rebuilding, absent) as session:
        yield session


@contextmanager
def _remote(running: Running) -> Iterator[Session]:
    from pipelines.client.remote import RemoteFace

    face = RemoteFace(running.url, running.token, certificate=running.certificate)
    try:
        yield Session(face.acting(COMMAND), lambda: None, _now, _sleep, running)
    finally:
        face.close()


@contextmanager
def _local(path: Path, rebuilding: bool, absent: Absent) -> Iterator[Session]:
    """Opens the workspace in this process. The supervisor acts once first: no server has looked at the drivers.

    On a disk that takes nothing the catalog is made in memory, which is no help to who wants it rebuilt.
    """
    import getpass

    from pipelines.verbs.limited import Limited
    from pipelines.workspace.opening import is_workspace, open_unwritable

    try:
        workspace, tick = _supervised(path, rebuilding, absent)
    except Unavailable as error:
        if error.code not in UNWRITABLE or rebuilding or not is_workspace(path):
            raise
        output.tell(UNWRITABLE[error.code])
        workspace, tick = open_unwritable(path), lambda: None
    try:
        face = Limited(workspace, OWNER, workspace.record, f"command line, user {getpass.getuser()}")
        yield Session(face.acting(COMMAND), tick, _now, _sleep)
    finally:
        workspace.close()


def _supervised(path: Path, rebuilding: bool, absent: Absent) -> tuple[Workspace, Callable[[], None]]:
    """The workspace, and what lets its supervisor act."""
    from pipelines.storage.users import VARIABLE
    from pipelines.supervisor.loop import Supervisor
    from pipelines.workspace import run_as
    from pipelines.workspace.opening import is_workspace, open_unwritable, open_workspace, refuse_missing

    if absent is Absent.PLANNED and not is_workspace(path):
        return open_unwritable(path), lambda: None
    if absent is Absent.REFUSED:
        refuse_missing(path)
    run_as.begin(os.environ.get(VARIABLE, ""), path)
    workspace = open_workspace(path, rebuilding=rebuilding)
    try:
        supervisor = Supervisor(workspace.acting(SUPERVISOR))
        supervisor.tick()
    except BaseException:
        workspace.close()
        raise
    return workspace, supervisor.tick


def _now() -> datetime:
    return datetime.now().astimezone()


def _sleep(seconds: float) -> None:
    import time

    time.sleep(seconds)
