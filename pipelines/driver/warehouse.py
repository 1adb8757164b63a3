"""The job's own warehouse: where Spark puts a table that nobody gave another place, and a catalog that outlives the run.

A catalog without Hive lies in the driver's memory, and Spark creates no managed table where files are already. So the tables of the
warehouse are noted in `tables.json`, and put into the catalog of each later run before its script sees the session.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pipelines.domain.errors import Unsupported
from pipelines.domain.run_specs import NOTED_TABLES, RunSpec
from pipelines.domain.sinks import FILE_SINKS
from pipelines.driver.methods import after, before
from pipelines.driver.records import replace_whole, say

CONF = "spark.sql.warehouse.dir"
TABLES = "tables"
"""Folder of the warehouse that Spark is told with that conf."""
METASTORE = "metastore"
"""Hive's embedded one (Derby), for a script that asks for Hive and names no metastore."""
EMPTY = ".empty"
NOTES_FORMAT = 1
IN_MEMORY = "in-memory"
DEFAULT_DATABASE = "default"
CREATE_TABLES = {
    "SparkSession": ("sql",),
    "DataFrameWriter": ("saveAsTable",),
    "DataFrameWriterV2": ("create", "replace", "createOrReplace"),
    "Catalog": ("createTable",),
}
"""PySpark's methods that may change which tables there are."""


@dataclass(frozen=True)
class Table:
    """A managed table."""

    database: str
    name: str
    statement: str
    """Spark's own `SHOW CREATE TABLE`, which names no location."""
    place: str
    """Relative to the warehouse's tables where it lies there, since a workspace may be moved; else as Spark has it."""

    @property
    def identifier(self) -> str:
        return f"{quoted(self.database)}.{quoted(self.name)}"


class Warehouse:
    """The warehouse of one run; of a run without one (`RunSpec.warehouse`) nothing is noted."""

    def __init__(self, spec: RunSpec) -> None:
        self._folder = Path(spec.warehouse) if spec.warehouse else None
        self._tables = _read(self._folder / NOTED_TABLES) if self._folder else {}
        self._filled: set[str] = set()
        """Ids of the applications whose catalog has the tables."""

    def install(self) -> None:
        """Wraps PySpark: a session has the tables from its beginning, and those that the script makes are noted."""
        from pyspark.sql import SparkSession
        from pyspark.sql.catalog import Catalog
        from pyspark.sql.readwriter import DataFrameWriter, DataFrameWriterV2

        if self._folder is None:
            return
        before(SparkSession.Builder, "getOrCreate", self._keep)
        after(SparkSession, "__init__", self._fill)
        for some_class in (SparkSession, DataFrameWriter, DataFrameWriterV2, Catalog):
            for method in CREATE_TABLES[some_class.__name__]:
                after(some_class, method, self._look)

    def note(self, spark: Any, *identifiers: str) -> None:
        """Notes the managed tables of files as they are now: those in the warehouse, and `identifiers`."""
        if self._folder is None or spark.conf.get("spark.sql.catalogImplementation") != IN_MEMORY:
            return
        known = [table.identifier for table in self._tables.values()]
        names = [f"{quoted(database)}.{quoted(name)}" for database, name in self._listed()]
        tables = (self._described(spark, identifier) for identifier in dict.fromkeys((*known, *names, *identifiers)))
        self._put({(table.database, table.name): table for table in tables if table is not None})

    def _keep(self, builder: Any, *_: Any) -> None:
        """A warehouse that the script wants at a relative path is the job's own: its tables are known to each later run."""
        asked = str(builder._options.get(CONF) or "")
        if asked and not urlsplit(asked).scheme and not asked.startswith("/"):
            builder._options[CONF] = f"file:{self._folder}/{TABLES}"
            say(f"the script's {CONF} {asked} is a relative path: replaced by the job's own")

    def _look(self, owner: Any, *_: Any, **__: Any) -> None:
        """Notes the tables if there are others than before."""
        inside = {(table.database, table.name) for table in self._tables.values() if not _absolute(table.place)}
        if set(self._listed()) != inside:
            self.note(_session(owner))

    def _fill(self, session: Any, *_: Any, **__: Any) -> None:
        """Puts the noted tables into the catalog of the session's application, once."""
        application = str(session.sparkContext.applicationId)
        if not self._tables or application in self._filled or session.conf.get("spark.sql.catalogImplementation") != IN_MEMORY:
            return
        self._filled.add(application)
        for table in self._tables.values():
            self._create(session, table)

    def _create(self, session: Any, table: Table) -> None:
        """Creates the table in an empty folder, and says then where it is and that it is a managed one.

        Spark creates no managed table where files are, and drops the columns of an external one where partitions are in its sink's log.
        """
        if _exists(session, table.identifier):
            return
        assert self._folder is not None
        empty = self._folder / EMPTY
        empty.mkdir(exist_ok=True)
        _run(session, f"CREATE DATABASE IF NOT EXISTS {quoted(table.database)}")
        _run(session, f"{table.statement} LOCATION {literal(f'file:{empty}')}")
        place = table.place if _absolute(table.place) else f"file:{self._folder / TABLES / table.place}"
        jvm, catalog = session._jvm, session._jsparkSession.sharedState().externalCatalog()
        made = catalog.getTable(table.database, table.name)
        storage = _with(made.storage(), {1: jvm.scala.Option.apply(jvm.org.apache.hadoop.fs.Path(place).toUri())})
        managed = jvm.org.apache.spark.sql.catalyst.catalog.CatalogTableType.MANAGED()
        catalog.alterTable(_with(made, {2: managed, 3: storage}))

    def _described(self, spark: Any, identifier: str) -> Table | None:
        """None for what is no managed table of files in the session's own catalog."""
        if not _exists(spark, identifier):
            return None
        about = {row.getString(0): row.getString(1) for row in _run(spark, f"DESCRIBE TABLE EXTENDED {identifier}")}
        if about.get("Type") != "MANAGED" or about.get("Provider", "").lower() not in FILE_SINKS:
            return None
        statement = _run(spark, f"SHOW CREATE TABLE {identifier}")[0].getString(0)
        return Table(about["Database"], about["Table"], statement, self._place(about["Location"]))

    def _place(self, location: str) -> str:
        assert self._folder is not None
        home, path = f"{self._folder / TABLES}/", f"/{location.removeprefix('file:').lstrip('/')}"
        return path.removeprefix(home) if location.startswith("file:") and path.startswith(home) else location

    def _listed(self) -> Iterator[tuple[str, str]]:
        """(database, table) of the folders in the warehouse, as Spark lays them out."""
        assert self._folder is not None
        for folder in _folders(self._folder / TABLES):
            if folder.suffix != ".db":
                yield DEFAULT_DATABASE, folder.name
                continue
            yield from ((folder.stem, inner.name) for inner in _folders(folder))

    def _put(self, tables: Mapping[tuple[str, str], Table]) -> None:
        if tables == self._tables:
            return
        assert self._folder is not None
        self._tables = dict(tables)
        replace_whole(
            self._folder / NOTED_TABLES, json.dumps({"format": NOTES_FORMAT, "tables": [asdict(table) for table in tables.values()]})
        )


