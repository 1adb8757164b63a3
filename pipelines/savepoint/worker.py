"""Imports and checks of savepoints and checkpoints in a process of its own: what somebody made may unpack to anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from pipelines.checkpoint import doctor
from pipelines.checkpoint.doctor import Examined, Subject
from pipelines.domain.errors import Corrupt
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.trust import Trust, Verification
from pipelines.domain.versions import Version, true_id
from pipelines.domain.watch import Watch
from pipelines.savepoint import imports, layout, process_marks, verify
from pipelines.savepoint.archive import Head
from pipelines.savepoint.checksums import THREADS
from pipelines.savepoint.discard import discard
from pipelines.savepoint.shelves import open_inside, open_shelf
from pipelines.storage import documents
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from pipelines.workers.child import Caller, serve
from pipelines.workers.pool import Pool
from pipelines.workers.task import Task

TASK = Task(
    module="pipelines.savepoint.worker",
    code="savepoint",
    title="The work on the files",
    hint="Use another savepoint or checkpoint; if it is one of yours, verify it where it was made.",
    seconds=None,
)


@dataclass(frozen=True)
class Found:
    """What an import is about to bring."""

    savepoint: SavepointId
    job: JobName
    version: Version


@dataclass(frozen=True)
class Checkpoint:
    """What the doctor examines, by its addresses; the fields are those of its `Subject`."""

    url: str
    sink_log: str | None = None
    only: tuple[int, ...] | None = None
    operators: int = 0
    library: str = ""
    """Of one in a savepoint the URL of the storage of all, in which the other two are."""


Claim = Callable[[Found], AbstractContextManager[None]]
"""Told before anything is written; while it lasts nobody else imports that savepoint here. What it raises refuses the import."""


def bring(pool: Pool, url: str, shelf: Storage, now_ms: int, watch: Watch, claim: Claim) -> SavepointId:
    """Imports the savepoint at `url` into `shelf` as `imports.bring` does; an import that is ended in the middle leaves nothing, too."""
    with ExitStack() as claims:
        manifests: list[Found] = []

        def asked(value: Any) -> None:
            manifests.append(documents.decode(Found, value, "The manifest"))
            claims.enter_context(claim(manifests[0]))

        try:
            brought = pool.do({"do": "import", "url": url, "shelf": shelf.url, "now_ms": now_ms}, watch, asked)
        except BaseException:
            for claimed in manifests:
                _discard_unfinished(shelf, claimed.savepoint, now_ms)
            raise
    return SavepointId(brought)


def check(
    pool: Pool, library: Storage, savepoint: SavepointId, level: Trust, now_ms: int, watch: Watch, cpus: int | None = None
) -> Verification:
    """Checks the files of a savepoint as `verify.check` does, and keeps so many processors busy at most; all of them for None."""
    request = {"do": "check", "library": library.url, "savepoint": savepoint, "level": level.value, "now_ms": now_ms, "cpus": cpus}
    return documents.decode(Verification, pool.do(request, watch), "The verification")


def examine(pool: Pool, checkpoint: Checkpoint, watch: Watch) -> Examined:
    """Examines a checkpoint as `doctor.examine` does."""
    return documents.decode(Examined, pool.do({"do": "examine", "checkpoint": asdict(checkpoint)}, watch), "The examination")


def _discard_unfinished(shelf: Storage, savepoint: SavepointId, now_ms: int) -> None:
    """Removes what a process that was ended has left of a savepoint: it still has that process's mark."""
    mark = process_marks.read(shelf, layout.inside(savepoint, layout.MAKING))
    if mark is not None and not process_marks.lives(mark, now_ms):
        discard(shelf, savepoint)


def _do(request: dict[str, Any], caller: Caller) -> str:
    if request["do"] == "check":
        return _check(request, caller)
    if request["do"] == "examine":
        return _examine(Checkpoint(**request["checkpoint"]), caller)
    shelf = open_shelf(request["shelf"])
    return imports.bring(request["url"], shelf, request["now_ms"], caller, claim=lambda head: _claimed(head, caller)).id


def _check(request: dict[str, Any], caller: Caller) -> str:
    library, savepoint = open_shelf(request["library"]), SavepointId(request["savepoint"])
    threads = request["cpus"] or THREADS
    answer = verify.check(library, savepoint, Trust(request["level"]), request["now_ms"], caller.advance, threads)
    return documents.encode(answer).decode()


def _examine(checkpoint: Checkpoint, caller: Caller) -> str:
    opened = partial(open_inside, open_shelf(checkpoint.library)) if checkpoint.library else open_storage
    log = opened(checkpoint.sink_log) if checkpoint.sink_log is not None else None
    subject = Subject(opened(checkpoint.url), log, checkpoint.only, checkpoint.operators)
    return documents.encode(doctor.examine(subject, caller)).decode()


@contextmanager
def _claimed(head: Head, caller: Caller) -> Iterator[None]:
    _refuse_false(head)
    caller.ask(documents.encode(Found(head.manifest.id, head.manifest.job, head.manifest.version)).decode())
    yield


def _refuse_false(head: Head) -> None:
    """Raises Corrupt where a version's id is not the one of its content: it would pass for another version."""
    stated = head.manifest.version
    if true_id(stated) != stated.id:
        message = f"Version {stated.id} in the savepoint does not match its id"
        raise Corrupt("import.version", message, "Do not use it: its code was changed.")


if __name__ == "__main__":
    serve(_do)
