"""Gives a fork's query a branch of its own of its parent's Iceberg table, and gets a query's branch ready before it starts.

Iceberg's own classes do it, in the JVM of the running Spark and with the catalog that the job has, whichever that is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from pipelines.domain import iceberg
from pipelines.domain.errors import Conflict, Unsupported
from pipelines.domain.iceberg import ICEBERG, MAIN
from pipelines.domain.iceberg_turns import TURN_FILE, TURN_FORMAT, Kind, Step, Turn, hindrance, step
from pipelines.domain.plain_json import rebuilt
from pipelines.domain.run_specs import RunSpec
from pipelines.driver import intercept
from pipelines.driver.destinations import Destination
from pipelines.driver.intercept import Asked
from pipelines.driver.records import Records
from pipelines.driver.sinklog import checkpoint_facts
from pipelines.driver.sinks import place
from pipelines.hadoop.paths import Place

HINT = "Fork the savepoint: its fork has a branch of its own."


@dataclass(frozen=True)
class Branch:
    """A branch of a table as Iceberg's classes have it: `java` is an `org.apache.iceberg.Table`, `package` that of its class."""

    java: Any
    package: Any
    name: str

    @property
    def now(self) -> iceberg.Table:
        """The table as it is now."""
        self.java.refresh()
        return iceberg.table_of(json.loads(self.package.TableMetadataParser.toJson(self.java.operations().current())))

    def create(self, snapshot: int | None) -> None:
        """Without a snapshot it begins where the table stands; in a table without any, with an empty one."""
        manage = self.java.manageSnapshots()
        (manage.createBranch(self.name) if snapshot is None else manage.createBranch(self.name, snapshot)).commit()

    def set(self, snapshot: int) -> None:
        manage = self.java.manageSnapshots()
        (manage.setCurrentSnapshot(snapshot) if self.name == MAIN else manage.replaceBranch(self.name, snapshot)).commit()

    def empty(self) -> None:
        """Removes all its rows, in one commit."""
        everything = self.package.expressions.Expressions.alwaysTrue()
        self.java.newDelete().deleteFromRowFilter(everything).toBranch(self.name).commit()


def prepare(
    spec: RunSpec, records: Records, query: str, writer: Any, request: Asked, wrote: Destination, live: Place | None
) -> Destination:
    """The steps before a query starts that writes to an Iceberg table which is there, in this order; answers with where it writes now:

    1. replace its parent's table by a branch of it, where `spec.own_tables` says so;
    2. turn the branch as the savepoint says (`turn`);
    3. take batches that were not committed out of a branch (`mend`).
    """
    if not wrote.path:
        return wrote
    name, named = iceberg.split(wrote.table)
    branch = spec.job if spec.own_tables.get(query) == wrote.path else named
    branched = opened(writer._spark, name, branch)
    if branch != named:
        wrote = replace(wrote, table=iceberg.on_branch(name, branch))
        _write_to(writer, request, wrote.table)
        message = f"It writes to branch {branch} of the Iceberg table {name}: its code says {named}, where its parent writes."
        records.event("table.branched", message, query)
    if carries(spec, query):
        carry(spec, records, query, branched)
    elif branch != named and branch not in branched.now.branches:
        message = f"Query {query} was to write elsewhere than its parent, and would write to the same Iceberg table {name}."
        raise Conflict("sink.taken", message, "Fork the savepoint with its parent's arguments: it then has a branch of its own.")
    if live is not None:
        mend(records, query, branched, live)
    return wrote


def opened(spark: Any, table: str, branch: str) -> Branch:
    """A branch of the table of a name, or in a folder or at a URL, as Iceberg's catalogs load it."""
    package = spark._jvm.org.apache.iceberg
    if "/" in table:
        tables = package.hadoop.HadoopTables(spark.sparkContext._jsc.hadoopConfiguration())
        return Branch(tables.load(table), package, branch)
    return Branch(package.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table), package, branch)


def carries(spec: RunSpec, query: str) -> bool:
    """Whether the savepoint says of the query's branch what was not done yet."""
    return query in spec.sink_logs and _asked(spec, query).exists()


def refuse_changed(spec: RunSpec, query: str, wrote: Destination) -> None:
    """Raises Unsupported (`sink.changed`) where a query goes on with a branch, and writes to no Iceberg table that is there."""
    if carries(spec, query) and (wrote.sink.lower() != ICEBERG or not wrote.path):
        message = f"Query {query} wrote to an Iceberg table until the savepoint, and would go on elsewhere ({wrote.table or wrote.sink})."
        raise Unsupported("sink.changed", message, "Let it write to that table.")


