"""What planning code without running it tells of its queries: the document that the sandbox answers with.

A digest stands for what is computed; equal digests mean the same where `gaps` is empty. Texts are for people, and are never compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.domain import installed
from pipelines.domain.planned_columns import PlannedAggregate, PlannedJoin, PlannedKey

TASK_FILE = "plan.json"
RESULT_FILE = "planned.json"
OLD, NEW = "old", "new"
"""Folders of the two sides, each with its `run.json`; below `contract/` what it would keep, by query."""
CONTRACT = "contract"


@dataclass(frozen=True)
class QueryCheckpoint:
    """A query of the savepoint: where the linked copy of its checkpoint is, and its last committed batch."""

    query: str
    checkpoint: str
    batch: int


@dataclass(frozen=True)
class PlanTask:
    """What to plan: the sides (folders of the task's folder) in their order, and the points to go on from."""

    sides: tuple[str, ...]
    points: tuple[QueryCheckpoint, ...]
    takes_apart: bool = False
    """Whether aggregations are taken apart also where Spark takes the state as it is."""


@dataclass(frozen=True)
class PlannedOperator:
    """A stateful operator as it was planned, with what is computed below it."""

    id: int
    name: str
    digest: str
    facts: tuple[tuple[str, str], ...] = ()
    """(what, text) in words for people: `computes`, `sum(v)`."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """Python functions and what they refer to, by name (`price → RATE`) -> a short value, else a digest."""
    gaps: tuple[str, ...] = ()
    """What could not be compared whole."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Installed packages and modules of elsewhere that its functions use -> version, as `Installed.packages` has them."""
    has_functions: bool = False
    """Whether Python functions are among what is computed."""
    aggregates: tuple[PlannedAggregate, ...] = ()
    """Of an aggregation that Spark does not take as it is, in the order of their state."""
    keys: tuple[PlannedKey, ...] = ()
    """The same of a deduplication."""
    join: PlannedJoin | None = None
    """The same of a join."""
    columns: tuple[str, ...] = ()
    """What the last columns of an aggregation's state hold, in words for people: `sum(v) AS total`; none where it is not known."""
    alias: str = ""
    """What the code calls it (`df.alias`); empty where it does not."""
    reads: Mapping[str, int] = field(default_factory=dict)
    """Place of files that are joined to what streams, and read anew in each batch -> when one last changed, came or went (epoch ms); -1
    where nobody knows."""


@dataclass(frozen=True)
class PlannedSource:
    """A source in the order of the plan; `name` is the one that the code gave it, empty for none."""

    kind: str
    place: str
    digest: str
    name: str = ""


@dataclass(frozen=True)
class Failure:
    """Spark's error class (else the exception's name) and what it says."""

    error_class: str
    message: str


@dataclass(frozen=True)
class PlannedQuery:
    """One query that the code starts."""

    query: str
    operators: tuple[PlannedOperator, ...] = ()
    sources: tuple[PlannedSource, ...] = ()
    columns: str = ""
    varies: tuple[str, ...] = ()
    """What depends on the clock or on chance."""
    conf: Mapping[str, str] = field(default_factory=dict)
    failure: Failure | None = None
    """Why it could not be planned on nothing."""
    refusal: Failure | None = None
    """Why Spark refuses to plan its next batch on the savepoint's copy."""

    @property
    def numbered(self) -> Mapping[int, PlannedOperator]:
        """Its operators by their numbers."""
        return {operator.id: operator for operator in self.operators}


@dataclass(frozen=True)
class Planned:
    """One side: its queries, or why its script failed before they started."""

    queries: tuple[PlannedQuery, ...] = ()
    failure: Failure | None = None
    uses: Mapping[str, str] = field(default_factory=dict)
    """What its code imports, as `Installed.packages`."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files of this machine that are among it, and paths that it asked for, as `Installed.files`."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that it read, as `Installed.variables`."""
    asked: tuple[str, ...] = ()
    """As `Installed.asked`."""

    def find(self, query: str) -> PlannedQuery | None:
        """The query of this name; None where the code does not start it."""
        return next((planned for planned in self.queries if planned.query == query), None)


@dataclass(frozen=True)
class Planning:
    """The answer; `unsupported` says why this Spark's internals are not as they are known to be."""

    spark_version: str = ""
    python_version: str = ""
    java_version: str = ""
    sides: Mapping[str, Planned] = field(default_factory=dict)
    unsupported: str = ""
    time_zone: str = ""
    """Where it was planned, as `Installed.time_zone`."""

    def side(self, name: str) -> Planned:
        """What one code starts; nothing where it was not planned."""
        return self.sides.get(name, Planned())

    @property
    def files(self) -> Mapping[str, str]:
        """Those of both sides, as `Planned.files`."""
        return installed.merged(*(side.files for side in self.sides.values()))

    @property
    def variables(self) -> Mapping[str, str]:
        """Those of both sides, as `Planned.variables`."""
        return {name: noted for side in self.sides.values() for name, noted in side.variables.items()}

    @property
    def is_lasting(self) -> bool:
        """Whether the same would be planned again where neither its files nor its variables have changed."""
        queries = self.side(NEW).queries
        asked = any(side.asked for side in self.sides.values())
        return not asked and not any(operator.reads for query in queries for operator in query.operators)

    def operators(self, side: str, query: str) -> Mapping[int, PlannedOperator]:
        """The operators of a query by their numbers; none where the side does not start it."""
        planned = self.side(side).find(query)
        return planned.numbered if planned is not None else {}
