"""One-off processes: run to their end under a watch, or ended early with all that they started.

Whatever such a process starts inherits a mark in its environment (the folder that it works in), so that nothing of it is missed: Spark's
Python workers leave their parent's process group, and a JVM outlives its Python for a moment.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import psutil

from pipelines.domain import secrets
from pipelines.domain.errors import Unavailable
from pipelines.sandbox import holding, temporary
from pipelines.sandbox.requests import MARK
from pipelines.storage import handover, rights, users

POLL_S = 0.02
END_S = 10.0
"""How long a killed process may take to be gone."""
TAIL_BYTES = 2000


@dataclass(frozen=True)
class Share:
    """What a process may take of the machine, with all that it starts."""

    niceness: int = 0
    """Added to this process's: more leaves more to others."""
    cpus: int | None = None
    """So many processors at most; None for all."""


WHOLE = Share()


def run(
    command: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    log: str,
    watch: Callable[[], None],
    timeout_s: float,
    share: Share = WHOLE,
    hidden: Sequence[bytes] = (),
) -> int:
    """Runs `command` with `folder` as its last argument and its output in `log`; answers with its exit code. `share` is what the
    process may take with all that it starts. `hidden` is in no message of what it says.

    `watch` is called until it ends; what that raises ends the process and is passed on. Nothing that it started is left when this
    returns or raises. Raises Unavailable (`sandbox.start`, `sandbox.timeout`).
    """
    child = started(command, folder, environ, log)
    try:
        _limit(child.pid, str(folder), share)
        return followed(child.poll, command[-1], folder / log, watch, timeout_s, hidden)
    finally:
        end(folder)
        child.wait()


def _limit(pid: int, name: str, share: Share) -> None:
    """Limits a process before it starts others, which inherit that."""
    if share.niceness:
        os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, 0) + share.niceness)
    if share.cpus:
        os.sched_setaffinity(pid, holding.processors(name, share.cpus, sorted(os.sched_getaffinity(pid))))


def followed(
    code: Callable[[], int | None], name: str, log: Path, watch: Callable[[], None], timeout_s: float, hidden: Sequence[bytes]
) -> int:
    """The exit code of a piece of work, when there is one; `watch` is called until then. Raises Unavailable (`sandbox.timeout`)."""
    deadline = time.monotonic() + timeout_s
    while (ended := code()) is None:
        watch()
        if time.monotonic() > deadline:
            raise _late(name, timeout_s, tail(log, hidden))
        time.sleep(POLL_S)
    return ended


def lives(folder: Path) -> bool:
    """Whether a process that belongs to `folder` or a folder in it is there."""
    return next(_marked(folder), None) is not None


def end(folder: Path) -> None:
    """SIGKILL to every process that belongs to `folder` or a folder in it; returns when they are gone, with what they left."""
    deadline = time.monotonic() + END_S
    while remaining := list(_marked(folder)):
        for process in remaining:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        if time.monotonic() > deadline:
            raise Unavailable(
                "sandbox.stuck", f"Process {remaining[0].pid} does not end", "End it by hand: it waits for a disk or the network."
            )
        time.sleep(POLL_S)
    temporary.remove(folder)


def tail(log: Path, hidden: Sequence[bytes]) -> str:
    """The last lines of a log, for a message, without what is `hidden`."""
    if not log.is_file():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES - max(map(len, hidden), default=0)))
        data = file.read()
    return "\n".join(secrets.starred(data, hidden)[-TAIL_BYTES:].decode(errors="replace").splitlines()[-5:])


def start(
    command: Sequence[str], folder: Path, environ: Mapping[str, str], log: str, stdin: int = subprocess.DEVNULL, stands: Path | None = None
) -> subprocess.Popen[bytes]:
    """`command` with `folder` as its last argument, in it unless it `stands` elsewhere, marked with it, in a session of its own, as the
    user that runs a job's code; raises OSError.

    What it writes (a job's code may write anywhere) has the modes that the user's umask gives; its folder and its log are the user's alone.
    """
    given = temporary.given(environ, folder)
    try:
        handover.prepare(folder)
        with appending(folder / log) as output:
            return subprocess.Popen(
                [*command, str(folder)],
                stdin=stdin,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=stands or folder,
                env=users.environ({**given, MARK: str(folder)}),
                start_new_session=True,
                umask=rights.users_umask(),
                **users.switch(),
            )
    except OSError:
        temporary.remove(folder)
        raise


def appending(log: Path) -> BinaryIO:
    """A log to write at the end of; never what a link names that a job has made in its place."""
    return os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "ab")


def started(
    command: Sequence[str], folder: Path, environ: Mapping[str, str], log: str, stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Like `start`; raises Unavailable (`sandbox.start`)."""
    try:
        return start(command, folder, environ, log, stdin)
    except OSError as error:
        message = f"{command[0]} cannot be started: {error.strerror}"
        raise Unavailable("sandbox.start", message, "The version's Python interpreter has to be on this machine.") from error


def _late(name: str, timeout_s: float, last_words: str) -> Unavailable:
    message = f"{name} did not end within {timeout_s:g} s and was ended. Its last words:\n{last_words}"
    return Unavailable(
        "sandbox.timeout", message, "Give it more time with TIDEMARK_SANDBOX_TIMEOUT_S, or more resources with the job's confs."
    )


def _marked(folder: Path) -> Iterator[psutil.Process]:
    """Living processes whose mark is `folder` or below it. A process of another user, whose environment cannot be read, is not ours."""
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            mark = process.environ().get(MARK, "")
            if mark and Path(mark).is_relative_to(folder) and process.status() != psutil.STATUS_ZOMBIE:
                yield process
