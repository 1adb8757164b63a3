"""Delta Lake for tests: its jars for the Sparks of `tests.runtimes`, and tables as a job leaves them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pipelines.domain import connectors
from tests import maven, runtimes


def connector(spark: str = runtimes.USUAL) -> str:
    """The list of jars for a PySpark."""
    return f"delta_connector_{connectors.release(spark)}"


def missing(spark: str = runtimes.USUAL) -> str:
    """Which jars were not fetched, and how to get them; empty where all are there."""
    name = connector(spark)
    return "" if maven.jars(name) else f"needs the jars of {name}, from Maven's repository; to get them: {maven.HOW}"


def conf(spark: str = runtimes.USUAL) -> dict[str, str]:
    """What gives a job on a PySpark Delta Lake."""
    return {
        "spark.jars": ",".join(map(str, maven.jars(connector(spark)))),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.databricks.delta.properties.defaults.checkpointInterval": "3",
    }


PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
QUERY = "a-query"
TABLE = "a-table"


def batch(number: int, *actions: Mapping[str, Any], query: str = QUERY) -> list[Mapping[str, Any]]:
    """What a streaming query commits for a batch."""
    return [{"txn": {"appId": query, "version": number}}, *actions]


def add(path: str, **more: Any) -> Mapping[str, Any]:
    return {"add": {"path": path, "size": 4, **more}}


def remove(path: str, **more: Any) -> Mapping[str, Any]:
    return {"remove": {"path": path, **more}}


def described(table: str = TABLE, **configuration: str) -> Mapping[str, Any]:
    """What a table says of itself; `delta.` is put before the names."""
    return {"metaData": {"id": table, "configuration": {f"delta.{name}": value for name, value in configuration.items()}}}


def offset(version: int, index: int = -1, *, in_snapshot: bool = False, table: str = TABLE) -> str:
    """As Delta writes it."""
    raw = {"sourceVersion": 1, "reservoirId": table, "reservoirVersion": version, "index": index, "isStartingVersion": in_snapshot}
    return json.dumps(raw)


def commit(table: Path, version: int, actions: Iterable[Mapping[str, Any]], *, with_data: bool = True) -> None:
    """Writes a commit as Delta does, with a checksum like Hadoop's, and the files that it adds; without both where the data is there."""
    actions = [*actions, *([PROTOCOL] if version == 0 else [])]
    log = table / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    name = f"{version:020d}.json"
    aside = log / f".{name}.tmp"
    aside.write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    aside.rename(log / name)
    if not with_data:
        return
    (log / f".{name}.crc").write_bytes(b"sum")
    for path in (action["add"]["path"] for action in actions if "add" in action):
        if "/" not in path:
            (table / path).write_bytes(b"rows")
            (table / f".{path}.crc").write_bytes(b"sum")
