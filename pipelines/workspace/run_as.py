"""The user that jobs' code runs as: chosen when a process opens a workspace, and let at what a run needs before its driver starts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from pipelines.domain.job_places import place_of
from pipelines.domain.run_specs import SPEC_FILE, RunSpec
from pipelines.sandbox.environment import ROOT
from pipelines.storage import handover, rights, users
from pipelines.workspace import job_places
from pipelines.workspace.context import Context


def begin(name: str, root: Path) -> None:
    """Has the code of the jobs in the workspace `root` run as the user `name`; empty for the user of this process.

    Raises what `users.named` and `users.check_reach` raise."""
    users.assume(None)
    if not name:
        return
    user = users.named(name)
    rights.make_folder(root)
    users.assume(users.Other(user, root))
    handover.let_in(root / SPEC_FILE)
    users.check_reach(user, ROOT, root)


def prepare(context: Context, run: Path) -> None:
    """Gives the user what the driver of the run in the folder `run` reads and writes: its code, its checkpoint, its output and tables."""
    other = users.other()
    if other is None:
        return
    spec = context.files.read(RunSpec, run / SPEC_FILE)
    handover.let_read(_inside(other.workspace, [spec.code or str(Path(spec.script).parent), *spec.outside]))
    handover.mark(context.layout.job(spec.job))
    if spec.lead is not None and spec.lead.wanted:
        handover.mark(Path(spec.lead.wanted).parent)
    for folder in _inside(other.workspace, [spec.checkpoints, spec.output, spec.warehouse]):
        folder.mkdir(parents=True, exist_ok=True)
        handover.hand_over(folder)
    if os.path.isfile(spec.mark):
        for place in (spec.checkpoints, spec.output):
            Path(place).mkdir(exist_ok=True)
            job_places.hand_over(place_of(spec.checkpoints, is_marked=True), place)
    for folder in _inside(other.workspace, [*spec.sink_logs.values()]):
        handover.hand_over(folder)


def _inside(workspace: Path, places: Iterable[str]) -> Iterator[Path]:
    """Those of `places` that are in the workspace: of others the user has the rights that it has."""
    return (Path(place) for place in places if place and "://" not in place and Path(place).is_relative_to(workspace))
