"""Confs that a checkpoint pins in its offset log: a query that goes on has them from there (Spark's `OffsetSeqMetadata.setSessionConf`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from pipelines.domain.operators import PARTITIONS_CONF
from pipelines.domain.savepoints import QueryImage

PROVIDER_CONF = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "RocksDBStateStoreProvider"
NO_STATE = "none"
STATE_CONFS = (PARTITIONS_CONF, PROVIDER_CONF)
"""Pinned of every query, and without a meaning for one that keeps no state: Spark goes on with the session's number of partitions where
no state is (`rebindSQLConfsOffsetLogToSession`)."""


def ignored(images: Sequence[QueryImage], before: Mapping[str, str], now: Mapping[str, str], moved: Collection[str] = ()) -> Iterator[str]:
    """What Spark would pass over without a word: each conf that `now` gives and `before` did not, where a query's checkpoint pins another
    value. Those `moved` are given to the copy of the state."""
    given = {key: value for key, value in now.items() if before.get(key) != value and key not in moved}
    for image in images:
        for key, value in given.items():
            pinned = image.conf.get(key)
            is_idle = key in STATE_CONFS and image.provider == NO_STATE
            if pinned is not None and pinned.casefold() != value.casefold() and not is_idle:
                yield _ignored(image, key, pinned, value)


def _ignored(image: QueryImage, key: str, pinned: str, value: str) -> str:
    if key == PARTITIONS_CONF:
        return f"the state of {image.query} stays in {pinned} partitions, whatever {key} says ({value}): rescale moves it to others"
    if key == PROVIDER_CONF:
        stays = f"{image.query} stays in {_store(pinned)}, whatever {key} says"
        return f"{stays}: --store rocksdb moves its state" if value.endswith(ROCKSDB) else f"{stays}: its checkpoint pins it"
    return f"{image.query} keeps {key}={pinned}, not {value}: its checkpoint pins it, as its state was written with it"


def _store(provider: str) -> str:
    return "RocksDB" if provider.endswith(ROCKSDB) else "the HDFS-backed store"
