"""`state-key`: one key of a job's state, as of its newest committed batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict, Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.ids import JobName
from pipelines.domain.state_keys import KeyRows
from pipelines.verbs.forget import JOB
from pipelines.verbs.reads import Reads
from pipelines.verbs.state import TableNamed
from pipelines.verbs.verb import Change, Http, Kind, Works, named, option


@dataclass(frozen=True)
class LookUpKeyPlan:
    """Where a key will be looked up."""

    job: JobName
    table: str
    batch: int


@dataclass(frozen=True)
class LookUpKey(Change[KeyRows, LookUpKeyPlan], TableNamed):
    """Look one key up in a job's state, as of its newest committed batch. Spark reads the one partition that keeps the key, from a linked
    copy that is gone afterwards; the job does not notice. The answer names the batch that it is of. With `since` it says which batches
    changed the key, where the state store keeps its changes (HDFS-backed, and RocksDB with changelog checkpointing); else why not."""

    job: str = named(JOB)
    key: Mapping[str, str | None] = option(
        "A column of the key, once for each: post=p1, window.start=2027-01-15T08:00:00Z. A column alone is null; bytes are in base64, "
        "arrays in JSON.",
        flag="--key",
        metavar="COLUMN[=VALUE]",
        reads=Reads.KEY,
    )
    since: int | None = option(
        "Also say which batches after this one changed the key, and to what; of the newest 100 at most.", None, metavar="BATCH", least=-1
    )

    call, topic = "look_up_key", "states"
    role = Role.OPERATOR
    http = Http("POST", "/jobs/{job}/state/key", 200)
    command, shell = "state-key", "Prints each row of the key as a line of JSON."
    refuses = (NotFound, Conflict, Corrupt, Unsupported, Unavailable)
    kinds = {"look-up": Kind("Looking a key up in", "Looked a key up in")}

    def works_as(self, plan: LookUpKeyPlan) -> Works:
        return Works("look-up", plan.job)

    def result(self, answer: KeyRows) -> str:
        return f"{len(answer.rows)} rows at batch {answer.batch}"
