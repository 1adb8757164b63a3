"""A batch of changed code on a copy of a savepoint's state, which nothing else sees."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version
from pipelines.savepoint import leases, restore
from pipelines.workspace import environments, rehearsals, snapshot_versions, verifications
from pipelines.workspace.context import Context
from pipelines.workspace.rehearsals import Rehearsed
from pipelines.workspace.tickets import Ticket


@contextmanager
def rehearsed(
    context: Context, manifest: Manifest, version: Version, new_queries: tuple[str, ...], ticket: Ticket
) -> Iterator[tuple[Rehearsed, Path]]:
    """What came of the batch, and the scratch folder with what it put out: 1. the checkpoints are linked there; 2. the code runs a batch,
    with every sink replaced. Nothing is left at the end of the block. Raises Unavailable, and what `ticket` raises."""
    folder = context.layout.sandbox_folder(ticket.operation)
    with verifications.turn(context, ticket), leases.lease(context.shelf(manifest.id), manifest.id, str(folder), context.now_ms()):
        folder.mkdir(parents=True)
        try:
            ticket.step("linking")
            checkpoints = folder / "checkpoints"
            target = rehearsals.target(context, manifest, folder, str(checkpoints), version)
            restore.restore(context.shelf(manifest.id), manifest.id, target, context.now_ms(), watch=ticket)  # 1
            snapshot_versions.fit(context, manifest, version, str(checkpoints))
            runtime = environments.entered(context, environments.make(context, version, ticket)).runtime
            changed = replace(manifest, version=version)
            yield rehearsals.rehearse(context, changed, runtime, folder, str(checkpoints), ticket, new_queries), folder  # 2
        finally:
            shutil.rmtree(folder)
