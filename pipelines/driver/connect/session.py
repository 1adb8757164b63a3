"""The session of this run on a Connect server, and the end of those that earlier runs of the job have left there.

A server goes on with the queries of a client that was killed, for an hour by default
(`spark.connect.session.manager.defaultSessionTimeout`). So each run notes its session in its folder, and the next one ends it before it
touches the checkpoint.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pipelines.domain.masters import CONNECT, Cluster
from pipelines.domain.run_specs import RunSpec
from pipelines.driver import secret_values
from pipelines.driver.records import Records, replace_whole
from pipelines.driver.submit import MODULES, pack

SESSION_FILE = "connect.json"
"""In a run's folder, from its session's beginning to its orderly end: `{"host": …, "session": …}`."""
SQL = "spark.sql."


def enter(spec: RunSpec, records: Records, spark: Any) -> None:
    """Begins the run in the session `spark`: 1. What earlier runs left ends. 2. The session is noted. 3. It gets the job's confs, and the
    modules beside its script."""
    _end_left(records, spark)
    client = spark.client
    replace_whole(records.folder / SESSION_FILE, json.dumps({"host": _endpoint(client), "session": client._session_id}))
    records.cluster(Cluster(f"sc://{_endpoint(client)}", CONNECT, client._session_id, 0))
    for key, value in spec.conf.items():
        if key.startswith(SQL):
            spark.conf.set(key, secret_values.put_in(value))
    if spec.code and len(list(Path(spec.code).rglob("*.py"))) > 1:
        spark.addArtifacts(str(pack(Path(spec.code), records.folder / MODULES)), pyfile=True)


def leave(records: Records, spark: Any) -> None:
    """The server forgets the session, with what runs in it."""
    spark.stop()
    (records.folder / SESSION_FILE).unlink(missing_ok=True)


def _end_left(records: Records, spark: Any) -> None:
    for note in sorted(records.folder.parent.glob(f"*/{SESSION_FILE}")):
        left = json.loads(note.read_text())
        if left["host"] != _endpoint(spark.client):
            message = f"An earlier run's queries may still run on the Connect server at {left['host']}: this run uses another one."
            records.event("connect.left", message)
            continue
        _release(spark.client, left["session"])
        note.unlink()
        records.event("connect.ended", f"What run {note.parent.name} had left on the Connect server was ended.")


def _endpoint(client: Any) -> str:
    """Host and port; of a script's own kind of channel what it calls its host."""
    return str(getattr(client._builder, "endpoint", client.host))


def _release(client: Any, session: str) -> None:
    """As the session's own client would (`SparkConnectClient.release_session`); one that the server does not know is no error."""
    from pyspark.sql.connect.proto import ReleaseSessionRequest

    request = ReleaseSessionRequest(session_id=session, client_type=client._builder.userAgent)
    if client._user_id:
        request.user_context.user_id = client._user_id
    client._stub.ReleaseSession(request, metadata=client._builder.metadata())
