"""Questions about savepoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.savepoints import Manifest, Reason, Savepoint
from pipelines.domain.trust import Trust, Verification
from pipelines.verbs.fork import SAVEPOINT
from pipelines.verbs.listing import ListedByTime
from pipelines.verbs.reads import Reads
from pipelines.verbs.rows import Filter, Rows
from pipelines.verbs.system import ONLY_JOB
from pipelines.verbs.verb import Http, Question, argument, named, option


@dataclass(frozen=True)
class ListSavepoints(ListedByTime, Question[Sequence[Savepoint]]):
    """List savepoints, newest first. Each has the best level of trust that it reached."""

    job: str = argument(ONLY_JOB, "")
    trust: Trust | None = option("Only those that reached this level at best.", None, filters=Filter("trust"))
    reason: Reason | None = option("Only those that were taken for this.", None, filters=Filter("reason"))
    label: str = option("Only those with this label.", "", filters=Filter("label"))
    version: str = option("Only those of this version.", "", filters=Filter("version"))

    call, topic = "savepoints", "savepoints"
    role = Role.VIEWER
    http = Http("GET", "/savepoints")
    within = "savepoints"
    rows = Rows.of("id", "created_ms", "job", "label", "reason", "trust", "bytes", "new_bytes", "took_ms", "best_before_ms")


@dataclass(frozen=True)
class ShowSavepoint(Question[Savepoint]):
    """Show a savepoint. The answer has its job, version, batches, sizes, path and how far it was checked."""

    savepoint: str = named(SAVEPOINT, reads=Reads.SAVEPOINT)

    call, topic = "savepoint", "savepoints"
    role = Role.VIEWER
    http = Http("GET", "/savepoints/{savepoint}")
    within = "show"
    refuses = (NotFound, Unavailable)


@dataclass(frozen=True)
class ReadManifest(Question[Manifest]):
    """Read a savepoint's manifest. It is all that is needed to restore it: the version with its code, the batches, every file with its
    size."""

    savepoint: str = named(SAVEPOINT, reads=Reads.SAVEPOINT)

    call, topic = "manifest", "savepoints"
    role = Role.VIEWER
    http = Http("GET", "/savepoints/{savepoint}/manifest")
    refuses = (NotFound, Corrupt, Unsupported, Unavailable)


@dataclass(frozen=True)
class ReadVerification(Question[Verification | None]):
    """Read a savepoint's newest verification. The answer has what it found, and the newest proof; it is `null` before the first."""

    savepoint: str = named(SAVEPOINT, reads=Reads.SAVEPOINT)

    call, topic = "verification", "savepoints"
    role = Role.VIEWER
    http = Http("GET", "/savepoints/{savepoint}/verification")
    refuses = (NotFound, Corrupt, Unsupported, Unavailable)
