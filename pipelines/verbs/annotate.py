"""`annotate`: what people say of a savepoint after it was taken."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.annotations import Annotation
from pipelines.domain.errors import Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.texts import LABEL, NOTE
from pipelines.verbs.fork import SAVEPOINT
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Change, Http, named, option


@dataclass(frozen=True)
class Annotate(Change[Savepoint, Annotation]):
    """Change a savepoint's label, note or best-before date. What was taken is not changed; what is not given stays. Nothing disposes of it
    by itself."""

    savepoint: str = named(SAVEPOINT, reads=Reads.SAVEPOINT)
    label: str | None = option("Label, one line; '' removes it.", None, text=LABEL)
    note: str | None = option("Note of several lines; '' removes it.", None, metavar="TEXT", text=NOTE)
    best_before_ms: int | None = option(
        "The last day that it is needed: 2027-03-31, or +30d; none removes it. Nothing is disposed of automatically.",
        None,
        flag="--best-before",
        metavar="DATE",
        reads=Reads.LAST_DAY,
    )

    call, topic = "annotate", "savepoints"
    role = Role.OPERATOR
    http = Http("PATCH", "/savepoints/{savepoint}")
    command = "annotate"
    refuses = (NotFound, Corrupt, Unsupported, Unavailable)
