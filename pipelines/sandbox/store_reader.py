"""Spark's own reader of a state store. It takes the store from the offset log, but the checkpoint format from the session."""

from __future__ import annotations

from typing import Any

from pipelines.sandbox.counts import Store

FORMAT_CONF = "spark.sql.streaming.stateStore.checkpointFormatVersion"


def session_of(spark: Any, store: Store) -> Any:
    """A new session, which reads the store."""
    session = spark.newSession()
    session.conf.set(FORMAT_CONF, str(store.state_format))
    return session


def reader(session: Any, store: Store) -> Any:
    """The reader of the operator's state at the store's batch; its options name what of it is read."""
    return session.read.format("statestore").option("batchId", store.batch).option("operatorId", store.operator)


def undecoded(session: Any, store: Store) -> Any:
    """The rows of a RocksDB store's column families as bytes, as Spark's StateRewriter reads them."""
    return reader(session, store).option("storeName", store.store).option("_readAllColumnFamilies", "true").load(store.checkpoint)
