"""Counts the rows of state stores, or reads those of one, in a sandbox: starts it, follows it, ends it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pipelines.domain import state_keys
from pipelines.domain.errors import Corrupt, Incompatible, TidemarkError, Unavailable, Unsupported
from pipelines.domain.plain_json import rebuilt
from pipelines.domain.runtimes import Runtime
from pipelines.sandbox import aliases, processes, secret_values
from pipelines.sandbox.cluster_copies import Copied, CopyTask
from pipelines.sandbox.conversions import CANNOT_CONVERT, MISSING, ConversionTask
from pipelines.sandbox.counts import ERROR_FILE, LOG_FILE, RESULT_FILE, CountTask, Store, StoreRows, Task, read_rows
from pipelines.sandbox.key_examples import Examples, ExampleTask, Points
from pipelines.sandbox.lookups import NO_KEY, FoundKey, LookUpTask
from pipelines.sandbox.migrations import CANNOT_MIGRATE, WRONG_ROWS, Migrated, MigrationTask
from pipelines.sandbox.pool import Pool, Work
from pipelines.sandbox.readings import Far, ReadRows, ReadTask
from pipelines.sandbox.rewrites import CANNOT_RESCALE, RewriteTask, Rewritten

T = TypeVar("T")

MODULE = "pipelines.sandbox"
TIMEOUT_VARIABLE = "TIDEMARK_SANDBOX_TIMEOUT_S"
TIMEOUT_S = 1800.0
SLOWEST_COPY = 10 * 2**20
"""Bytes a second; a copy that is slower than that hangs."""


@dataclass(frozen=True)
class Told:
    """How it is told that state cannot be rewritten; `classes` are the sandbox's own errors that say so, beside any of Spark's."""

    code: str
    what: str
    stays: str
    classes: tuple[str, ...]


RESCALING = Told("rescale.refused", "Spark does not rescale this state", "Its partitions stay as they are.", (CANNOT_RESCALE,))
CONVERSION = Told("convert.refused", "This state cannot be converted", "It stays in the store that it has.", (CANNOT_CONVERT, MISSING))
MIGRATION = Told("migrate.refused", "This state cannot be migrated", "It stays as it is.", CANNOT_MIGRATE)


@dataclass(frozen=True)
class Counted:
    """The answer: one `StoreRows` for each store of the task."""

    spark_version: str
    rows: tuple[StoreRows, ...]


def count(pool: Pool, folder: Path, task: CountTask, runtime: Runtime, watch: Callable[[int], None]) -> Counted:
    """Counts rows in the empty `folder` on `runtime`; `watch` is told how many stores are done.

    What `watch` raises ends the process. Raises Unavailable (`sandbox.failed`, `sandbox.timeout`, `sandbox.start`, `java.not_found`).
    """
    work = _work(task, runtime, is_last=False)
    with aliases.plain(task.stores) as stores:
        replace(task, stores=stores).write(folder)
        pool.run(work, folder, LOG_FILE, lambda: watch(len(list(read_rows(folder)))), timeout_s())
    if not (folder / RESULT_FILE).is_file():
        raise _failed(folder, work)
    rows = tuple(read_rows(folder))
    watch(len(rows))
    return Counted(json.loads((folder / RESULT_FILE).read_text())["spark_version"], rows)


def read(pool: Pool, folder: Path, task: ReadTask, runtime: Runtime, watch: Callable[[Far], None]) -> ReadRows:
    """Reads rows into `rows` of the empty `folder` on `runtime`; `watch` is told how far it is.

    What `watch` raises ends the process. Raises Corrupt (`state.damaged`), Unsupported (`state.unreadable`), and what `count` raises.
    """
    work = _work(task, runtime, is_last=False)
    with aliases.plain([task.store]) as (store,):
        replace(task, store=store).write(folder)
        pool.run(work, folder, LOG_FILE, _following(folder, watch), timeout_s())
    if not (folder / RESULT_FILE).is_file():
        raise _unread(folder, work, task.store)
    return _answer(ReadRows, folder)


def look_up(pool: Pool, folder: Path, task: LookUpTask, runtime: Runtime, watch: Callable[[], None]) -> FoundKey:
    """Looks a key up, from the empty `folder`. Raises Invalid (`state.key`) for one that the table cannot have, and what `read` raises."""
    work = _work(task, runtime, is_last=False)
    with aliases.plain([task.store]) as (store,):
        replace(task, store=store).write(folder)
        pool.run(work, folder, LOG_FILE, watch, timeout_s())
    if not (folder / RESULT_FILE).is_file():
        raise _not_looked_up(folder, work, task)
    return _answer(FoundKey, folder)


def examples(pool: Pool, folder: Path, task: ExampleTask, runtime: Runtime, watch: Callable[[Far], None]) -> Examples:
    """Finds a key of each operator whose rows differ, from the empty `folder`; `watch` is told how far it is. Raises what `read` raises."""
    work = _work(task, runtime, is_last=False)
    with aliases.plain(task.stores) as stores:
        plain = iter(stores)
        tables = tuple(Points({side: next(plain) for side in table.stores}, table.variable) for table in task.tables)
        replace(task, tables=tables).write(folder)
        pool.run(work, folder, LOG_FILE, _following(folder, watch), timeout_s())
    if not (folder / RESULT_FILE).is_file():
        raise _unread(folder, work, task.stores[0])
    return _answer(Examples, folder)


def _not_looked_up(folder: Path, work: Work, task: LookUpTask) -> TidemarkError:
    failure = _failure(folder)
    if failure.get("error_class") == NO_KEY:
        return state_keys.refused(failure["message"])
    return _unread(folder, work, task.store)


def rewrite(pool: Pool, folder: Path, task: RewriteTask | ConversionTask, runtime: Runtime, watch: Callable[[Far], None]) -> Rewritten:
    """Rewrites state from the empty `folder` on `runtime`; `watch` is told how far it is.

    What `watch` raises ends the process, and leaves the checkpoints half rewritten. Raises Unsupported (`rescale.refused`,
    `convert.refused`), and what `count` raises.
    """
    work = _on_plain_names(pool, folder, task, runtime, watch)
    if not (folder / RESULT_FILE).is_file():
        raise _refused(folder, work, RESCALING if isinstance(task, RewriteTask) else CONVERSION)
    return _answer(Rewritten, folder)


def migrate(pool: Pool, folder: Path, task: MigrationTask, runtime: Runtime, watch: Callable[[Far], None]) -> Migrated:
    """Migrates state from the empty `folder` on `runtime`; `watch` is told how far it is.

    What `watch` raises ends the process, and leaves the checkpoints half migrated. Raises Incompatible (`migrate.rows`), Unsupported
    (`migrate.refused`), and what `count` raises.
    """
    work = _on_plain_names(pool, folder, task, runtime, watch)  # Spark's writer takes any path: what begins empty needs no other name
    if not (folder / RESULT_FILE).is_file():
        raise _unmigrated(folder, work)
    return _answer(Migrated, folder)


def _on_plain_names(
    pool: Pool, folder: Path, task: RewriteTask | ConversionTask | MigrationTask, runtime: Runtime, watch: Callable[[Far], None]
) -> Work:
    """The work, after it was done."""
    work = _work(task, runtime, is_last=True)
    with aliases.plain(task.stores) as stores:
        replace(task, stores=stores).write(folder)
        pool.run(work, folder, LOG_FILE, _following(folder, watch), timeout_s())
    return work


def copy(pool: Pool, folder: Path, task: CopyTask, runtime: Runtime, watch: Callable[[Far], None]) -> Copied:
    """Copies files from the empty `folder` on `runtime` and the task's master; `watch` is told how many bytes are there.

    What `watch` raises ends the process. Raises Unavailable (`storage.cluster_copy`), and what `count` raises.
    """
    task.write(folder)
    work = _work(task, runtime, is_last=True)
    limit_s = timeout_s() + sum(move.bytes for move in task.moves) / SLOWEST_COPY
    pool.run(work, folder, LOG_FILE, _following(folder, watch), limit_s)
    if not (folder / RESULT_FILE).is_file():
        failed = _failed(folder, work)
        hint = "See whether the cluster answers and has room for it; by TIDEMARK_CLUSTER_COPY_BYTES fewer copies are its work."
        raise Unavailable("storage.cluster_copy", f"Files were not copied on {task.master}. {failed.message}", hint)
    return _answer(Copied, folder)


def _unmigrated(folder: Path, work: Work) -> TidemarkError:
    """The error of a migration that failed: the function's, else as of any rewriting."""
    failure = _failure(folder)
    if failure.get("error_class") == WRONG_ROWS:
        hint = "Correct the function. Nothing of the copy is left; the savepoint is as it was."
        return Incompatible("migrate.rows", failure["message"], hint)
    if not failure:
        failed = _failed(folder, work)
        hint = f"See whether the function ends its process (os._exit), or needs more memory than there is. {failed.hint}"
        return Unavailable(failed.code, failed.message, hint)
    return _refused(folder, work, MIGRATION)


