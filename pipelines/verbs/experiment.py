"""`experiment`: several forks of one savepoint, to compare them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, Incompatible, NotFound, Refusal, Unavailable, Unsupported
from pipelines.domain.experiments import Experiment
from pipelines.domain.ids import ExperimentId, JobName, SavepointId
from pipelines.domain.restores import RestorePlan
from pipelines.domain.texts import LABEL
from pipelines.verbs.fork import FORKING, SAVEPOINT, Variant
from pipelines.verbs.reads import Reads
from pipelines.verbs.shell import NO_NAME, words_of_fields
from pipelines.verbs.verb import Change, Http, Shell, Works, argument, option


@dataclass(frozen=True)
class ExperimentPlan:
    """What starting an experiment will do."""

    id: ExperimentId
    name: str
    savepoint: SavepointId
    jobs: tuple[JobName, ...]
    """That are compared, the parent first where it is."""
    forks: tuple[RestorePlan, ...]

    @property
    def refusal(self) -> Refusal | None:
        """What starting it raises, of the first fork that cannot begin."""
        return next((fork.refusal for fork in self.forks if fork.refusal), None)


@dataclass(frozen=True)
class StartExperiment(Change[Experiment, ExperimentPlan]):
    """Fork one savepoint several times. All forks begin, or none does; `with_parent` compares the savepoint's own job with them."""

    name: str = option("Name of the experiment.", text=LABEL)
    savepoint: str = argument(SAVEPOINT, reads=Reads.SAVEPOINT)
    variants: tuple[Variant, ...] = option("The new jobs, each with its changes.", shell=Shell.ABSENT)
    with_parent: bool = option("Compare the savepoint's own job too.", False)
    lock_step: bool = option("All variants follow the parent in lock-step.", False, flag="--lock-step")

    call, topic = "start_experiment", "experiments"
    role = Role.AUTHOR
    http = Http("POST", "/experiments", 201)
    command, shell = "experiment", "Prints the experiment's id."
    refuses = (NotFound, AlreadyExists, Conflict, Incompatible, Corrupt, Unsupported, Unavailable)
    kinds = {"fork": FORKING}
    prints = "{0.id}"

    def warns(self, plan: ExperimentPlan) -> Sequence[str]:
        return tuple(dict.fromkeys(warning for fork in plan.forks for warning in fork.shared))

    def works_as(self, plan: ExperimentPlan) -> Works:
        return Works("fork", plan.forks[0].job, plan.savepoint)

    def words(self) -> Sequence[str]:
        variants = [f"{variant.name}={(variant.script or NO_NAME) if variant.code is not None else ''}" for variant in self.variants]
        return [*words_of_fields(self), *(word for variant in variants for word in ("--variant", variant))]

    def result(self, answer: Experiment) -> str:
        return answer.id
