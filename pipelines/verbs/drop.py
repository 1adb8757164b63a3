"""`drop` and `undrop`: a variant is ended and marked, and taken back."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.decisions import DropPlan, UndropPlan
from pipelines.domain.operations import Operation
from pipelines.verbs.forget import JOB
from pipelines.verbs.promote import DECIDES
from pipelines.verbs.resume import RESUMING
from pipelines.verbs.stop import SAVED
from pipelines.verbs.verb import Change, Http, Kind, Works, named, option


@dataclass(frozen=True)
class Drop(Change[Operation, DropPlan]):
    """End a variant and mark it as dropped. It stops at a batch boundary, with a savepoint unless told not to, or `at_once`. Its savepoints
    and its output stay; `undrop` takes it back, `forget` removes it."""

    job: str = named(JOB)
    savepoint: bool = option(SAVED, True, flag="--savepoint/--no-savepoint")
    at_once: bool = option("Cancel it in the middle of a batch, without a savepoint.", False)

    call, topic = "drop", "decisions"
    role = Role.OPERATOR
    http = Http("POST", "/jobs/{job}/drop", 202)
    command = "drop"
    refuses = DECIDES
    follows = True
    kinds = {"drop": Kind("Dropping", "Dropped")}

    def works_as(self, plan: DropPlan) -> Works:
        return Works("drop", plan.job, plan.job, can_cancel=False)


@dataclass(frozen=True)
class Undrop(Change[UndropPlan, UndropPlan]):
    """Take a dropped variant back. It is no longer marked, and is resumed where the drop ended it; the answer is what was done."""

    job: str = named(JOB)

    call, topic = "undrop", "decisions"
    role = Role.OPERATOR
    http = Http("POST", "/jobs/{job}/undrop")
    command, shell = "undrop", "Prints the id of that run, if there is one."
    refuses = DECIDES
    kinds = {"resume": RESUMING}

    def works_as(self, plan: UndropPlan) -> Works | None:
        return Works("resume", plan.job) if plan.resumes else None

    def result(self, answer: UndropPlan) -> str:
        return answer.job
