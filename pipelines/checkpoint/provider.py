"""Which state store a checkpoint was begun with: its offset log pins the class."""

from __future__ import annotations

import enum

from pipelines.checkpoint import damage, offsets
from pipelines.checkpoint.offsets import Offsets
from pipelines.domain.pinned_confs import PROVIDER_CONF, ROCKSDB

HDFS_CLASS = "HDFSBackedStateStoreProvider"


class Provider(enum.StrEnum):
    """`NONE` for a stateless query."""

    HDFS = "hdfs"
    ROCKSDB = "rocksdb"
    NONE = "none"


def provider(entry: Offsets, stateful: bool) -> Provider:
    """The provider that `entry` pins, Spark's default where it pins none; raises Unsupported for any other class."""
    if not stateful:
        return Provider.NONE
    name = entry.conf.get(PROVIDER_CONF, HDFS_CLASS).rpartition(".")[2]
    if name == HDFS_CLASS:
        return Provider.HDFS
    if name == ROCKSDB:
        return Provider.ROCKSDB
    raise damage.not_supported(offsets.path(entry.batch), f"the state store is {name}")
