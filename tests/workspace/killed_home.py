"""Changes savepoints at a home, and is killed at the n-th thing that it would write: `killed_home.py WORKSPACE HOME JOB`.

A line `take N` or `dispose N` on its input is done by a fork of this process, which has all modules at hand. It answers `done M` where
the fork came to its end with M things written, then `ended CODE`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import requests

from pipelines.storage.local import LocalStorage
from pipelines.storage.s3.client import Client
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.face import do
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.take import Take
from pipelines.workspace.opening import open_workspace
from tests.workspace import process_forks


class Writes:
    """Counts documents of the workspace and requests that change something at the store; the process ends instead of the one at `last`."""

    def __init__(self, last: int) -> None:
        self.last, self.count, self._turn = last, 0, threading.Lock()

    def step(self) -> None:
        with self._turn:
            self.count += 1
            if self.count == self.last:
                os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        write, make = LocalStorage.write, Client._make

        def written(storage: LocalStorage, path: str, data: bytes) -> None:
            self.step()
            write(storage, path, data)

        def made(client: Client) -> Any:
            api = make(client)
            api.meta.events.register("before-send.s3", self._sent)
            return api

        def requested(session: requests.Session, method: str, *given: Any, **options: Any) -> Any:
            if method not in ("GET", "HEAD"):
                self.step()
            return request(session, method, *given, **options)

        request, patch = requests.Session.request, pytest.MonkeyPatch()
        patch.setattr(requests.Session, "request", requested)
        patch.setattr(LocalStorage, "write", written)
        patch.setattr(Client, "_make", made)

    def _sent(self, request: Any, **_: Any) -> None:
        if request.method not in ("GET", "HEAD"):
            self.step()


def work(root: str, home: str, job: str, name: str, last: int) -> None:
    face = open_workspace(Path(root))
    writes = Writes(last)
    writes.watch()
    if name == "take":
        do(face, Take(job, home=home))
    else:
        newest = face.ask(ListSavepoints(job))[0].id
        (outcome,) = do(face, Dispose((newest,))).outcomes
        assert outcome.refusal is None, outcome.refusal
    print(f"done {writes.count}", flush=True)


def main(root: str, home: str, job: str) -> None:
    import botocore.session  # noqa: F401  # imported by the first request otherwise, in each fork

    process_forks.import_ahead()

    for name, last in map(str.split, sys.stdin):
        child = os.fork()
        if child == 0:
            work(root, home, job, name, int(last))
            return
        _, status = os.waitpid(child, 0)
        print(f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
