"""The door into RocksDB: Spark's own writer of one partition of a store, an internal of Spark 4.3 (StateRewriter rests on it).

It begins with an empty store, takes undecoded rows, and leaves the state after a batch. Rows pass through the driver, a
partition at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.domain import joins
from pipelines.domain.conversions import Shape
from pipelines.domain.pinned_confs import PROVIDER_CONF
from pipelines.sandbox.counting import DEFAULT_STORE, LIST_COUNTERS
from pipelines.sandbox.counts import Store
from pipelines.sandbox.store_reader import FORMAT_CONF

ROCKSDB_CLASS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
KNOWN = ("4.3.",)
"""Versions of Spark whose writer was measured."""
STATE = "org.apache.spark.sql.execution.streaming.state"


class CannotConvert(Exception):
    """This Spark's writer of state is not the one that is known."""


class PartitionWriter:
    """Writes partitions of RocksDB stores with the confs of `spark`. Raises CannotConvert for a Spark that was not measured."""

    def __init__(self, spark: Any) -> None:
        if not spark.version.startswith(KNOWN):
            raise CannotConvert(f"Spark {spark.version} was not measured, only {', '.join(f'{known}x' for known in KNOWN)}")
        session = spark._jsparkSession.cloneSession()
        session.conf().set(PROVIDER_CONF, ROCKSDB_CLASS)
        self._jvm = spark._jvm
        self._none = self._jvm.scala.Option.empty()
        self._hadoop = session.sessionState().newHadoopConf()
        self._package = self._jvm.org.apache.spark.sql.execution.streaming.state
        self.state_format = int(session.conf().get(FORMAT_CONF))
        """Of what is written: that of the session, as a query's is."""
        try:
            self._conf = self._object(f"{STATE}.StateStoreConf").apply(session.sessionState().conf())
        except (TypeError, AttributeError) as error:
            raise CannotConvert(f"Spark's {STATE}.StateStoreConf does not answer as known: {error}") from error

    def write(self, frame: Any, checkpoint: str, store: Store, shape: Shape, partition: int) -> str | None:
        """Writes the rows of `frame` (`partition_key`, `key_bytes`, `value_bytes`, `column_family_name`; of one partition) as the state
        after the store's batch below `checkpoint`; answers with its id, None in format 1."""
        try:
            families = self._families(shape)
            place = (self._conf, self._hadoop, partition, checkpoint, store.operator, store.store, store.batch, families, self._none)
            writer = self._package.StatePartitionAllColumnFamiliesWriter(*place)
        except (TypeError, AttributeError) as error:
            raise CannotConvert(f"Spark's writer of state does not answer as known: {error}") from error
        written = writer.write(frame._jdf.queryExecution().executedPlan().executeToIterator())
        return str(written.stateStoreCkptId().get()) if self.state_format > 1 else None

    def _families(self, shape: Shape) -> Any:
        """The column families of a store by name: the one that a store without state variables has, else those that Spark's file lists."""
        if shape.families:
            listed = {family.colFamilyName(): family for family in self._listed(shape.families)}
            lists = {name for name in listed if any(f"{prefix}{name}" in listed for prefix in LIST_COUNTERS)}
            return self._map({name: self._info(family, name in lists or joins.has_many(name)) for name, family in listed.items()})
        option, of = self._jvm.scala.Option.apply, self._jvm.org.apache.spark.sql.types.DataType.fromJson
        key, value = of(shape.key), of(shape.value)
        package = self._package
        encoder = package.PrefixKeyScanStateEncoderSpec(key, shape.prefix) if shape.prefix else package.NoPrefixKeyStateEncoderSpec(key)
        schema = package.StateStoreColFamilySchema(DEFAULT_STORE, 0, key, 0, value, option(encoder), self._none)
        return self._map({DEFAULT_STORE: self._info(schema)})

    def _listed(self, file: str) -> Iterator[Any]:
        path = self._jvm.org.apache.hadoop.fs.Path(file)
        stream = path.getFileSystem(self._hadoop).open(path)
        try:
            families = self._object(f"{STATE}.StateSchemaCompatibilityChecker").readSchemaFile(stream)
        finally:
            stream.close()
        yield from (families.apply(at) for at in range(families.size()))

    def _info(self, schema: Any, has_many: bool = False) -> Any:
        """`has_many`: a key has several values, one row each; they are written in the order of the rows."""
        return self._package.StatePartitionWriterColumnFamilyInfo(schema, has_many)

    def _map(self, entries: Mapping[str, Any]) -> Any:
        made = self._jvm.java.util.HashMap()
        for key, value in entries.items():
            made.put(key, value)
        return self._jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(made)

    def _object(self, name: str) -> Any:
        loader = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        return self._jvm.java.lang.Class.forName(f"{name}$", True, loader).getField("MODULE$").get(None)
