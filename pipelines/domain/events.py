"""Events: which there are, who did what, and which of them somebody wants to see."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.errors import Invalid

PAGE, COMMAND, REST, SUPERVISOR, DRIVER = "page", "command", "REST", "supervisor", "driver"
"""Who does things: somebody on a page, at a shell, over REST; the supervisor and a job's driver by themselves."""
ACTOR_HEADER = "X-Tidemark-Actor"
"""Who a REST call is made by or for; `REST` where it does not say."""
_LONGEST_ACTOR = 60
FAILURES = ("failed", "killed", "damaged", "unsealed", "malformed", "lost")
"""Last words of the kinds that say that something went wrong."""
GROUPS = {"runs": ("run",), "savepoints": ("savepoint", "export"), "jobs": ("job", "experiment")}
"""Kinds by their first words; `failures` are those of `FAILURES`, `other` what is in none of these groups."""
FAILED, OTHER = "failures", "other"


@dataclass(frozen=True)
class EventFilter:
    """Which events: each part that is given must fit.

    `kind` is a whole kind (`run.failed`), its first word (`run`), or a group; `text` words that all occur in the event; the times, epoch
    ms, both count in.
    """

    job: str = ""
    kind: str = ""
    text: str = ""
    actor: str = ""
    from_ms: int | None = None
    to_ms: int | None = None


EVERY = EventFilter()


def actor_of(said: str | None) -> str:
    """Who a REST call says it is by; Invalid (`actor.invalid`) for what does not fit in a line."""
    actor = (said or "").strip() or REST
    if len(actor) > _LONGEST_ACTOR or not actor.isprintable():
        raise Invalid(
            "actor.invalid", f"{ACTOR_HEADER} is at most {_LONGEST_ACTOR} printable characters", "Give a name: alice, nightly-ci."
        )
    return actor
