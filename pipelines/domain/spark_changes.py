"""State that goes on under another Spark: what is refused for certain, before anything starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pipelines.domain.errors import Incompatible
from pipelines.domain.runtimes import STATE_SOURCE, Numbers, is_other, numbers
from pipelines.domain.savepoints import QueryImage

ANSI = "spark.sql.ansi.enabled"
ANSI_SPARK = (4, 0)
"""The first Spark on which it is on by default."""
SNAPSHOTS: Mapping[Numbers, int] = {(4, 0): 2, (4, 2): 1, (4, 3): 1}
"""Spark -> the version of RocksDB's snapshots that it writes and reads in format 2, and no other (measured)."""


def snapshot_version(before: str, now: str) -> int | None:
    """The version that snapshots of format 2 need for Spark `now`, after Spark `before`; None where they can stay as they are."""
    was, becomes = (SNAPSHOTS.get(numbers(version)) for version in (before, now))
    return becomes if is_other(before, now) and was != becomes else None


def snapshots(images: Sequence[QueryImage], before: str, now: str) -> int | None:
    """The same of what `images` show; None also where they have no state in format 2."""
    return snapshot_version(before, now) if any(image.state_format > 1 for image in images) else None


def refusals(images: Sequence[QueryImage], before: str, now: str) -> Iterator[Incompatible]:
    """Why Spark `now` cannot go on with the state that Spark `before` has written: what its readers of logs and of state refuse.

    Measured with 3.5.7, 4.0.1, 4.2.1 and 4.3.0; what is not known here, a rehearsal finds out."""
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
    """What computes otherwise on the other Spark although its code is the same, and what is written anew for it."""
    if snapshots(images, before, now) is not None:
        named = ", ".join(image.query for image in images if image.state_format > 1)
        yield (
            f"Snapshots of state in format 2 ({named}) have another version on Spark {now}: they get it in the copy that it goes on with, "
            "and hold the same"
        )
    if (numbers(before) < ANSI_SPARK) != (numbers(now) < ANSI_SPARK) and ANSI not in conf:
        was, becomes = ("off", "on") if numbers(before) < ANSI_SPARK else ("on", "off")
        then, since = ("gave null or wrapped around", "end in errors") if was == "off" else ("ended in errors", "give null or wrap around")
        yield (
            f"ANSI rules are {becomes} by default on Spark {now}, and were {was} on {before}: overflows, casts and divisions by zero may "
            f"{since} where they {then}. --conf {ANSI}={'false' if was == 'off' else 'true'} keeps them as they were"
        )
