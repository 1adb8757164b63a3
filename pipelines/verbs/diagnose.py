"""`verify JOB` and `verify CHECKPOINT`: the doctor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.diagnosis import Diagnosis
from pipelines.domain.errors import NotFound, Unavailable, Unsupported
from pipelines.domain.ids import JobName
from pipelines.domain.operations import DAMAGED, SOUND
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Change, Http, Kind, Shell, Works, option


@dataclass(frozen=True)
class DiagnosePlan:
    """What the doctor will look at."""

    job: JobName
    """The job that it is about; empty for a checkpoint elsewhere."""
    subject: str
    """The savepoint's id or the checkpoint's place; empty for the job's own checkpoints."""


@dataclass(frozen=True)
class Diagnose(Change[Sequence[Diagnosis], DiagnosePlan]):
    """Check a checkpoint for damage. It is read file by file, live or in a savepoint; the answer is a diagnosis of each query: what is
    damaged, which batches depend on it, and the newest batch that can still be restored. Damage is an answer, not an error. Nothing is
    changed, but it takes its time."""

    subject: str = option("A job, a savepoint, or the path or URL of a checkpoint.", reads=Reads.CHECKPOINT, least=1, shell=Shell.ARGUMENT)

    call, topic = "diagnose", "diagnosis"
    role = Role.OPERATOR
    http = Http("GET", "/diagnosis")
    within = "verify"
    refuses = (NotFound, Unsupported, Unavailable)
    kinds = {"diagnose": Kind("Examining", "Examined", outcome="{done} {about}: {result}")}

    def works_as(self, plan: DiagnosePlan) -> Works:
        return Works("diagnose", plan.job, plan.subject)

    def result(self, answer: Sequence[Diagnosis]) -> str:
        return SOUND if all(diagnosis.sound for diagnosis in answer) else DAMAGED
