"""Iceberg for tests: its jar for the Sparks of `tests.runtimes`, tables as pyiceberg reads them, and metadata as a job leaves it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyiceberg.table import StaticTable

from pipelines.domain import connectors
from pipelines.domain.iceberg import EPOCH_ID, QUERY_ID
from tests import maven, runtimes

TABLE = "11111111-2222-3333-4444-555555555555"
QUERY = "a-query"


def connector(spark: str = runtimes.USUAL) -> str:
    """The list of jars for a PySpark: one jar."""
    return f"iceberg_connector_{connectors.release(spark)}"


def missing(spark: str = runtimes.USUAL) -> str:
    """Which jar was not fetched, and how to get it; empty where it is there."""
    name = connector(spark)
    return "" if maven.jars(name) else f"needs the jar of {name}, from Maven's repository; to get it: {maven.HOW}"


def conf(warehouse: Path, spark: str = runtimes.USUAL) -> dict[str, str]:
    """What gives a job on a PySpark the catalog `lake`, whose tables are in the folder `warehouse`."""
    return {
        "spark.jars": ",".join(map(str, maven.jars(connector(spark)))),
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(warehouse),
    }


def opened(table: Path) -> Any:
    """The table as it is now; None where it is not there."""
    versions = {int(match[1]): path for path in (table / "metadata").glob("v*") if (match := re.match(r"v(\d+)\.metadata", path.name))}
    return StaticTable.from_metadata(str(versions[max(versions)])) if versions else None


def written(table: Path, branch: str = "main") -> list[tuple[Any, ...]]:
    """The rows of a branch as its newest snapshot has them; none for a branch that is not there yet."""
    there = opened(table)
    head = there.metadata.refs.get(branch) if there is not None else None
    rows = there.scan(snapshot_id=head.snapshot_id).to_arrow().to_pylist() if head is not None else []
    return sorted(tuple(row.values()) for row in rows)


def head(table: Path, branch: str = "main") -> int:
    """The newest snapshot of a branch."""
    return int(opened(table).metadata.refs[branch].snapshot_id)


def snapshot(number: int, parent: int | None, batch: int | None = None, *, query: str = QUERY, operation: str = "append") -> dict[str, Any]:
    """A snapshot as a query's batch leaves it; without a batch as another writer does."""
    noted = {QUERY_ID: query, EPOCH_ID: str(batch)} if batch is not None else {}
    of_parent = {"parent-snapshot-id": parent} if parent is not None else {}
    return {"snapshot-id": number, **of_parent, "summary": {"operation": operation, **noted}}


def metadata(*snapshots: Mapping[str, Any], **branches: int) -> dict[str, Any]:
    """What a table's metadata file says, as far as Tidemark reads it."""
    refs = {name: {"snapshot-id": number, "type": "branch"} for name, number in branches.items()}
    return {"table-uuid": TABLE, "location": "/lake/t", "snapshots": list(snapshots), "refs": refs}


def commit(table: Path, version: int, content: Mapping[str, Any]) -> None:
    """Writes the metadata as a Hadoop catalog does."""
    folder = table / "metadata"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"v{version}.metadata.json").write_text(json.dumps({**content, "location": str(table)}))
