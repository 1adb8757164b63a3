"""State that the use cases of one opened workspace share: files, catalog, clock and randomness."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.catalog import state_difference_worker, state_worker
from pipelines.catalog.connection import Catalog
from pipelines.domain.errors import Unavailable
from pipelines.domain.holdings import Holding
from pipelines.domain.homes import AWAY
from pipelines.domain.ids import JobName, OperationId, SavepointId, VersionId, random_id
from pipelines.domain.operations import Operation
from pipelines.domain.pushes import Push
from pipelines.domain.savepoints import SourceOffset
from pipelines.sandbox.history import History
from pipelines.sandbox.pool import Pool as SparkPool
from pipelines.savepoint import worker as savepoint_worker
from pipelines.savepoint.shelves import open_shelf
from pipelines.storage import folders
from pipelines.storage.addresses import open_storage
from pipelines.storage.layout import Layout
from pipelines.storage.protocol import Storage
from pipelines.workers.pool import Pool
from pipelines.workspace import broker_worker, message_worker
from pipelines.workspace.files import Files
from pipelines.workspace.lease import Lease
from pipelines.workspace.listings import Listings
from pipelines.workspace.outcomes import Answer
from pipelines.workspace.tickets import Ticket

ID_BYTES = 6
WAIT_S = 0.2


@dataclass(frozen=True)
class Context:
    """One opened workspace."""

    layout: Layout
    files: Files
    catalog: Catalog
    clock: Callable[[], int]
    """Epoch ms."""
    entropy: Callable[[int], bytes]
    lease: Lease | None = None
    """The lease of the workspace, of who writes into it."""
    actor: str = ""
    """Who the events of what is done in this context name."""
    is_unwritable: bool = False
    """Whether the disk takes nothing: what cannot be written down is let go."""
    is_standby: bool = False
    """Whether another server has the workspace: nothing is written into it from here."""
    announced: Mapping[str, Any] = field(default_factory=dict)
    """What a standby says of itself; the active server's is in `server.json`."""
    changed: threading.Event = field(default_factory=threading.Event)
    """Set when somebody asked for something that the supervisor should look at now."""
    ingesting: threading.RLock = field(default_factory=threading.RLock)
    """Held while files are read into the catalog: two readers would note each other's positions."""
    file_positions: dict[str, int] = field(default_factory=dict)
    """How far each growing file was read, as the catalog has it."""
    unsealed: queue.SimpleQueue[SavepointId | None] = field(default_factory=queue.SimpleQueue)
    """Savepoints whose checksums are to be computed; None ends who does that."""
    streaming: dict[VersionId, bool] = field(default_factory=dict)
    """Versions, which never change, by whether they mean to start queries."""
    under_way: dict[OperationId, Ticket] = field(default_factory=dict)
    """Operations that work now, in this process."""
    answers: dict[OperationId, Answer[Any]] = field(default_factory=dict)
    """What came of the newest operations."""
    unsaved: dict[OperationId, Operation] = field(default_factory=dict)
    """Operations that have ended, and whose end the catalog could not take."""
    proving: threading.Lock = field(default_factory=threading.Lock)
    """Held by the one piece of work that runs in the sandbox; others wait for their turn."""
    in_sandbox: list[OperationId] = field(default_factory=list)
    """The operation that it is done for."""
    state_workers: Pool = field(default_factory=lambda: Pool(state_worker.TASK))
    """Answer questions to rows of state."""
    state_difference_workers: Pool = field(default_factory=lambda: Pool(state_difference_worker.TASK))
    """Compare rows of state."""
    savepoint_workers: Pool = field(default_factory=lambda: Pool(savepoint_worker.TASK))
    """Import and verify savepoints."""
    sparks: SparkPool = field(default_factory=SparkPool)
    """Runs what needs a Spark; a server opens it."""
    history: History = field(default_factory=History)
    """Spark's own history server; a server opens it."""
    message_workers: Pool = field(default_factory=lambda: Pool(message_worker.TASK))
    """Send messages of alerts."""
    broker_workers: Pool = field(default_factory=lambda: Pool(broker_worker.TASK))
    """Ask Kafka brokers what they hold."""
    brokers_away: dict[str, tuple[int, Unavailable]] = field(default_factory=dict)
    """Brokers that did not answer: until when (epoch ms) they are not asked again, and why."""
    files_held: dict[tuple[str, SourceOffset], tuple[int, Holding]] = field(default_factory=dict)
    """What many files took long to answer, by checkpoint and offset: until when (epoch ms) they are not looked for again."""
    listings: Listings = field(default_factory=Listings)
    """The newest list of all jobs."""
    pushes: dict[str, Push] = field(default_factory=dict)
    """Where the server pushes its metrics to, by kind."""
    _locks: dict[str, threading.RLock] = field(default_factory=dict)
    _locks_turn: threading.Lock = field(default_factory=threading.Lock)
    _passed_over: set[JobName] = field(default_factory=set)
    """Jobs that the supervisor left alone because somebody was changing them."""

    @property
    def library(self) -> Storage:
        """The storage of the savepoints in the workspace."""
        return open_storage(str(self.layout.savepoints))

    def shelf(self, savepoint: SavepointId) -> Storage:
        """The storage that the savepoint is in: its home, else the workspace's. Raises Unavailable (`home.away`) for a folder of this
        machine that is not there: a disk that is not mounted must not look like one that was emptied."""
        home = self.files.home(savepoint)
        return self.library if home is None else _there(open_shelf(home.url))

    def holds(self, url: str) -> bool:
        """Whether a place (an absolute path or a URL) lies in the workspace, which only Tidemark writes to."""
        return "://" not in url and Path(url).resolve().is_relative_to(self.layout.root)

    def close(self) -> None:
        """Gives the workspace back to whoever wants it."""
        if self.lease is not None:
            self.lease.release()
        self.catalog.close()

    def now_ms(self) -> int:
        return self.clock()

    def new_id(self, prefix: str) -> str:
        return random_id(prefix, self.entropy(ID_BYTES))

    def new_query_id(self) -> str:
        """A random UUID, as Spark names queries."""
        from uuid import UUID

        return str(UUID(bytes=self.entropy(16), version=4))

    @contextmanager
    def holding(self, job: JobName) -> Iterator[None]:
        """Holds the lock of a job, so that two changes that see it stopped do not both start it.

        The supervisor, where it passed the job over meanwhile, looks at it afterwards.
        """
        try:
            with self._lock(job):
                yield
        finally:
            if job in self._passed_over:
                self._passed_over.discard(job)
                self.changed.set()

    @contextmanager
    def trying(self, job: JobName) -> Iterator[bool]:
        """Like `holding`, without waiting: False where somebody else is changing the job."""
        lock = self._lock(job)
        self._passed_over.add(job)  # before the try: who lets go of the lock right after it sees this
        acquired = lock.acquire(blocking=False)
        if acquired:
            self._passed_over.discard(job)
        try:
            yield acquired
        finally:
            if acquired:
                lock.release()

    @contextmanager
    def claiming(self, what: str, waits: Callable[[], object] = lambda: None) -> Iterator[None]:
        """Holds a lock by another name: the address of an export, the id of an import. While somebody else has it, `waits` is called
        again and again; what that raises ends the wait."""
        lock = self._lock(f"/{what}")
        while not lock.acquire(timeout=WAIT_S):
            waits()
        try:
            yield
        finally:
            lock.release()

    def _lock(self, job: str) -> threading.RLock:
        with self._locks_turn:
            return self._locks.setdefault(job.casefold(), threading.RLock())


class Shelves:
    """The storages of several savepoints: those of one home have one, which reads each manifest there once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._opened: dict[str, Storage] = {}

    def of(self, savepoint: SavepointId) -> Storage:
        """As `Context.shelf`."""
        shelf = self._context.shelf(savepoint)
        return self._opened.setdefault(shelf.url, shelf)


def is_away(home: Storage) -> bool:
    """Whether a home in a folder of this machine is not there. An empty one is where a disk was mounted: a home has at least its mark."""
    return folders.local(home) and not (Path(home.url).is_dir() and any(Path(home.url).iterdir()))


def away(home: Storage) -> Unavailable:
    """The error of a home that is not there."""
    return Unavailable(AWAY, f"{home.url} is not there", "Mount it, or move it back.")


def _there(home: Storage) -> Storage:
    if is_away(home):
        raise away(home)
    return home
