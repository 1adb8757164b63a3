"""Events in the catalog."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.catalog.connection import Reader, Writer
from pipelines.catalog.tables import TEXT, WHOLE, incoming
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Event

_COLUMNS = {"at_ms": WHOLE, "kind": TEXT, "job": TEXT, "subject": TEXT, "message": TEXT}

_APPEND = """
INSERT INTO events BY NAME
SELECT * FROM incoming AS new
WHERE NOT EXISTS (
    SELECT 1 FROM events AS old
    WHERE old.at_ms BETWEEN ? AND ? AND old.at_ms = new.at_ms AND old.kind = new.kind AND old.job IS NOT DISTINCT FROM new.job
      AND old.subject = new.subject AND old.message = new.message
)
"""


def append(writer: Writer, events: Sequence[Event]) -> None:
    """Add `events` in their order; one that is there already in every part is not added again."""
    if not events:
        return
    times = [event.at_ms for event in events]
    with incoming(writer, _COLUMNS, [(e.at_ms, e.kind, e.job, e.subject, e.message) for e in dict.fromkeys(events)]):
        writer.execute(_APPEND, [min(times), max(times)])


def listed(reader: Reader, job: str = "", *, limit: int = 200) -> list[Event]:
    """The newest events of a job, or of all, newest first."""
    sql = "SELECT at_ms, kind, job, subject, message FROM events WHERE ? IN ('', job) ORDER BY at_ms DESC, rowid DESC LIMIT ?"
    found = reader.execute(sql, [job, limit]).fetchall()
    return [Event(at, kind, None if of is None else JobName(of), subject, message) for at, kind, of, subject, message in found]
