"""Queries that a script starts on a Spark Connect server, beside those of a Spark in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipelines.domain.errors import Unsupported
from pipelines.domain.hadoop_conf import LOCAL
from pipelines.domain.runs import QueryStarted
from pipelines.domain.sinks import FILE_SINKS
from pipelines.driver import destinations, redone, sinks, sources, topics
from pipelines.driver.connect import session
from pipelines.driver.connect.lease import ClientLeases
from pipelines.driver.connect.watching import Watching
from pipelines.driver.destinations import Destination
from pipelines.driver.intercept import Asked, Launch
from pipelines.driver.queries import Queries
from pipelines.driver.query_names import MEMORY, location_of
from pipelines.driver.running import Running
from pipelines.driver.sinks import local_path

SINKS = FILE_SINKS | {MEMORY, "console", "noop", "foreach", "foreachbatch", "kafka"}
METADATA = "metadata"
"""The file with which Spark begins a checkpoint."""
LATE = "Python worker failed to connect back"
"""What Spark says where the Python of a `foreachBatch` is not up within 10 s (`PythonWorkerFactory.createSimpleWorker`), as on a busy
server. It is started before anything of the query."""
TRIES = 3


class ConnectQueries(Queries):
    """All queries of a run. Of those on a server nothing is known but what its protocol and the checkpoint say: neither their plans, nor
    what the server has installed."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._watching = Watching(self._records, given[2])
        self._client_leases = ClientLeases(self._spec, self._records)
        self._session: Any = None

    def start_connected(self, writer: Any, request: Asked, launch: Launch) -> Any:
        """As `start`; raises Unsupported (`connect.…`) for what cannot be done there."""
        self._refuse_when_closed()
        self._started.let_go()
        self._refuse_unknown(request)
        self._enter(writer._session)
        spark = self._session
        location = location_of(request, LOCAL, self._spec.output)
        name = self._name(writer, request, location)
        self._expected.refuse(name)
        checkpoint = self._checkpoint(writer, request, spark, name)
        self._client_leases.take(name, Path(checkpoint).parent)
        sinks.go_back(self._spec, self._records)
        request = topics.give_own(self._spec, self._records, name, writer, request)
        destination = destinations.of(spark, request, LOCAL)
        if destination.path:
            sinks.prepare(self._spec, self._records, name, destination.path, checkpoint, spark)
        goes_on = sources.mend(self._records, name, Path(checkpoint))
        redone.redo(self._records, name, writer, request, destination, checkpoint, self._started.add)
        self._refuse_when_closed()
        running = Running(name, launched(launch))
        _require_shared(running, checkpoint)
        self._started.add(running)
        self._names.note(name, location)
        self._expected.note(name)
        self._watching.watch(running)
        self._note(running, checkpoint, destination, location, goes_on)
        return running.query

    def ended(self) -> None:
        self._watching.close()
        super().ended()

    def leave(self) -> None:
        """The end of the session, after all has been asked that is to be known of its queries."""
        if self._session is not None:
            session.leave(self._records, self._session)

    def _enter(self, spark: Any) -> None:
        if self._session is None:
            session.enter(self._spec, self._records, spark)
            self._session = spark
        elif spark is not self._session:
            message = "The script starts queries in two sessions of Connect servers."
            raise Unsupported("connect.sessions", message, "Start all of them in one session.")

    def _refuse_unknown(self, request: Asked) -> None:
        if self._rehearsal is not None:
            message = "Its queries run on a Spark Connect server, where nothing can stand in for their sinks: it cannot be rehearsed."
            raise Unsupported("connect.rehearsal", message, "Fork it, and look at what the fork does.")
        if self._following is not None:
            message = "A query on a Spark Connect server cannot follow another one in lock-step: its batches are planned out of reach."
            raise Unsupported("connect.lock_step", message, "Fork without lock-step.")
        if local_path(self._spec.checkpoints) is None:
            message = f"A query on a Spark Connect server cannot have its checkpoint at {self._spec.checkpoints} yet."
            raise Unsupported("connect.home", message, "Let the job's home be a disk that the server shares with this machine.")
        if request.table or (request.format and request.format.lower() not in SINKS):
            written = f"a table ({request.table})" if request.table else f"format {request.format}"
            message = f"Through a Spark Connect server Tidemark cannot tell where {written} has its rows."
            raise Unsupported("connect.sink", message, "Write files, a Kafka topic or by foreachBatch.")

    def _note(self, running: Running, checkpoint: str, wrote: Destination, location: str, goes_on: bool) -> None:
        query, spark = running.query, self._session
        at_ms = self._records.now_ms()
        self._records.query(
            QueryStarted(
                running.name, query.id, query.runId, checkpoint, wrote.sink, wrote.path, "", spark.version, at_ms, wrote.table,
                location=location, sink_options=wrote.options,
            ),
            goes_on=goes_on,
        )  # fmt: skip


def launched(launch: Launch) -> Any:
    """The query that Spark started, which is asked again where its Python was late."""
    for _ in range(TRIES - 1):
        try:
            return launch()
        except Exception as error:
            if LATE not in str(error):
                raise
    return launch()


def _require_shared(running: Running, checkpoint: str) -> None:
    """The server must see this machine's files; a query that begins a checkpoint elsewhere is stopped again."""
    if Path(checkpoint, METADATA).is_file():
        return
    running.query.stop()
    raise Unsupported(
        "connect.not_shared",
        f"The Connect server began the checkpoint of query {running.name}, and {checkpoint} is not here: it has another disk.",
        "Put the workspace on a disk that this machine and the server see under the same path.",
    )
