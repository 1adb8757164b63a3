"""The audit: its lines, and the check of its chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.audit import AuditLine, AuditPrunePlan, Result, Verified
from pipelines.domain.errors import NotFound, Unavailable
from pipelines.verbs.listing import Sorted
from pipelines.verbs.reads import Reads
from pipelines.verbs.rows import Rows
from pipelines.verbs.verb import Change, Http, Question, option


@dataclass(frozen=True)
class ListAudit(Sorted, Question[Sequence[AuditLine]]):
    """List who changed what or was refused, from where and with what result, newest first. Every filter that is given must fit. Where there
    may be more, the header `Link` (`rel="next"`) says where they are."""

    limit: int = option("At most this many, the first ones of its order.", 200, least=1, most=10_000)
    verb: str = option("A command by its words: savepoint, stop, token create.", "")
    result: Result | None = option("Only those with this result.", None)
    actor: str = option("Who did it: a token's name, or whom events name.", "", flag="--by", metavar="WHO")
    text: str = option("Words that all occur in the line.", "")
    from_ms: int | None = option(
        "Not before: 2027-01-15T08:00, 08:00:30 (today) or -10m.", None, flag="--since", metavar="TIME", reads=Reads.MOMENT
    )
    to_ms: int | None = option("Not after this time.", None, flag="--until", metavar="TIME", reads=Reads.MOMENT)
    before: int = option("Only what comes after the last list: the number that it ended with; 0 for all.", 0, metavar="NUMBER", least=0)

    call, topic = "audit", "system"
    role = Role.ADMIN
    http = Http("GET", "/audit")
    command = "audit list"
    refuses = (Unavailable,)
    pages_by = "before"
    rows = Rows.of("number", "at_ms")


@dataclass(frozen=True)
class VerifyAudit(Question[Verified]):
    """Check the chain of the audit, over all of its files. A line that was changed, removed, inserted or moved is named; what `audit prune`
    removed is told apart. An end that was cut off, or written anew from some line on, is found with the hash of a line that was kept
    elsewhere: keep the one that this answers."""

    last: str = option("The hash of a line, as an earlier check printed it: it must still be in the chain.", "", metavar="HASH")

    call, topic = "verify_audit", "system"
    role = Role.ADMIN
    http = Http("GET", "/audit/verification")
    command = "audit verify"
    refuses = (Unavailable,)


@dataclass(frozen=True)
class PruneAudit(Change[AuditPrunePlan, AuditPrunePlan]):
    """Remove sealed files of the audit, which nothing else does. An entry of the audit says of each that it was removed, and by whom. Copy
    them elsewhere first: put back, they are checked again."""

    through: int = option("The last entry that may go: sealed files that end there, or before.", metavar="NUMBER", least=1)

    call, topic = "prune_audit", "system"
    role = Role.ADMIN
    http = Http("POST", "/audit/prune")
    command = "audit prune"
    refuses = (NotFound, Unavailable)
