"""`holdings`: what the sources of a savepoint still hold."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.holdings import HoldingsPlan
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.fork import SAVEPOINT
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Change, Http, named


@dataclass(frozen=True)
class AskHoldings(Change[Savepoint, HoldingsPlan]):
    """Ask a savepoint's sources what they still hold. As long as they have all that was read after it, the savepoint can be used; the
    answer says which files are gone, or until when it most likely can. A server asks by itself, again and again."""

    savepoint: str = named(SAVEPOINT, reads=Reads.SAVEPOINT)

    call, topic = "ask_holdings", "savepoints"
    role = Role.OPERATOR
    http = Http("POST", "/savepoints/{savepoint}/holdings")
    command = "holdings"
    refuses = (NotFound, Corrupt, Unsupported, Unavailable)
