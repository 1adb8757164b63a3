"""Rewrites the state of checkpoints with Spark, and reads it before and after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pipelines.sandbox import spreading
from pipelines.sandbox.reading import followed
from pipelines.sandbox.rewrites import RewriteTask, Rewritten, RewrittenStore
from pipelines.sandbox.store_reader import FORMAT_CONF
from pipelines.sandbox.undecoded import contents


class CannotRescale(Exception):
    """This Spark has no call that rescales state."""


def rescale(spark: Any, task: RewriteTask, folder: Path) -> Rewritten:
    """1. reads all; 2. has Spark write a batch with other partitions; 3. writes what Spark writes wrongly of it;
    4. reads all again. Raises what Spark raises, and CannotRescale."""
    manager = _manager()
    with followed(spark, folder, "reading state"):
        before = [contents(spark, store) for store in task.stores]  # 1
    for checkpoint, state_format in dict.fromkeys((store.checkpoint, store.state_format) for store in task.stores):
        with followed(spark, folder, "rewriting state"):
            _repartition(spark, manager, checkpoint, state_format, task.partitions)  # 2
    for store in task.stores:
        if spreading.is_timed(spark, store):
            with followed(spark, folder, "rewriting joins"):
                spreading.spread(spark, store, task.partitions, folder)  # 3
    with followed(spark, folder, "reading it back"):
        after = [contents(spark, replace(store, batch=store.batch + 1)) for store in task.stores]  # 4
    return Rewritten(spark.version, tuple(map(RewrittenStore, task.stores, before, after)))


def _manager() -> Any:
    """Spark's class (from 4.3 on)."""
    try:
        from pyspark.sql.streaming.query import StreamingCheckpointManager
    except ImportError as error:
        raise CannotRescale("Spark rescales state from 4.3 on") from error
    return StreamingCheckpointManager


def _repartition(spark: Any, manager: Any, checkpoint: str, state_format: int, partitions: int) -> None:
    """Spark takes the store from the offset log, but the checkpoint format from the session. It refuses a checkpoint whose last batch was
    not committed (`enforceExactlyOnceSink`), which a restored one never is."""
    session = spark.newSession()
    session.conf.set(FORMAT_CONF, str(state_format))
    manager(session._jsparkSession.streamingCheckpointManager()).repartition(checkpoint, partitions, True)
