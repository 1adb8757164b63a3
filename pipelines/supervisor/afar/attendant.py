"""Stands on this machine for one driver on the cluster, from its submission to its end.

It may be killed and started again at any moment: the cluster finds the run's driver, segments are applied once. Where another host's
server has the workspace now, another process stands for the driver there, and this one leaves. While it is gone the driver works on; nobody
but the run's own end, or an order, ends that. The cluster is asked in a thread of its own: while it does not answer, a stop reaches the
driver by the job's home, and while that does not, the cluster still ends it at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from pipelines.domain import segments
from pipelines.domain.applications import Application, Stage
from pipelines.domain.errors import Corrupt
from pipelines.domain.log_levels import ASKED_FILE
from pipelines.domain.processes import TERMINATED_FILE
from pipelines.domain.run_specs import SPEC_FILE, RunSpec
from pipelines.domain.runs import EXIT_FILE, LOG_FILE, Exit
from pipelines.domain.segments import ORDERS_FILE, Orders
from pipelines.storage import documents, folders
from pipelines.storage.addresses import open_storage
from pipelines.supervisor.afar import cluster, submitting
from pipelines.supervisor.afar.answering import Answering, say
from pipelines.supervisor.afar.charge import Charge, Superseded
from pipelines.supervisor.afar.mirror import Mirror
from pipelines.supervisor.afar.starting import ENDED_FILE, write

T = TypeVar("T")
SUBMISSION = "pipelines.driver.afar"
SUBMISSION_LOG = "submission.log"
APPLICATION_FILE = "application.json"
LOOK_S = 1.0
ASK_S = 2.0
"""Between two questions to the cluster."""
KILL_AGAIN_S = 10.0
RECORDS, ORDERS = "records", "orders"
"""What goes by the job's home."""


@dataclass(frozen=True)
class Submitted:
    """The cluster's id of the run's driver."""

    application: str


