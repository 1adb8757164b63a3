"""`promote`: a variant's parent goes on with its version."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.decisions import PromotePlan, StateFrom
from pipelines.domain.errors import Conflict, Corrupt, Incompatible, NotFound, Unavailable, Unsupported
from pipelines.domain.operations import Operation
from pipelines.verbs.forget import JOB
from pipelines.verbs.migrating import Migrating
from pipelines.verbs.verb import Change, Http, Kind, Works, named, option

DECIDES = (NotFound, Conflict, Corrupt, Unsupported, Unavailable)


@dataclass(frozen=True)
class Promote(Change[Operation, PromotePlan], Migrating):
    """Have a variant's parent go on with its code. The parent is stopped with a savepoint and resumed, on its own present state, from
    the savepoint they parted at, or with the state and the tables of the variant. The operation's result is the run's id."""

    job: str = named(JOB)
    state: StateFrom = option(
        "Go on with the parent's present state; or from the savepoint of the fork, and process everything since again; or with the "
        "variant's state and its rows, where all that they write is Delta or Iceberg tables in folders.",
        StateFrom.PRESENT,
    )

    call, topic = "promote", "decisions"
    role = Role.AUTHOR
    http = Http("POST", "/jobs/{job}/promote", 202)
    command, shell = "promote", "Prints the parent's name and the run's id."
    refuses = (*DECIDES, Incompatible)
    follows = True
    kinds = {"promote": Kind("Promoting", "Promoted")}
    prints = "{0.job} {0.result}"

    def works_as(self, plan: PromotePlan) -> Works:
        return Works("promote", plan.parent, plan.job, can_cancel=False)
