"""Opens a workspace: makes missing folders, cleans up after a crash, and reads what happened meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.catalog.connection import Catalog
from pipelines.catalog.opening import open_catalog, open_in_memory
from pipelines.catalog.rebuild import remove, reopen
from pipelines.domain.bounds import Format, Moment
from pipelines.domain.errors import Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.ids import random_id
from pipelines.storage import rights
from pipelines.storage.errors import translated
from pipelines.storage.layout import WORKSPACE_FORMAT, Layout
from pipelines.workspace import audit, cleanup, events, ingestion, rebuild, standby_index
from pipelines.workspace.backups import restores
from pipelines.workspace.context import ID_BYTES, Context
from pipelines.workspace.files import Files
from pipelines.workspace.lease import Lease
from pipelines.workspace.locking import open_locked
from pipelines.workspace.workspace import Workspace

Clock = Callable[[], int]
"""Milliseconds since the epoch."""


@dataclass(frozen=True)
class Marker:
    """`workspace.json`: what makes a directory a workspace."""

    format: Format
    id: str
    created_ms: Moment


def wall_clock_ms() -> int:
    """The system's clock, the default everywhere."""
    return time.time_ns() // 1_000_000


def open_workspace(
    root: Path,
    *,
    clock: Clock = wall_clock_ms,
    entropy: Callable[[int], bytes] = os.urandom,
    rebuilding: bool = False,
    standby: Lease | None = None,
    once_locked: Callable[[], object] = lambda: None,
) -> Workspace:
    """The workspace in `root`, made if it is not there. With `rebuilding` a catalog that cannot be read is made anew. A standby, with the
    lease that it watches, does not wait for one of another host, and takes over from a process that lives and does not renew its own.
    `once_locked` is called as soon as no other process has the workspace any more.

    1. what is made from here on is this user's alone;
    2. `workspace.json` is checked or made: Unsupported (`workspace.newer`) for a newer format;
    3. the catalog is opened, which keeps every other process of this host out, and the lease is taken, which keeps those of others
       out: Unavailable (`catalog.locked`);
    4. other users of the machine keep no rights but to jobs' outputs; what a crash left half done is finished or
       removed, in the audit too;
    5. the catalog learns what the files have and it lacks;
    6. growing files are read on from where they were left;
    7. what a crash left half done at homes is finished beside the rest.
    """
    layout = Layout(root.resolve())
    files = Files(layout)
    rights.keep_private()  # 1
    _mark(layout, files, clock, entropy)  # 2

    def opened(open_it: Callable[[Path], Catalog]) -> Context:
        lease = standby or Lease(layout)
        catalog = open_locked(files, lease, open_it, stands_by=standby is not None)
        files.check = lease.check
        once_locked()
        return Context(layout, files, catalog, clock, entropy, lease)

    if not rebuilding:
        return _with(opened(open_catalog))  # 3
    try:
        return _with(opened(reopen), _rebuild)
    except Corrupt as error:
        if error.code != "catalog.damaged":
            raise
    remove(layout.catalog_file)  # damage that only its use has shown
    return _with(opened(open_catalog), _rebuild)


def is_workspace(root: Path) -> bool:
    """Whether the folder `root` is one. A folder with jobs is one that has lost its marker."""
    layout = Layout(root.resolve())
    return layout.workspace_file.exists() or layout.jobs.exists()


def refuse_missing(root: Path) -> None:
    """NotFound (`workspace.not_found`) where `root` is no workspace."""
    if is_workspace(root):
        return
    raise NotFound(
        "workspace.not_found",
        f"There is no workspace at {root.resolve()}",
        "Name another with --workspace, or make one there: 'run' and 'example' do, and so does python3 -m dashboard.",
    )


def _rebuild(context: Context) -> None:
    rebuild.rebuild(context, rebuild.read_all(context))


def _with(context: Context, then: Callable[[Context], object] = lambda context: None) -> Workspace:
    """Steps 4 to 6 on an open catalog, which is closed again on an error. What a crash left of a restored backup is read anew."""
    try:
        if restores.finish(context):
            then = _rebuild
        ingestion.go_on(context)
        _close_to_others(context)
        audit.mend(context)
        cleanup.clean(context)  # 4
        rebuild.register(context)  # 5
        then(context)
        ingestion.follow(context, ingestion.everything(context))  # 6
    except OSError as error:
        context.close()
        raise translated(error, str(context.layout.root)) from error
    except BaseException:
        context.close()
        raise
    return Workspace(context)  # 7


def _close_to_others(context: Context) -> None:
    """Workspaces of earlier versions were open to everybody who can log in."""
    for refused in rights.tighten(context.layout):
        message = f"other users of this machine may get at {refused.filename}: {refused.strerror}; close it, or move the workspace"
        events.say(context, "workspace.open", None, str(refused.filename), message)


def open_unwritable(root: Path) -> Workspace:
    """The workspace on a disk that takes nothing: its index is made in memory, nothing is cleaned, events are written if they can be.

    For what only reads, and for what makes room.
    """
    rights.keep_private()
    layout = Layout(root.resolve())
    return _filled(layout, open_in_memory(layout.catalog_file))


@contextmanager
def open_standby(root: Path, announced: Mapping[str, Any]) -> Iterator[Workspace]:
    """The workspace that another server has: with an index of its own in a temporary file, filled from the files. Nothing is cleaned and
    nothing written in the workspace but `sign_outs`. `pipelines.supervisor.follower` keeps the index up to date."""
    rights.keep_private()
    layout = Layout(root.resolve())
    with standby_index.folder() as folder:
        workspace = _filled(layout, open_catalog(folder / layout.catalog_file.name), is_standby=True, announced=announced)
        try:
            yield workspace
        finally:
            workspace.close()


def _filled(layout: Layout, catalog: Catalog, **of_standby: Any) -> Workspace:
    """The workspace, which takes nothing, with an index that learns what the files have; it is closed again on an error."""
    try:
        context = Context(layout, Files(layout), catalog, wall_clock_ms, os.urandom, is_unwritable=True, **of_standby)
        rebuild.fill(context)
    except BaseException:
        catalog.close()
        raise
    return Workspace(context)


def _make_root(root: Path) -> None:
    """Makes the workspace's folder. Unavailable where it cannot be made; of a place below no real disk the system says only that a folder
    does not exist, or nothing that is known."""
    try:
        rights.make_folder(root)
    except OSError as error:
        failure = translated(error, str(root))
        if failure.code not in ("storage.not_found", "storage.failed"):
            raise failure from error
        message = f"No workspace can be made at {root}: {error.strerror or error}"
        raise Unavailable("workspace.cannot_be_made", message, "Name a folder on a disk that this user can write to.") from error


def _mark(layout: Layout, files: Files, clock: Clock, entropy: Callable[[int], bytes]) -> None:
    marker = files.find(Marker, layout.workspace_file)
    if marker is None:
        marker = Marker(WORKSPACE_FORMAT, random_id("w", entropy(ID_BYTES)), clock())
        _make_root(layout.root)
        files.write(layout.workspace_file, marker)
    if marker.format > WORKSPACE_FORMAT:
        raise Unsupported(
            "workspace.newer",
            f"The workspace {layout.root} has format {marker.format}, this Tidemark reads up to {WORKSPACE_FORMAT}",
            "Update Tidemark to open it.",
        )
    rights.make_folder(layout.jobs)
    for folder in (layout.versions, layout.savepoints, layout.experiments, layout.replays, layout.bisections):
        folder.mkdir(parents=True, exist_ok=True)