class Attendant:
    """Of the run in `folder`, whose version's Python is `python`."""

    def __init__(self, folder: Path, python: str, environ: Mapping[str, str], now_ms: Callable[[], int]) -> None:
        self._folder = folder
        self._python = python
        self._environ = environ
        self._now_ms = now_ms
        self._spec = _document(RunSpec, folder / SPEC_FILE)
        self._home = open_storage(segments.folder(self._spec.checkpoints, self._spec.run))
        self._mirror = Mirror(self._home, folder)
        self._cluster = cluster.of(self._spec, folder, python, environ)
        self._stop = threading.Event()
        if (folder / TERMINATED_FILE).is_file():
            self._stop.set()
        self._ordered = Orders()
        self._killed_s: float | None = None
        self._answering = Answering(folder, now_ms)
        self._closing = threading.Event()
        self._charge = Charge(folder)

    def stop(self) -> None:
        """The driver is to stop at a batch boundary."""
        self._stop.set()

    def attend(self) -> int:
        """The exit code of the run, 0 where another process stands for it from now on."""
        try:
            return self._attend()
        except Superseded:
            say("another process stands for the driver from now on")
            return 0

    def _attend(self) -> int:
        """1. The cluster has the run. 2. Records come, orders go, until it is over. 3. Its exit is known. 4. Nothing is left at home but
        records that cannot be read."""
        name = self._submitted()
        if name is None:
            return 1
        application = self._follow(name)
        self._cluster.close()
        damage = self._patiently(RECORDS, self._pull_last)
        self._charge.check()
        if not (self._folder / EXIT_FILE).is_file():
            write(self._folder, EXIT_FILE, self._unsaid(application, damage))
        if not damage:
            home = self._home.url.rpartition("/")
            folders.remove(open_storage(home[0]), home[2])
        return _document(Exit, self._folder / EXIT_FILE).code or 0

    def _submitted(self) -> str | None:
        """The id of the run's application; None where it could not be submitted, and the exit says why."""
        noted = self._folder / APPLICATION_FILE
        if noted.is_file():
            return _document(Submitted, noted).application
        with submitting.alone(self._folder) as lock:
            self._charge.check()
            application = self._find()
            if application is None:
                code = self._submit(lock)
                application = self._find()
                if application is None:
                    self._not_submitted(code)
                    return None
        write(self._folder, APPLICATION_FILE, Submitted(application.id))
        say(f"{self._cluster.name} has the run as {application.id}")
        return application.id

    def _find(self) -> Application | None:
        """The run's application, however long the cluster is away; others of the run that are not over are ended."""
        name, run = self._cluster.name, self._spec.run
        kept, others = submitting.choose(self._patiently(name, lambda: self._cluster.find(run)))
        for other in others:
            say(f"{name} has the run twice: {other.id} is ended")
            say(self._patiently(name, partial(self._cluster.kill, other.id)))
        return kept

    def _submit(self, lock: int) -> int:
        """The run's folder is not its last argument: by that this very process is found."""
        command = [self._python or sys.executable, "-m", SUBMISSION, str(self._folder), "submit"]
        return subprocess.run(command, env=dict(self._environ), cwd=self._folder, check=False, pass_fds=[lock]).returncode

    def _not_submitted(self, code: int) -> None:
        log = (self._folder / SUBMISSION_LOG).read_bytes()
        with (self._folder / LOG_FILE).open("ab") as file:
            file.write(log)
        message = f"spark-submit ended with exit code {code}, and {self._cluster.name} has no driver of the run; the log says why"
        write(self._folder, EXIT_FILE, Exit("failed", code, "", message, self._now_ms()))

    def _follow(self, name: str) -> Application | None:
        """Until the application is over; what the cluster said of it then, None where it knows it no more."""
        with ThreadPoolExecutor(1, "tidemark-cluster") as thread:
            watched = thread.submit(self._watch, name)
            try:
                while not watched.done():
                    self._charge.check()
                    self._answering.trying(RECORDS, self._mirror.pull)
                    self._answering.trying(ORDERS, self._order)
                    wait([watched], LOOK_S)
            finally:
                self._closing.set()
        return watched.result()

    def _pull_last(self) -> str:
        """Brings the last records. What is wrong with a segment that cannot be read: the driver is gone, and nobody writes it again."""
        try:
            self._mirror.pull()
        except Corrupt as error:
            damage = f"{error}; what the driver wrote from there on stays at {self._home.url}"
            say(damage)
            return damage
        return ""

    def _watch(self, name: str) -> Application | None:
        """What the cluster says of the application when it is over; it is ended meanwhile where that is asked for."""
        answers: list[Application | None] = []
        while not self._closing.is_set():
            if self._answering.trying(self._cluster.name, lambda: answers.append(self._cluster.application(name))):
                application = answers.pop()
                if application is None or application.stage is Stage.OVER:
                    return application
                if self._is_to_end(application.stage):
                    self._answering.trying(self._cluster.name, lambda: self._kill(name))
            self._closing.wait(ASK_S)
        return None

    def _order(self) -> None:
        """Says at home what the driver is to do, and how far its records are here, where that is new."""
        asked = self._folder / ASKED_FILE
        levels = {ASKED_FILE: asked.read_text()} if asked.is_file() else {}
        orders = Orders(self._stop.is_set(), levels, self._mirror.told)
        if orders != self._ordered:
            self._home.write(ORDERS_FILE, orders.text.encode())
            self._ordered = orders

    def _is_to_end(self, stage: Stage) -> bool:
        """Whether the application waits for its driver and is to stop, or is to end at once, and was not ended just now."""
        ends = (self._folder / ENDED_FILE).is_file() or (self._stop.is_set() and stage is Stage.WAITING)
        return ends and (self._killed_s is None or time.monotonic() - self._killed_s >= KILL_AGAIN_S)

    def _kill(self, name: str) -> None:
        self._killed_s = time.monotonic()
        say(self._cluster.kill(name))

    def _unsaid(self, application: Application | None, damage: str) -> Exit:
        """The exit of a driver that wrote none, or one that cannot be read."""
        name = self._cluster.name
        report = f"{name} says {application.report}" if application else f"{name} does not know the driver any more"
        report = f"{report}. {damage}" if damage else report
        if self._stop.is_set() or (self._folder / ENDED_FILE).is_file():
            return Exit("stopped" if self._stop.is_set() else "killed", None, "", f"ended by {name}. {report}", self._now_ms())
        is_killed = application is not None and application.is_killed
        return Exit("killed" if is_killed else "failed", None, "", f"the driver said no end. {report}", self._now_ms())

    def _patiently(self, whom: str, ask: Callable[[], T]) -> T:
        """What `ask` answers, however long the cluster or the home is away."""
        answers: list[T] = []
        while not self._answering.trying(whom, lambda: answers.append(ask())):
            self._charge.check()
            time.sleep(LOOK_S)
        return answers[0]


def enter_log(folder: Path) -> None:
    """From now on this process's output is not the driver's log, which is mirrored."""
    descriptor = os.open(folder / SUBMISSION_LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(descriptor, stream.fileno())
    os.close(descriptor)


def _document(kind: type[T], path: Path) -> T:
    return documents.decode(kind, path.read_bytes(), path.name)
