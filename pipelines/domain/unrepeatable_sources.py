"""Sources that cannot give their rows again: what a savepoint of a query that reads one cannot do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pipelines.domain.savepoints import QueryImage

UNREPEATABLE: Mapping[str, str] = {
    "socket": "a socket gives no row twice, and Spark does not go on from its offset: the first batch of a fork or a resume fails "
    "(“Offsets committed out of order”)",
    "rate": "the source “rate” follows the clock: a fork or a resume first makes the rows of the time that has passed, in other batches "
    "than the job's (“rate-micro-batch” makes the same ones)",
    "memory": "a stream in the driver's memory ends with its process: a fork or a resume has none of its rows",
}
"""Spark's name of a source -> what it means for whoever goes on from a savepoint."""


def remarks(images: Iterable[QueryImage]) -> tuple[str, ...]:
    """A sentence for each source of each query that cannot give its rows again."""
    return tuple(
        f"Query {image.query}: {UNREPEATABLE[source]}."
        for image in images
        for source in dict.fromkeys(image.sources)
        if source in UNREPEATABLE
    )
