"""Copies of restored checkpoints for a rehearsal, which writes into them, while they wait for the run that they are made for.

On the workspace's disk they are links, of another disk copies. In a bucket the storage copies them by itself, below the restored ones, with
which they go if all is broken off. HDFS does not copy: there the sandbox's Spark has done it when it migrated the state.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.domain.ids import folder_of
from pipelines.domain.job_places import is_hdfs, is_remote
from pipelines.domain.savepoints import Manifest
from pipelines.storage import copies, folders
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Clone
from pipelines.workspace.tickets import Ticket

COPY = "rehearsed"


def of_spark(manifest: Manifest, checkpoints: str) -> tuple[tuple[str, str], ...]:
    """What Spark is to copy, each folder with where to."""
    queries = _queries(manifest) if is_hdfs(checkpoints) else ()
    return tuple((f"{checkpoints}/{query}", f"{checkpoints}/{COPY}/{query}") for query in queries)


@contextmanager
def copied(manifest: Manifest, checkpoints: str, folder: Path, ticket: Ticket) -> Iterator[str]:
    """Where the copy is as long as the block lasts; links are in `folder`."""
    if not is_remote(checkpoints):
        copy = folder / COPY
        shutil.copytree(checkpoints, copy, copy_function=_linked)
        yield str(copy)
        return
    storage = open_storage(checkpoints)
    if not is_hdfs(checkpoints):
        entries = [entry for query in _queries(manifest) for entry in storage.list(query)]
        ticket.step("copying", sum(entry.bytes for entry in entries), "bytes")
        files = [Clone(entry.path, f"{COPY}/{entry.path}", entry.bytes) for entry in entries]
        list(storage.clone(storage, files, ticket.advance))
    yield f"{checkpoints}/{COPY}"
    folders.remove(storage, COPY)


def _linked(source: str, target: str) -> None:
    """Where the checkpoint is on another disk, its file is copied."""
    if not copies.link(source, target):
        copies.copy(source, target)


def _queries(manifest: Manifest) -> tuple[str, ...]:
    return tuple(folder_of(image.query) for image in manifest.begun)
