"""`verify`: how far a savepoint can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict, NotFound, Unavailable, Unsupported
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.operations import DAMAGED
from pipelines.domain.trust import Trust, Verification
from pipelines.verbs.fork import SAVEPOINT
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Change, Http, Kind, Works, named, option

CHECKED = "{done} {about}: {result}"


@dataclass(frozen=True)
class VerifyPlan:
    """What a verification will read."""

    savepoint: SavepointId
    job: JobName
    level: Trust
    files: int
    bytes: int


@dataclass(frozen=True)
class Verify(Change[Verification, VerifyPlan]):
    """Check a savepoint. Its files and sizes are checked (complete), its checksums (intact), or whether Spark restores it (proved). Damage
    is an answer, not an error; the level reached is kept."""

    savepoint: str = named(SAVEPOINT, reads=Reads.SAVEPOINT)
    level: Trust = option("How far to check: files and sizes, checksums, or a restore by Spark.", Trust.INTACT, at="query")

    call, topic = "start_verify", "savepoints"
    role = Role.OPERATOR
    http = Http("POST", "/savepoints/{savepoint}/verifications", 202)
    also = (Http("POST", "/savepoints/{savepoint}/verify", 200, "verify"),)
    refuses = (NotFound, Conflict, Unsupported, Unavailable)
    within = "verify"
    follows = True
    kinds = {
        "verify": Kind("Verifying", "Verified", checks=True, outcome=CHECKED),
        "prove": Kind("Proving", "Proved", checks=True, reaches=Trust.PROVED, outcome=CHECKED),
    }

    def works_as(self, plan: VerifyPlan) -> Works:
        return Works("prove" if plan.level is Trust.PROVED else "verify", plan.job, plan.savepoint)

    def result(self, answer: Verification) -> str:
        return answer.reached or DAMAGED
