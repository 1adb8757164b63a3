"""`python -m pipelines.sandbox.warm FOLDER`: a process of the pool. It starts a JVM, warms it up, and does tasks that come as JSON lines.

The first line is a `Launch`, each further one a `Request`. Its output goes to the log; `ready` and `code` in its folder say how far it is.
It ends with who started it, in the middle of whatever it does (then its standard input ends), until it becomes the driver of a run.
"""

from __future__ import annotations

import json
import os
import queue
import runpy
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from pipelines.sandbox import throwaway
from pipelines.sandbox.gateway import Gateway
from pipelines.sandbox.requests import CODE_FILE, HERE, MARK, READY_FILE, Launch, Request

Lines = queue.SimpleQueue[str]
BEFORE = "before"
"""In its folder: where its JVM was until it became a driver."""


def main(folder: Path) -> int:
    """Does tasks until one of them was the last one, failed, or got a JVM of its own; the exit code of that one."""
    lines = _control()
    launch = Launch(**json.loads(lines.get()))
    (folder / HERE).mkdir()
    os.chdir(folder / HERE)
    gateway = _gateway(launch)
    if gateway is not None and lines.empty():
        _warm_up(launch, folder, lines)
        gateway.take_back()
    (folder / READY_FILE).touch()
    while True:
        request = Request(**json.loads(lines.get()))
        if request.stands:
            _move(folder, request, gateway)
        arguments = list(sys.argv)
        code = _done(request)
        if request.last and not request.stands:
            _say(folder, code)
        if request.last or code or gateway is None or gateway.has_strayed:
            return code
        gateway.take_back()
        sys.argv = arguments
        _say(folder, code)


def _gateway(launch: Launch) -> Gateway | None:
    """None where the JVM does not start: the task's own Spark will not either, and says why."""
    try:
        return Gateway(launch.master, launch.conf)
    except Exception:  # noqa: BLE001  as said
        traceback.print_exc()
        return None


def _warm_up(launch: Launch, folder: Path, lines: Lines) -> None:
    try:
        throwaway.run(launch.master, launch.conf, folder / "throwaway", lambda: not lines.empty())
    except Exception:  # noqa: BLE001  another Spark may not know all of it: the process is less warm then
        traceback.print_exc()


def _move(folder: Path, request: Request, gateway: Gateway | None) -> None:
    """Has the process and its JVM stand where the driver does, as if they had been started there.

    A Java process cannot change its working directory: files that Java itself names relative to it are found by a link.
    """
    os.environ[MARK] = request.folder
    os.chdir(request.stands)
    (folder / HERE).rename(folder / BEFORE)
    (folder / HERE).symlink_to(request.stands)
    if gateway is not None:
        gateway.move(request.stands)


def _control() -> Lines:
    """The lines of standard input, which the task's code finds empty."""
    lines: Lines = queue.SimpleQueue()
    control = os.fdopen(os.dup(sys.stdin.fileno()))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)

    def read() -> None:
        for line in control:
            lines.put(line)
            if json.loads(line).get("stands"):
                return
        os._exit(1)

    threading.Thread(target=read, daemon=True).start()
    return lines


def _done(request: Request) -> int:
    """Runs the task's module as `python -m` does; the exit code."""
    sys.argv = [request.module, request.folder]
    try:
        runpy.run_module(request.module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        return _code(ended.code)
    return 0


def _code(code: Any) -> int:
    return code if isinstance(code, int) else int(code is not None)


def _say(folder: Path, code: int) -> None:
    aside = folder / f".{CODE_FILE}"
    aside.write_text(str(code))
    aside.replace(folder / CODE_FILE)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
