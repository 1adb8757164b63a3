"""Events: which there are, who did what, and which of them somebody wants to see."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipelines.domain.errors import Invalid

PAGE, COMMAND, REST, SUPERVISOR, DRIVER = "page", "command", "REST", "supervisor", "driver"
"""Who does things: somebody on a page, at a shell, over REST; the supervisor and a job's driver by themselves."""
ACTOR_HEADER = "X-Tidemark-Actor"
"""Who a REST call is made by or for; `REST` where it does not say."""
_LONGEST_ACTOR = 60
_CURSOR = re.compile(r"(\d{1,15})-([0-9a-f]{8})")
FAILURES = ("failed", "killed", "damaged", "unsealed", "malformed", "lost")
"""Last words of the kinds that say that something went wrong."""
GROUPS = {"runs": ("run",), "savepoints": ("savepoint", "export"), "jobs": ("job", "experiment")}
"""Kinds by their first words; `failures` are those of `FAILURES`, `other` what is in none of these groups."""
FAILED, OTHER = "failures", "other"


@dataclass(frozen=True)
class EventFilter:
    """Which events: each part that is given must fit.

    `kind` is a whole kind (`run.failed`), its first word (`run`), or a group; `text` words that all occur in the event; the times, epoch
    ms, both count in. `before` is the cursor of an event (`Event.cursor`): only those that are listed after it, the older ones.
    """

    job: str = ""
    kind: str = ""
    text: str = ""
    actor: str = ""
    from_ms: int | None = None
    to_ms: int | None = None
    before: str = ""


EVERY = EventFilter()


def place_of(cursor: str) -> tuple[int, str]:
    """An event's time, epoch ms, and the hash of its content; Invalid (`events.cursor`) for what is no cursor."""
    found = _CURSOR.fullmatch(cursor)
    if not found:
        raise Invalid("events.cursor", f"{cursor!r} is no place among the events", "Give what the list before it said, or leave it out.")
    return int(found[1]), found[2]


def actor_of(said: str | None) -> str:
    """Who a REST call says it is by; Invalid (`actor.invalid`) for what does not fit in a line."""
    actor = (said or "").strip() or REST
    if len(actor) > _LONGEST_ACTOR or not actor.isprintable():
        raise Invalid(
            "actor.invalid", f"{ACTOR_HEADER} is at most {_LONGEST_ACTOR} printable characters", "Give a name: alice, nightly-ci."
        )
    return actor