def _refused(folder: Path, work: Work, told: Told) -> TidemarkError:
    """The error of a rewriting that failed: what Spark or its files refuse, else the sandbox's own."""
    failure = _failure(folder)
    if "damaged" not in failure and failure.get("error_class") not in told.classes:
        return _failed(folder, work)
    hint = f"{told.stays} Prove the savepoint to see whether its state is sound."
    return Unsupported(told.code, f"{told.what}: {failure['error_class']}: {failure['message']}", hint)


def _unread(folder: Path, work: Work, store: Store) -> TidemarkError:
    """The error of a failed read: of the state where Spark says that it is about state, else of the sandbox."""
    failure = _failure(folder)
    if "damaged" not in failure:
        return _failed(folder, work)
    message = f"Store {store.store} of operator {store.operator} cannot be read: {failure['error_class']}: {failure['message']}"
    if failure["damaged"]:
        return Corrupt("state.damaged", message, "Prove the savepoint: that says what of it is damaged. Another savepoint may be sound.")
    return Unsupported("state.unreadable", message, "This Spark cannot read this state: try the Spark that the job runs on.")


def _work(task: Task, runtime: Runtime, *, is_last: bool) -> Work:
    return Work(MODULE, runtime, task.master, task.conf, is_last, secret_values.hidden(task.conf))


def _answer(kind: type[T], folder: Path) -> T:
    return rebuilt(kind, json.loads((folder / RESULT_FILE).read_text()))


def _failure(folder: Path) -> dict[str, Any]:
    """What `error.json` says; empty where there is none."""
    path = folder / ERROR_FILE
    return json.loads(path.read_text()) if path.is_file() else {}


def _following(folder: Path, watch: Callable[[Far], None]) -> Callable[[], None]:
    """Tells `watch` how far the process in `folder` is."""
    return lambda: watch(Far.read(folder) or Far("starting Spark", 0, 0))


def timeout_s() -> float:
    """How long a one-off process may take."""
    return float(os.environ.get(TIMEOUT_VARIABLE, TIMEOUT_S))


def _failed(folder: Path, work: Work) -> Unavailable:
    """The error of a sandbox that failed itself, which says nothing about the state."""
    if failure := _failure(folder):
        message = f"The sandbox's Spark failed: {failure['error_class']}: {failure['message']}"
    else:
        message = f"The sandbox's Spark ended without a word. The end of its log: {processes.tail(folder / LOG_FILE, work.hidden)}"
    return Unavailable("sandbox.failed", message, "Look at the job's confs and interpreter; then try again.")