def carry(spec: RunSpec, records: Records, query: str, branch: Branch) -> None:
    """Turns the branch as the savepoint says, and forgets it; done again after a crash it ends the same."""
    path = _asked(spec, query)
    raw = json.loads(path.read_text())
    if raw["format"] > TURN_FORMAT:
        raise Unsupported("iceberg.turn_format", f"{path} has format {raw['format']}, this driver reads {TURN_FORMAT}", "Update Tidemark.")
    message = turned(branch, rebuilt(Turn, raw), query)
    if message:
        records.event("sink.branch", message, query)
    path.unlink()


def turned(branch: Branch, turn: Turn, query: str) -> str:
    """Makes the turn; answers with what was done, empty where it was so already. Raises Conflict (`sink.changed`, `sink.others`)."""
    table, name = branch.now, branch.java.name()
    if branch.name != turn.branch:
        message = f"Query {query} would go on in branch {branch.name} of the Iceberg table {name}, and wrote to {turn.branch}."
        raise Conflict("sink.changed", message, "Let it write to the same branch.")
    why = hindrance(table, turn)
    if why:
        raise Conflict("sink.others", f"Branch {turn.branch} of the Iceberg table {name} cannot become what it was: {why}.", HINT)
    todo = step(table, turn)
    if todo is Step.CREATE:
        branch.create(turn.snapshot)
    elif todo is Step.SET and turn.snapshot is not None:
        branch.set(turn.snapshot)
    if turn.kind is Kind.FRESH and turn.snapshot is not None and branch.now.branches.get(turn.branch) == turn.snapshot:
        branch.empty()
    return _message(turn, name) if todo is not Step.NOTHING else ""


def mend(records: Records, query: str, branch: Branch, checkpoint: Place) -> None:
    """Takes batches that the checkpoint has not committed out of a branch, so that they are not there twice after they are done again.

    Iceberg itself looks for them in `main` alone (`SparkWrite.findLastCommittedEpochId`). Raises Conflict (`sink.others`) where somebody
    has changed rows of the branch since.
    """
    metadata = checkpoint / "metadata"
    if branch.name == MAIN or not metadata.exists():
        return
    query_id, committed, table = json.loads(metadata.read_text())["id"], checkpoint_facts(checkpoint).committed, branch.now
    later = [snapshot for snapshot in table.of_branch(branch.name) if snapshot.query_id == query_id and snapshot.batch > committed]
    if not later:
        return
    before = later[-1].parent
    why = (
        iceberg.changed_by_others(table, table.branches.get(branch.name), before, query_id) if before is not None else "it began with them"
    )
    if why or before is None:
        message = f"Branch {branch.name} of {branch.java.name()} has batch {later[-1].batch} of query {query}, which its checkpoint has not"
        raise Conflict("sink.others", f"{message}: {why}.", HINT)
    branch.set(before)
    message = f"Batch {[snapshot.batch for snapshot in later]} was in branch {branch.name} but not committed: it is done again."
    records.event("sink.mended", message, query)


def _message(turn: Turn, table: str) -> str:
    if turn.kind is Kind.FORK:
        return f"Branch {turn.branch} of {table} begins with its snapshot {turn.snapshot}."
    if turn.kind is Kind.FRESH:
        return f"Branch {turn.branch} of {table} begins without rows."
    done = "became what its variant's is" if turn.kind is Kind.ADOPT else "went back to what it was"
    return f"Branch {turn.branch} of {table} {done} after batch {turn.batch}, snapshot {turn.snapshot}: rows of later batches are cut."


def _write_to(writer: Any, request: Asked, name: str) -> None:
    """From Spark 4 on by the path, also where the code has `toTable`: that makes a table of a branch's name first, where the catalog says
    there is none, as that of Iceberg 1.12 does."""
    if request.table and writer._spark.version.startswith("3."):
        intercept.asked(writer).table = name
        return
    if request.table:
        intercept.asked(writer).table = ""
        writer.format(ICEBERG)
    writer.option("path", name)


def _asked(spec: RunSpec, query: str) -> Place:
    return place(spec.sink_logs[query]) / TURN_FILE
