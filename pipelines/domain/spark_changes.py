"""State that goes on under another Spark: what is refused for certain, before anything starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pipelines.domain.errors import Incompatible
from pipelines.domain.runtimes import STATE_SOURCE, is_other, numbers
from pipelines.domain.savepoints import QueryImage

ANSI = "spark.sql.ansi.enabled"
ANSI_SPARK = (4, 0)
"""The first Spark on which it is on by default."""
UNREAD_FORMAT_2 = (4, 0)
"""Its snapshots of RocksDB have metadata of version 2 in format 2, and those of 4.3 version 1 (both measured)."""


def refusals(images: Sequence[QueryImage], before: str, now: str) -> Iterator[Incompatible]:
    """Why Spark `now` cannot go on with the state that Spark `before` has written: what its readers of logs and of state refuse.

    Measured with 3.5.7, 4.0.1, 4.2.0 and 4.3.0; what is not known here, a rehearsal finds out."""
    if not is_other(before, now) or numbers(now) >= numbers(before):
        return
    for image in images:
        yield from _unread(image, now)


def _unread(image: QueryImage, now: str) -> Iterator[Incompatible]:
    if image.state_format > 1 and numbers(now) < STATE_SOURCE:
        message = (
            f"The checkpoint of query {image.query} has format {image.state_format}, and Spark {now} reads format 1 alone "
            "(it ends with `Unsupported log version`)"
        )
        yield Incompatible("runtime.format", message, "Go on with Spark 4.0 or newer. A fork cannot change the format of its state back.")
    for operator in image.operators:
        if operator.name.startswith("transformWithState") and numbers(now) < STATE_SOURCE:
            message = f"Query {image.query} keeps its state by transformWithState, which Spark {now} does not have"
            yield Incompatible("runtime.operator", message, "Go on with Spark 4.0 or newer.")


def warnings(images: Sequence[QueryImage], before: str, now: str, conf: Mapping[str, str]) -> Iterator[str]:
    """What computes otherwise on the other Spark although its code is the same, and what cannot be saved there."""
    for image in images:
        if image.state_format > 1 and numbers(now) == UNREAD_FORMAT_2:
            yield f"Once {image.query} has run on Spark {now}, no savepoint of it can be taken: Tidemark does not read its kind of format 2"
    if (numbers(before) < ANSI_SPARK) != (numbers(now) < ANSI_SPARK) and ANSI not in conf:
        was, becomes = ("off", "on") if numbers(before) < ANSI_SPARK else ("on", "off")
        yield (
            f"ANSI rules are {becomes} by default on Spark {now}, and were {was} on {before}: overflows, casts and divisions by zero may "
            f"end in errors where they gave null, or the other way round. --conf {ANSI}={'false' if was == 'off' else 'true'} keeps "
            "them as they were"
        )
