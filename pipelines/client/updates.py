"""Server-sent events as the client reads them: the lines of a stream as updates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from pipelines.domain.updates import HELD, Update, UpdateKind
from pipelines.storage.documents import decode

SILENT_S = 60.0
"""A stream that says nothing for so long, not even that it lives, is lost: the server's comments come every 15 s."""


def updates(lines: Iterable[str]) -> Iterator[Update]:
    """The updates in a stream's lines (WHATWG HTML, section 9.2); others' are passed over. Corrupt for one that is damaged."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        if line and name:
            fields[name] = value.removeprefix(" ")
        elif not line:
            if fields.get("event") in HELD and "data" in fields:
                yield _update(UpdateKind(fields["event"]), fields.get("id", ""), fields["data"])
            fields = {}


def _update(kind: UpdateKind, place: str, data: str) -> Update:
    value = cast(Any, decode(HELD[kind], data, "the update"))
    job = value.job.name if kind is UpdateKind.JOB else value.job or ""
    return Update(place, kind, str(job), value)
