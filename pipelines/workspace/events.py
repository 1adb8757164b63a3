"""Events: one line each in the workspace's `events.jsonl`, from where the catalog learns of them like of everything else."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from contextlib import nullcontext, suppress

from pipelines.catalog import events as event_rows
from pipelines.domain import events
from pipelines.domain.errors import Unavailable
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Event
from pipelines.domain.moments import DAY_MS
from pipelines.storage.errors import typed_errors
from pipelines.verbs.system import ListEvents
from pipelines.workspace import ingestion
from pipelines.workspace.context import Context
from pipelines.workspace.doers import answers

log = logging.getLogger("tidemark.events")


def say(context: Context, kind: str, job: JobName | None, subject: str, message: str) -> None:
    """Appends an event, on disk when this returns; ingestion adds it to the catalog."""
    append(context, Event(context.now_ms(), kind, job, subject, message, context.actor))
    ingestion.workspace_events(context)


def append(context: Context, event: Event) -> None:
    """One `write` of one whole line: a kill leaves whole lines. A standby's are in its own log alone."""
    content = {"at_ms": event.at_ms, "kind": event.kind, "job": event.job, "subject": event.subject, "message": event.message}
    if event.actor:
        content["actor"] = event.actor
    context.files.check()
    _log(event)
    if context.is_standby:
        return
    line = json.dumps(content, separators=(",", ":")).encode() + b"\n"
    with suppress(Unavailable) if context.is_unwritable else nullcontext(), typed_errors(context.layout.events_file.name):
        descriptor = os.open(context.layout.events_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


def _log(event: Event) -> None:
    """Into the server's log too, where that is structured (level INFO): what went wrong as a warning."""
    if log.isEnabledFor(logging.INFO):
        level = logging.WARNING if event.kind.endswith(events.FAILURES) else logging.INFO
        fields = {"event": event.kind, "job": event.job, "subject": event.subject, "actor": event.actor}
        log.log(level, "%s", event.message, extra=fields)


@answers(ListEvents)
def newest(context: Context, question: ListEvents) -> Sequence[Event]:
    with context.catalog.reading() as reader:
        return event_rows.listed(reader, question)


def was_said_today(context: Context, kind: str, subject: str) -> bool:
    """Every command without a server opens the workspace: what stays as it is would fill the events."""
    asked = ListEvents(kind=kind, text=subject, from_ms=max(0, context.now_ms() - DAY_MS))
    return any(event.subject == subject for event in newest(context, asked))
