"""Conversions of a restored copy's state to another store, before its run is written down, so that a failure leaves nothing that is listed.

The sandbox's Spark writes the state anew beside the old one, and reads it back: each store must hold the same keys and values. The sandbox
changes the copy only then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pipelines.domain import masters
from pipelines.domain.conversions import ConversionPlan
from pipelines.domain.errors import Corrupt
from pipelines.domain.ids import folder_of
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version
from pipelines.sandbox.conversions import ConversionTask
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.rewrites import Rewritten
from pipelines.savepoint import conversion
from pipelines.workspace import rewrites
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket


def convert(context: Context, manifest: Manifest, version: Version, plan: ConversionPlan, checkpoints: str, ticket: Ticket) -> Manifest:
    """Carries `plan` out on the copy of the savepoint in `checkpoints`, with the Spark and the confs of `version`; answers with what the
    copy is then.

    Raises Unsupported (`convert.refused`), Corrupt (`convert.rows`), Unavailable, what the plan refuses, and what `ticket` raises."""
    if plan.refusal is not None:
        raise plan.refusal.error
    done = rewrites.in_sandbox(
        context, version, task(manifest, version, rewrites.confs(context, version, checkpoints), plan, checkpoints), ticket
    )
    check(done)
    return converted(manifest, done)


def task(manifest: Manifest, version: Version, conf: Mapping[str, str], plan: ConversionPlan, checkpoints: str) -> ConversionTask:
    """What the sandbox is asked for; raises Corrupt where the copy does not say what its stores are."""
    made = [
        (Store.of(image, checkpoint, operator.id, operator.name, store), shape)
        for image in manifest.queries
        if image.query in plan.queries
        for checkpoint in [f"{checkpoints}/{folder_of(image.query)}"]
        for operator, store, shape in conversion.shapes(checkpoint, image)
    ]
    stores, shapes = tuple(store for store, _ in made), tuple(shape for _, shape in made)
    return ConversionTask(TASK_FORMAT, f"{manifest.job} (conversion)", masters.beside(version.master), conf, stores, shapes)


def converted(manifest: Manifest, done: Rewritten) -> Manifest:
    """`manifest` with the stores that its copy has after the conversion."""
    now = {read.store.query: (read.store.provider, read.store.state_format) for read in done.stores}
    images = [(image, *now.get(image.query, (image.provider, image.state_format))) for image in manifest.queries]
    queries = tuple(replace(image, provider=provider, state_format=state_format) for image, provider, state_format in images)
    return replace(manifest, queries=queries)


def check(done: Rewritten) -> None:
    """Raises Corrupt (`convert.rows`) where a store does not hold the rows that it held."""
    for read in done.stores:
        if read.before != read.after:
            place = f"store {read.store.store} of operator {read.store.operator} of query {read.store.query}"
            message = f"After the conversion {place} does not hold what it held: {read.after.rows:,} rows, and {read.before.rows:,} before"
            raise Corrupt("convert.rows", message, "The copy is removed; the savepoint is as it was.")
