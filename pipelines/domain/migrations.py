"""Migrations: the state of operators rewritten for changed code, on a restored copy, before its run starts.

Rows are rewritten by a function of the user's, or by columns (`migrated_columns`).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.domain import syntax
from pipelines.domain.bounds import Count
from pipelines.domain.conversions import CONVERTED
from pipelines.domain.errors import Conflict, Invalid, Refusal, TidemarkError, Unsupported, refusal
from pipelines.domain.operator_places import VARIABLES, Placement
from pipelines.domain.rewrites import FIRST_SPARK, OperatorKey, OperatorRewrite, Rewriting, dotted, version_of
from pipelines.domain.savepoints import QueryImage
from pipelines.domain.source_places import SourcePlacement

COLUMNS = "columns"
"""What stands for the migration by columns in place of a function's name."""
AGGREGATION = "stateStoreSave"
BY_COLUMNS = "Leave --migrate out, or give --migrate columns, which moves operators."
BY_FUNCTION = "Give a function that makes the new rows of the old ones (--migrate FILE:function)."


class Becomes(enum.StrEnum):
    """What becomes of an aggregate."""

    KEPT = "kept"
    WIDENED = "widened"
    ADDED = "added"
    DROPPED = "dropped"


@dataclass(frozen=True)
class Aggregate:
    """An aggregate (or a column of a key or of a join) of the new code, or one that is dropped, as SQL has it."""

    becomes: Becomes
    text: str
    begins: str = ""
    """With what one that is added begins, for each key of the savepoint (`0`, `null`); empty where `text` says it, or it is no value."""


@dataclass(frozen=True)
class ByColumns:
    """How the new columns are made of the old ones: one SQL expression for each, over the columns `value` and `key` of the old rows."""

    aggregates: tuple[Aggregate, ...]
    expressions: tuple[str, ...]
    changes: bool
    """Whether anything is added, dropped, widened, or in another place."""
    gaps: tuple[str, ...] = ()
    """What of the kept ones could not be compared whole."""
    key: tuple[str, ...] = ()
    """Those of the key's columns; none where they are what they were."""


@dataclass(frozen=True)
class MigrationPlan(Rewriting):
    """What migrating a restored copy will do."""

    by: str
    """`columns`, or the name of the function."""
    operators: tuple[OperatorRewrite, ...] = ()
    """Those that can be rewritten; those that keep what they kept are left as they are."""
    refusal: Refusal | None = None
    drop: tuple[str, ...] = ()
    """Names of what is accepted as dropped."""
    told: Mapping[str, str] = field(default_factory=dict)
    """Names of operators before -> now, as the user says."""


@dataclass(frozen=True)
class MigratedOperator:
    """One operator whose state was rewritten, or one side of a join."""

    query: str
    operator: Count
    rows_before: Count
    rows_after: Count
    before: str
    after: str
    """Columns of its value (of a deduplication its key), as `name type, …`."""
    aggregates: tuple[Aggregate, ...] = ()
    """What became of each, where it was done by columns; of a deduplication its key's columns, of a join those of the side."""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Migration:
    """A migration that was done: it stands in the job's document."""

    by: str
    digest: str
    """SHA-256 of the function's file; empty for columns."""
    operators: tuple[MigratedOperator, ...]
    rehearsal: str
    """What came of the rehearsal."""
    placements: tuple[Placement, ...] = ()
    """Operators whose state was moved, dropped, or begun empty."""
    dropped: tuple[str, ...] = ()
    """Names of what of the state was dropped: operators, variables, queries, sources."""
    sources: tuple[SourcePlacement, ...] = ()
    """Sources whose offset was moved, dropped, or that begin anew."""


def asked(migrate: Mapping[str, str] | None) -> tuple[str, str] | None:
    """The function's name and the text of its file, or `columns` and nothing; raises Invalid (`migrate.function`) for anything else."""
    if migrate is None:
        return None
    if len(migrate) != 1:
        raise Invalid("migrate.function", f"A migration is {COLUMNS} or one function, not {len(migrate)}", "Give one.")
    ((name, code),) = migrate.items()
    if not (name == COLUMNS and not code) and not name.isidentifier():
        raise Invalid("migrate.function", f"{name!r} is no name of a function", "Write --migrate FILE:function, or --migrate columns.")
    return name, code


def check_code(by: str, code: str) -> None:
    """Raises Invalid (`migrate.syntax`, `migrate.function`) for a file that is no Python, or has no such function."""
    if by == COLUMNS:
        return
    try:
        tree = syntax.tree(code)
    except (SyntaxError, ValueError) as error:
        line = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)
        raise Invalid("migrate.syntax", f"The migration's file is not valid Python: {line}", "Correct it.") from error
    names = {name for node in tree.body for name in [getattr(node, "name", None)] if name}
    if by not in names:
        known = ", ".join(sorted(names)) or "none at all"
        raise Invalid("migrate.function", f"The migration's file has no function {by}", f"Name one that it defines: {known}.")


def decide(images: Sequence[QueryImage], sizes: Mapping[OperatorKey, int], by: str, spark_version: str) -> MigrationPlan:
    """The plan of migrating what `images` show. `sizes` has the bytes of each operator's state files."""
    operators = tuple(
        OperatorRewrite(
            image.query, operator.id, operator.name, len(operator.stores), operator.partitions, sizes.get((image.query, operator.id), 0)
        )
        for image in images
        for operator in image.operators
        if operator.name in CONVERTED or operator.name in VARIABLES
    )
    refused = next(_refusals(operators, by, spark_version), None)
    return MigrationPlan(by, operators, refusal(refused) if refused else None)


def _refusals(operators: Sequence[OperatorRewrite], by: str, spark_version: str) -> Iterator[TidemarkError]:
    if by != COLUMNS and not operators:
        kinds = ", ".join(dict.fromkeys((*CONVERTED.values(), *VARIABLES.values())))
        message = f"No query of it keeps state whose rows a function makes, which are {kinds}"
        yield Unsupported("migrate.none", message, BY_COLUMNS)
    if version_of(spark_version) < FIRST_SPARK:
        message = f"Its state was written by Spark {spark_version}, and state is migrated from {dotted(FIRST_SPARK)} on"
        yield Unsupported("migrate.spark", message, "Resume it on that Spark first (--runtime); migrate it when it has run there.")


WORDS = {
    Becomes.KEPT: "kept as it is",
    Becomes.WIDENED: "kept, and wider",
    Becomes.ADDED: "begins as if no row had come before the savepoint",
    Becomes.DROPPED: "dropped",
}


def told(aggregates: Sequence[Aggregate]) -> str:
    """`sum(n) is kept as it is, count(1) begins with 0, as if no row had come before the savepoint`."""
    return ", ".join(_told(aggregate) for aggregate in aggregates)


def _told(aggregate: Aggregate) -> str:
    if aggregate.becomes is not Becomes.ADDED:
        return f"{aggregate.text} is {WORDS[aggregate.becomes]}"
    begins = WORDS[Becomes.ADDED]
    return f"{aggregate.text} {begins.replace('begins', f'begins with {aggregate.begins},') if aggregate.begins else begins}"


def check_plan(plan: MigrationPlan) -> None:
    """Raises what the plan refuses."""
    if plan.refusal is not None:
        raise plan.refusal.error


def fits() -> Conflict:
    """The error of a migration that has nothing to do."""
    return Conflict("migrate.fits", "The state fits this code as it is: nothing has to be rewritten", "Leave --migrate out.")
