"""Operators of a restored copy whose state is rewritten: each with where it is, and what it becomes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipelines.domain import contracts
from pipelines.domain.ids import folder_of
from pipelines.domain.migrations import ByColumns
from pipelines.domain.plannings import CONTRACT, NEW, OLD, Planning
from pipelines.domain.savepoints import Operator, QueryImage
from pipelines.sandbox.counts import Store
from pipelines.sandbox.migrations import Target
from pipelines.workspace.placements import Placed


@dataclass(frozen=True)
class Change:
    """One store of an operator to rewrite; `store` is where it is by then, `before` and `after` are the columns of its value, or of its key
    where that is another."""

    image: QueryImage
    operator: Operator
    store: Store
    target: Target
    before: str
    after: str
    by_columns: ByColumns | None
    is_told: bool = True
    """Whether it is said of it; not of a store that is written anew as it was."""


def store(placed: Placed, operator: Operator, at: int, name: str) -> Store:
    """A store of the operator, which has the number `at` by then."""
    image = placed.known.image
    return Store.of(image, placed.checkpoint, at, operator.name, name)


def contract(placed: Placed, folder: Path) -> Path:
    """Where Spark wrote what the query would keep under the new code, which was planned in `folder`."""
    return folder / NEW / CONTRACT / folder_of(placed.known.image.query)


def described(place: Path, operator: int) -> str:
    """The folder of what Spark's metadata and schemas say of an operator, in the contract at `place`."""
    return str(place / "state" / str(operator))


def is_left(placed: Placed, operator: Operator, at: int, planning: Planning) -> bool:
    """Whether a function makes no rows of an operator: its columns have the types that they had, and are computed as they were."""
    known, query = placed.known, placed.known.image.query
    if contracts.types(known.kept[operator.id]) != contracts.types(known.new[at]):
        return False
    then, now = planning.operators(OLD, query).get(operator.id), planning.operators(NEW, query).get(at)
    return then is not None and now is not None and then.digest == now.digest
