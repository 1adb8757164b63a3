"""Copies in HDFS that are a Spark job on the cluster of the job itself: HDFS copies nothing by itself, and else all passes through here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipelines.domain import masters
from pipelines.domain.errors import NotFound
from pipelines.domain.ids import OperationId
from pipelines.domain.versions import Version
from pipelines.domain.watch import UNWATCHED
from pipelines.sandbox import states as sandbox
from pipelines.sandbox.cluster_copies import CopyTask
from pipelines.sandbox.counts import TASK_FORMAT
from pipelines.sandbox.readings import Far
from pipelines.storage import users
from pipelines.storage.addresses import open_storage
from pipelines.storage.carrying import Move
from pipelines.storage.protocol import Advance, Storage
from pipelines.workspace import environments, run_confs
from pipelines.workspace.context import Context

VARIABLE = "TIDEMARK_CLUSTER_COPY_BYTES"
LEAST_BYTES = 2**30
"""What is less is copied sooner than a Spark is there."""
SCHEME = "hdfs://"


@dataclass(frozen=True)
class ClusterCopies:
    """A `Carrier`: a Spark of `version`, on its master and with its confs, whose driver is a process of this machine."""

    context: Context
    version: Version

    @property
    def least_bytes(self) -> int:
        setting = os.environ.get(VARIABLE, "")
        return int(setting) if setting.isdigit() else LEAST_BYTES

    def carry(self, moves: Sequence[Move], advance: Advance) -> None:
        """Raises NotFound (`storage.not_found`), Unavailable (`storage.cluster_copy`), and what `environments` raises."""
        context = self.context
        folder = context.layout.sandbox_folder(OperationId(context.new_id("x"))) / "copy"
        folder.mkdir(parents=True)
        try:
            conf = masters.without_deploy_mode(run_confs.confs(context, self.version))
            task = CopyTask(TASK_FORMAT, "copying of files", self.version.master, conf, tuple(moves))
            runtime = environments.entered(context, environments.make(context, self.version, UNWATCHED)).runtime
            told = _Told(advance)
            copied = sandbox.copy(context.sparks, folder, task, runtime, told.far)
        finally:
            shutil.rmtree(folder.parent)
        if copied.gone:
            raise NotFound("storage.not_found", f"{copied.gone[0]} does not exist", "It may have been deleted meanwhile.")
        told.whole(sum(move.bytes for move in moves))


class _Told:
    """What the watch of the work was told of it."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance
        self._done = 0

    def far(self, far: Far) -> None:
        self.whole(max(far.done, self._done))

    def whole(self, done: int) -> None:
        before, self._done = self._done, done
        self._advance(done - before)


def opening(context: Context, version: Version) -> Callable[[str], Storage]:
    """Opens storages; those in HDFS have files copied on the cluster of `version`, where it has one that a Spark of this server can use."""
    carrier = ClusterCopies(context, version) if _has_cluster(version.master) else None
    return lambda url: open_storage(url, carrier)


def _has_cluster(master: str) -> bool:
    """Not a local master, whose threads are this machine's, nor Kubernetes, whose executors need not reach it; and not where code runs as
    another user, who may not write into folders of the server's."""
    return bool(master) and not masters.is_local(master) and not masters.is_kubernetes(master) and users.other() is None


def enabled(context: Context, version: Version, shelf: Storage) -> Storage:
    """`shelf`, where it is in HDFS with such copies."""
    return opening(context, version)(shelf.url) if shelf.url.startswith(SCHEME) else shelf
