"""The streaming queries of this process: how each starts, which ones there are, which have failed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from pipelines.domain.delta import DELTA
from pipelines.domain.errors import Conflict
from pipelines.domain.hadoop_conf import LOCAL, located
from pipelines.domain.iceberg import ICEBERG
from pipelines.domain.ids import QueryName, folder_of
from pipelines.domain.run_specs import RunSpec
from pipelines.domain.runs import QueryStarted
from pipelines.driver import (
    commits,
    delta_tables,
    destinations,
    iceberg_tables,
    inputs,
    opened,
    redone,
    shared_tables,
    sinks,
    sources,
    topics,
    varying,
)
from pipelines.driver.destinations import Destination
from pipelines.driver.executors import Executors
from pipelines.driver.failures import Failure
from pipelines.driver.following import Following
from pipelines.driver.intercept import Asked, Launch
from pipelines.driver.lease import Leases
from pipelines.driver.listener import Listening, close_unused
from pipelines.driver.plans import Plans
from pipelines.driver.query_names import MEMORY, ExpectedQueries, GivenNames, folders, location_of
from pipelines.driver.records import Records, say
from pipelines.driver.rehearsal import Rehearsal
from pipelines.driver.running import Running, StartedQueries
from pipelines.driver.triggers import trigger_of
from pipelines.driver.warehouse import Warehouse
from pipelines.hadoop.paths import Place

CHECKPOINT_CONF = "spark.sql.streaming.checkpointLocation"


class Queries:
    """Gives every query that starts its name, its checkpoint and a sink that is ready, and remembers it."""

    def __init__(
        self,
        spec: RunSpec,
        records: Records,
        on_failure: Callable[[], None],
        warehouse: Warehouse,
        rehearsal: Rehearsal | None = None,
    ) -> None:
        self._spec = spec
        self._warehouse = warehouse
        self._rehearsal = rehearsal
        self._records = records
        self._plans = Plans(records)
        self._executors = Executors(records)
        self._following = Following(spec.lead, on_failure, records.idle) if spec.lead else None
        self._listening = Listening(records, self._plans.note, on_failure, self._following.begun if self._following else None)
        self._names = GivenNames(spec.locations, folders(spec))
        self._expected = ExpectedQueries(spec, records)
        self._leases = Leases(spec, records)
        self._started = StartedQueries(self._mend)
        self.turn = threading.RLock()
        """Held while a query starts: names go by the order of starts."""
        self.closed = threading.Event()
        """Set once no query may start any more: the driver is stopping."""

    @property
    def started(self) -> tuple[Running, ...]:
        """In order of start; some may have ended."""
        return self._started.held

    @property
    def are_any(self) -> bool:
        """Whether any has started, also where all have ended."""
        return self._started.are_any

    def failures(self) -> Mapping[QueryName, Failure]:
        """Why queries failed that have ended, by name."""
        return self._started.let_go()

    def close(self) -> None:
        """From now on no query may start, and none waits for a leader."""
        self.closed.set()
        if self._following is not None:
            self._following.close()

    def settle(self, wait_s: float) -> None:
        """Waits for a start that was in progress as `close` was called; after that none is, unless it takes longer than `wait_s`."""
        if self.turn.acquire(timeout=wait_s):
            self.turn.release()

    @property
    def failed_to_follow(self) -> Exception | None:
        """Why a query could no longer follow its leader in lock-step."""
        return self._following.error if self._following else None

    def ended(self) -> None:
        """Writes the last plans, after all queries have ended and their progress was received."""
        self._executors.close()
        self._plans.finish()

    def let_go(self) -> None:
        """Gives leases back, once Spark has ended."""
        self._leases.close()

    def all_started(self) -> None:
        """Reports expected queries that never started, once the script has ended."""
        self._expected.all_started()

    def start(self, writer: Any, request: Asked, launch: Launch) -> Any:
        """What `DataStreamWriter.start` does in this process; raises TidemarkError where it must not start.

        1. Name it. 2. Give it its checkpoint. 3. Take that checkpoint's lease. 4. Get its file sink and its file sources ready.
        5. Listen, and note what the run stands on. 6. Finish a batch that its sink has. 7. Start. 8. Record it.
        """
        self._refuse_when_closed()
        if any(not running.query.isActive for running in self.started):
            self._started.let_go()
            close_unused()
        spark = writer._spark
        location = location_of(request, default_fs(spark), self._spec.output)
        name = self._name(writer, request, location)
        self._expected.refuse(name)
        checkpoint = self._checkpoint(writer, request, spark, name)
        self._leases.take(name, sinks.place_or_none(self._spec.checkpoints))
        if self._spec.from_savepoint:
            inputs.warn(self._records, name, writer._df)
        if self._rehearsal is not None:
            launch = self._rehearsal.instead(writer, request, name, located(checkpoint, default_fs(spark)))
        sinks.go_back(self._spec, self._records)
        writes_to = self._destination(writer, request, spark, name, checkpoint)
        live = sinks.local_path(checkpoint)
        place = sinks.place_or_none(checkpoint)
        goes_on = place is None or sources.mend(self._records, name, place)
        self._listening.attach(spark)
        self._records.installed(opened.stands(spark, self._spec))
        if not self.are_any:
            self._executors.watch(spark)
        redone.redo(self._records, name, writer, request, writes_to, located(checkpoint, default_fs(spark)), self._started.add)
        self._refuse_when_closed()
        if self._following is not None:
            self._following.prepare(writer, request, name, live)
        query = launch()
        if self._following is not None:
            self._following.require_held(name, query)
        running = Running(name, query)
        self._started.add(running)
        self._names.note(name, location)
        self._expected.note(name)
        if self._rehearsal is not None:
            self._rehearsal.begun(running)
        else:
            self._plans.watch(name, query)
        is_new_table = bool(request.table) and not writes_to.path and self._rehearsal is None
        destination = destinations.of(spark, request, default_fs(spark)) if is_new_table else writes_to
        self._record(query, spark, name, checkpoint, destination, writer._df, location, goes_on)
        return query

    def _mend(self, name: QueryName, failure: Failure) -> None:
        commits.take_back(self._records, name, sinks.place(self._spec.checkpoints) / folder_of(name), failure)

    def _refuse_when_closed(self) -> None:
        if self.closed.is_set():
            say("the run is stopping: no further query starts")
            raise SystemExit(0)

    def _name(self, writer: Any, request: Asked, location: str) -> QueryName:
        """The script's name for it, else `query-<order of start>`; Spark is told the same, so its progress carries it."""
        name = self._names.of(request.name, location)
        for running in self.started:
            if running.name == name and running.query.isActive:
                message = f"Two active queries would both be called {name}."
                raise Conflict("query.name", message, "Give each its own queryName: it names its checkpoint.")
        if name != request.name and not (request.format == MEMORY and not request.name):
            writer.queryName(name)
            say(f"query {request.name or '(unnamed)'} is called {name}")
        return name

    def _checkpoint(self, writer: Any, request: Asked, spark: Any, name: QueryName) -> str:
        location = request.checkpoint or spark.conf.get(CHECKPOINT_CONF, None) or ""
        checkpoint = f"{self._spec.checkpoints.rstrip('/')}/{folder_of(name)}"
        if location and location.rstrip("/") != checkpoint and not self._names.started(name):
            self._records.event("checkpoint.replaced", f"The script's checkpoint location {location} was replaced by {checkpoint}.", name)
        writer.option("checkpointLocation", located(checkpoint, default_fs(spark)))
        if request.format == MEMORY and not request.checkpoint and self._names.started(name):
            self._begin_anew(name, sinks.place_or_none(checkpoint))
        return checkpoint

    def _begin_anew(self, name: QueryName, checkpoint: Place | None) -> None:
        """Without a location Spark begins each start of a query into memory with an empty table, and refuses to go on with what it read."""
        if checkpoint is not None and checkpoint.exists():
            sinks.remove(checkpoint)
            self._records.event("query.anew", "It started again with an empty table in memory, so it reads its sources anew.", name)

    def _destination(self, writer: Any, request: Asked, spark: Any, name: QueryName, checkpoint: str) -> Destination:
        """The destination of the query, with its table there and its file sink prepared. A rehearsal writes to a scratch output."""
        if self._rehearsal is not None:
            return Destination("rehearsal")
        hadoop_fs = default_fs(spark)
        request = topics.give_own(self._spec, self._records, name, writer, request)
        request = delta_tables.give_own(self._spec, self._records, name, writer, request, hadoop_fs)
        if delta_tables.carries(self._spec, name, request):
            delta_tables.carry(self._spec, self._records, name, request, hadoop_fs, spark)
            return destinations.of(spark, request, hadoop_fs)
        if request.table:
            destinations.make_table(spark, request, writer._df)
            self._warehouse.note(spark, request.table)
        destination = destinations.of(spark, request, hadoop_fs)
        iceberg_tables.refuse_changed(self._spec, name, destination)
        shared_tables.refuse(self._spec, spark, name, destination, hadoop_fs)
        if destination.sink.lower() == ICEBERG:
            live = sinks.place_or_none(checkpoint)
            return iceberg_tables.prepare(self._spec, self._records, name, writer, request, destination, live)
        if name in self._spec.sink_logs and destination.sink.lower() != DELTA:
            destinations.require_place(destination, name)
        if destination.path:
            sinks.prepare(self._spec, self._records, name, destination.path, checkpoint, spark)
        return destination

    def _record(
        self, query: Any, spark: Any, name: QueryName, checkpoint: str, wrote: Destination, frame: Any, location: str, goes_on: bool
    ) -> None:
        read, at_ms = inputs.read(frame, default_fs(spark)), self._records.now_ms()
        start = QueryStarted(
            name, query.id, query.runId, checkpoint, wrote.sink, wrote.path, spark.sparkContext.uiWebUrl or "", spark.version, at_ms,
            wrote.table, location=location, trigger=trigger_of(query), sink_options=wrote.options,
            varies=varying.of_plan(frame._jdf.queryExecution().analyzed()), **vars(read),
        )  # fmt: skip
        self._records.query(start, goes_on=goes_on)


def default_fs(spark: Any) -> str:
    """Where Hadoop looks for a path without a scheme; of a Connect server this machine's files, as nothing tells."""
    if not hasattr(spark, "_jsparkSession"):
        return LOCAL
    return str(spark.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS", LOCAL))
