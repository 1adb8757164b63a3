"""Events: their kinds, their actors, and the cursor that continues a list."""

from __future__ import annotations

import re

from pipelines.domain.errors import Invalid

PAGE, COMMAND, REST, SUPERVISOR, DRIVER = "page", "command", "REST", "supervisor", "driver"
"""Who does things: somebody on a page, at a shell, over REST; the supervisor and a job's driver by themselves."""
ACTOR_HEADER = "X-Tidemark-Actor"
"""Who a REST call is made by or for; `REST` where it does not say."""
_LONGEST_ACTOR = 60
_CURSOR = re.compile(r"(\d{1,15})-([0-9a-f]{8})")
FAILURES = ("failed", "killed", "damaged", "unsealed", "malformed", "lost", "poisoned", "missed")
"""Last words of the kinds that say that something went wrong."""
GROUPS = {"runs": ("run", "restart"), "savepoints": ("savepoint", "export"), "jobs": ("job", "experiment")}
"""Kinds by their first words; `failures` are those of `FAILURES`, `other` what is in none of these groups."""
FAILED, OTHER = "failures", "other"


def place_of(cursor: str) -> tuple[int, str]:
    """An event's time, epoch ms, and the hash of its content; Invalid (`events.cursor`) for a malformed cursor."""
    match = _CURSOR.fullmatch(cursor)
    if not match:
        raise Invalid(
            "events.cursor", f"{cursor!r} is not the cursor of an event", "Give the cursor that the previous list ended with, or none."
        )
    return int(match[1]), match[2]


def actor_of(header: str | None) -> str:
    """The actor of a REST call, from its header; Invalid (`actor.invalid`) for a text that does not fit in a line."""
    actor = (header or "").strip() or REST
    if len(actor) > _LONGEST_ACTOR or not actor.isprintable():
        raise Invalid(
            "actor.invalid", f"{ACTOR_HEADER} is at most {_LONGEST_ACTOR} printable characters", "Give a name: alice, nightly-ci."
        )
    return actor
