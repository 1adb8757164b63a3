"""Events in the catalog."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pipelines.catalog.connection import Reader, Writer
from pipelines.catalog.tables import TEXT, WHOLE, incoming
from pipelines.domain.events import DRIVER, FAILED, FAILURES, GROUPS, OTHER, place_of
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.jobs import Event
from pipelines.verbs.listing import sorted_path
from pipelines.verbs.system import ListEvents

_COLUMNS = {"at_ms": WHOLE, "kind": TEXT, "job": TEXT, "subject": TEXT, "message": TEXT, "actor": TEXT}

_APPEND = """
INSERT INTO events BY NAME
SELECT * FROM incoming AS new
WHERE NOT EXISTS (
    SELECT 1 FROM events AS old
    WHERE old.at_ms BETWEEN ? AND ? AND old.at_ms = new.at_ms AND old.kind = new.kind AND old.job IS NOT DISTINCT FROM new.job
      AND old.subject = new.subject AND old.message = new.message
)
"""


_PLAIN = "? IN ('', job) AND ? IN ('', actor) AND at_ms >= coalesce(?, at_ms) AND at_ms <= coalesce(?, at_ms)"
_AFTER = """
(at_ms {beyond} ? OR (at_ms = ? AND rowid {beyond} (
    SELECT max(rowid) FROM events AS last
    WHERE last.at_ms = ? AND left(md5(concat_ws(chr(31), last.kind, coalesce(last.job, ''), last.subject, last.message)), 8) = ?
)))
"""
_LISTED = """
SELECT at_ms, kind, job, subject, message, actor FROM events WHERE {where} ORDER BY at_ms {direction}, rowid {direction} LIMIT ?
"""
Condition = tuple[str, list[Any]]
"""SQL with a `?` for each of its values."""


def append(writer: Writer, events: Sequence[Event]) -> None:
    """Add `events` in their order; one that is there already in every part is not added again."""
    if not events:
        return
    times = [event.at_ms for event in events]
    with incoming(writer, _COLUMNS, [(e.at_ms, e.kind, e.job, e.subject, e.message, e.actor) for e in dict.fromkeys(events)]):
        writer.execute(_APPEND, [min(times), max(times)])


def forget_before(writer: Writer, run: RunId, at_ms: int) -> None:
    """Remove what the driver of the run said before `at_ms`."""
    writer.execute("DELETE FROM events WHERE actor = ? AND subject = ? AND at_ms < ?", [DRIVER, run, at_ms])


def forget_others_before(writer: Writer, at_ms: int) -> None:
    """Remove what no driver said before `at_ms`: the workspace's own events."""
    writer.execute("DELETE FROM events WHERE actor IS DISTINCT FROM ? AND at_ms < ?", [DRIVER, at_ms])


def listed(reader: Reader, question: ListEvents) -> list[Event]:
    """The first events that fit, newest first unless sorted otherwise; Invalid (`events.cursor`) for a `before` that is no cursor, and
    (`list.sort`) for another order."""
    is_oldest_first = bool(question.sort and sorted_path(question)) and not question.is_down
    conditions = [*_of_kind(question.kind), *_of_text(question.text), *_after(question.before, ">" if is_oldest_first else "<")]
    where = " AND ".join([_PLAIN, *(sql for sql, _ in conditions)])
    values = [
        question.job,
        question.actor,
        question.from_ms,
        question.to_ms,
        *(value for _, given in conditions for value in given),
        question.limit,
    ]
    sql = _LISTED.format(where=where, direction="ASC" if is_oldest_first else "DESC")
    return [
        Event(at, kind, None if job is None else JobName(job), *rest) for at, kind, job, *rest in reader.execute(sql, values).fetchall()
    ]


def _of_kind(kind: str) -> Iterator[Condition]:
    """A group, a kind's first word, or a whole kind; every kind where it is empty."""
    if kind == FAILED:
        yield "list_contains(?, split_part(kind, '.', -1))", [list(FAILURES)]
    elif kind == OTHER:
        yield "NOT list_contains(?, split_part(kind, '.', 1))", [[first for group in GROUPS.values() for first in group]]
    elif kind:
        yield "(kind = ? OR list_contains(?, split_part(kind, '.', 1)))", [kind, list(GROUPS.get(kind, (kind,)))]


def _of_text(text: str) -> Iterator[Condition]:
    for word in text.casefold().split():
        yield "contains(lower(concat_ws(' ', kind, job, subject, message, actor)), ?)", [word]


def _after(cursor: str, beyond: str) -> Iterator[Condition]:
    """What is listed after the event at `cursor`; see `Event.cursor` for its hash."""
    if cursor:
        at_ms, content = place_of(cursor)
        yield _AFTER.format(beyond=beyond), [at_ms, at_ms, at_ms, content]
