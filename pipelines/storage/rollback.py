"""Rollback: what was made is removed again where the making fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipelines.domain.errors import TidemarkError

CLEANED = "the next start cleans it"


@contextmanager
def rollback(undo: Callable[[], object], what: str, otherwise: str = CLEANED) -> Iterator[None]:
    """Calls `undo` when the block raises. Where that fails too, the block's error says so of `what`, and what comes of it then."""
    try:
        yield
    except BaseException as error:
        try:
            undo()
        except TidemarkError as left:
            error.add_note(f"{what} could not be removed ({left}); {otherwise}.")
        raise
