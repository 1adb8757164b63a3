"""Rewriting steps of a restore: on the restored copy, before its run is written down, so that a failure leaves nothing that is listed.

The steps: (1) the sandbox's Spark rewrites the copy's state, at a home too, where it reads and writes by itself; (2) it reads it back: each
store must hold the same keys and values as before; (3) the sink logs that came along learn of the batch that Spark wrote for it. A crash
before the run is wanted leaves a copy that the next opening removes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from pipelines.domain import masters
from pipelines.domain.errors import Corrupt
from pipelines.domain.ids import folder_of
from pipelines.domain.job_places import s3_conf
from pipelines.domain.rewrites import RewritePlan
from pipelines.domain.savepoints import Manifest
from pipelines.domain.sinks import BATCH
from pipelines.domain.versions import Version
from pipelines.sandbox import states as sandbox
from pipelines.sandbox.conversions import ConversionTask
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.rewrites import RewriteTask, Rewritten
from pipelines.storage.addresses import open_storage
from pipelines.workspace import environments, run_confs, states, verifications
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket


def rewrite(
    context: Context,
    manifest: Manifest,
    version: Version,
    plan: RewritePlan,
    checkpoints: str,
    sink_logs: Mapping[str, str],
    ticket: Ticket,
) -> None:
    """Carries `plan` out on the copy of the savepoint in `checkpoints`, with the Spark and the confs of `version`.

    Raises Unsupported (`rescale.refused`), Corrupt (`rescale.rows`), Unavailable, what the plan refuses, and what `ticket` raises."""
    if plan.refusal is not None:
        raise plan.refusal.error
    held, title = stores(manifest, plan, checkpoints), f"{manifest.job} (rescaling)"
    task = RewriteTask(TASK_FORMAT, title, masters.beside(version.master), confs(context, version, checkpoints), held, plan.partitions)
    check(in_sandbox(context, version, task, ticket))  # 1, 2
    note(plan, sink_logs)  # 3


def confs(context: Context, version: Version, checkpoints: str) -> Mapping[str, str]:
    """The confs of a Spark that works on state of `version` in the folder `checkpoints`, wherever that is."""
    conf = run_confs.confs(context, version)
    return {**conf, **s3_conf(checkpoints, conf, os.environ)}


def in_sandbox(context: Context, version: Version, task: RewriteTask | ConversionTask, ticket: Ticket) -> Rewritten:
    """What the sandbox's Spark answers, on the runtime of `version`, when it is its turn."""
    folder = context.layout.sandbox_folder(ticket.operation) / "rewrite"
    with verifications.turn(context, ticket):
        folder.mkdir(parents=True)
        try:
            runtime = environments.entered(context, environments.make(context, version, ticket)).runtime
            return sandbox.rewrite(context.sparks, folder, task, runtime, states.follow(ticket))
        finally:
            shutil.rmtree(folder.parent)


def check(done: Rewritten) -> None:
    """Raises Corrupt (`rescale.rows`) where a store does not hold the rows that it held."""
    for read in done.stores:
        if read.before != read.after:
            store = read.store
            place = f"store {store.store} of operator {store.operator} of query {store.query}"
            message = f"After the rescaling {place} holds {read.after.rows:,} rows, and held {read.before.rows:,}"
            if read.before.rows == read.after.rows:
                message = f"After the rescaling some of the {read.after.rows:,} rows that {place} holds are other ones than before"
            raise Corrupt("rescale.rows", message, "The copy is removed; the job and its savepoint are as they were.")


def note(plan: RewritePlan, sink_logs: Mapping[str, str]) -> None:
    """Writes beside each restored sink log which batch the rewriting was, for the driver that carries the log."""
    for query, batch in plan.batches.items():
        if query in sink_logs:
            open_storage(sink_logs[query]).write(BATCH, str(batch).encode())


def stores(manifest: Manifest, plan: RewritePlan, checkpoints: str) -> tuple[Store, ...]:
    """The stores of the copy in `checkpoints` that the plan rewrites."""
    return tuple(
        Store(
            image.query,
            f"{checkpoints}/{folder_of(image.query)}",
            image.batch,
            image.provider,
            image.state_format,
            operator.id,
            operator.name,
            store,
        )
        for image in manifest.queries
        if image.query in plan.batches
        for operator in image.operators
        for store in operator.stores
    )
