"""Decisions on the variants of an experiment: one is promoted (the parent goes on with its version), others are dropped."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pipelines.domain.bounds import Moment
from pipelines.domain.errors import Conflict, Refusal
from pipelines.domain.ids import ExperimentId, JobName, RunId, SavepointId, VersionId
from pipelines.domain.jobs import Run
from pipelines.domain.restores import RestorePlan
from pipelines.domain.verdicts import Verdict


class Choice(enum.StrEnum):
    """The outcome of a variant."""

    PROMOTED = "promoted"
    DROPPED = "dropped"


class StateFrom(enum.StrEnum):
    """What state the parent goes on with under the promoted version."""

    PRESENT = "present"
    """Its own, as it stands: what came before the promotion stays as the old version made it."""
    SAVEPOINT = "savepoint"
    """That of the savepoint which the variant began from: all since then is done again by the new version."""
    VARIANT = "variant"
    """The variant's, as it stands, and its rows: Delta and Iceberg tables of the parent become what the variant's are."""


@dataclass(frozen=True)
class Decision:
    """One decision, as the experiment keeps it."""

    job: JobName
    """The variant."""
    choice: Choice
    at_ms: Moment
    parent: JobName
    version: VersionId | None
    """What the parent goes on with; None for a drop."""
    run: RunId | None
    """Of a promotion the parent's run that began with it; of a drop the variant's run that it ended, None where none was live."""
    savepoint: SavepointId | None
    """Taken when the parent (the variant, for a drop) was stopped for it; None where it was not running."""


def refusal_of_failed(job: JobName, run: Run) -> Conflict | None:
    """Why a variant whose newest run is `run` is not promoted: that failed, and so would its parent. None where it did not."""
    if not run.state.has_failed:
        return None
    why = f" ({run.exit.error_class})" if run.exit and run.exit.error_class else ""
    hint = "Resume it with code that runs, or fork the savepoint again; then promote that."
    return Conflict("promote.failed", f"{job} has failed{why}: its parent would fail with the same code", hint)


class Does(enum.StrEnum):
    """What one step of a decision does."""

    STOP = "stop"
    RESUME = "resume"
    UNMARK = "unmark"
    """The mark of a drop goes."""
    RECORD = "record"
    """The experiment keeps the decision."""
    SAVE = "save"
    """A savepoint is taken."""
    REWRITE = "rewrite"
    """A copy of the state is rewritten."""
    CHECK = "check"
    """Changed code is checked against the state."""
    LEAVE = "leave"
    """Something is as it should be already, and stays so."""


@dataclass(frozen=True)
class Step:
    """One step of a plan: what is done, and in words."""

    does: Does
    words: str


@dataclass(frozen=True)
class PromotePlan:
    """What promoting a variant will do, step by step."""

    job: JobName
    parent: JobName
    experiment: ExperimentId | None
    version: VersionId
    """What the parent will run."""
    replaces: VersionId
    added: int
    removed: int
    """Lines of code."""
    stops: bool
    """Whether the parent runs and is stopped first, with a savepoint."""
    state: StateFrom
    steps: tuple[Step, ...]
    warnings: tuple[str, ...] = ()
    restore: RestorePlan | None = None
    """Of a promotion from the savepoint, with the variant's state, or with a migrated copy of the parent's present one."""
    verdict: Verdict | None = None
    """What becomes of the parent's present state under that version; None where nobody has checked it."""
    judged: SavepointId | None = None
    """The savepoint whose state stands for that one, as of `RestorePlan`."""
    refusal: Refusal | None = None
    """What promoting it raises: a part of the state that is dropped, and was not accepted; code that is known not to start."""


@dataclass(frozen=True)
class DropPlan:
    """What dropping a variant will do, step by step."""

    job: JobName
    parent: JobName
    experiment: ExperimentId | None
    stops: bool
    savepoints: int
    """Savepoints of the variant, all of which stay."""
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class UndropPlan:
    """What undropping a variant does, step by step."""

    job: JobName
    experiment: ExperimentId
    resumes: bool
    """Whether it goes on where the drop ended it; one that did not run then, or was resumed since, is left as it is."""
    steps: tuple[Step, ...]
    run: RunId | None = None
    """The run that began; None in a dry run, and where none does."""