def quoted(name: str) -> str:
    """A name as an identifier of Spark's SQL."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """`text` as a string of Spark's SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _run(session: Any, statement: str) -> Any:
    """The rows (Java's) of a statement of ours, after which nobody looks for new tables."""
    return session._jsparkSession.sql(statement).collectAsList()


def _with(case: Any, changed: Mapping[int, Any]) -> Any:
    """A copy of a Scala case class with other parts, counted from 1."""
    parts = (changed.get(at) or getattr(case, f"copy$default${at}")() for at in range(1, case.productArity() + 1))
    return case.copy(*parts)


def _exists(session: Any, identifier: str) -> bool:
    return bool(session._jsparkSession.catalog().tableExists(identifier))


def _session(owner: Any) -> Any:
    """The session of a writer, a catalog, or itself."""
    return getattr(owner, "_sparkSession", None) or getattr(owner, "_spark", owner)


def _absolute(place: str) -> bool:
    return place.startswith("/") or ":" in place.partition("/")[0]


def _folders(parent: Path) -> list[Path]:
    if not parent.is_dir():
        return []
    return sorted(path for path in parent.iterdir() if path.is_dir() and path.name[0] not in "._")


def _read(path: Path) -> dict[tuple[str, str], Table]:
    if not path.is_file():
        return {}
    raw = json.loads(path.read_text())
    if raw["format"] > NOTES_FORMAT:
        message = f"{path} has format {raw['format']}, this driver reads {NOTES_FORMAT}."
        raise Unsupported("run.format", message, "Let the Tidemark that wrote it run the job.")
    say(f"tables of the job's warehouse: {', '.join(table['name'] for table in raw['tables']) or 'none'}")
    return {(table["database"], table["name"]): Table(**table) for table in raw["tables"]}
