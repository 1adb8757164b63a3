"""Messages of plans for sinks without a log that a savepoint could carry: Spark's format -> what to expect of it."""

from __future__ import annotations

from pipelines.domain.placeholders import JOB, OUTPUT
from pipelines.words.sinks import AT_LEAST_ONCE

OWN_TOPICS = (
    "Whatever topic its code or its rows name, the fork writes to one of its own, with its name behind a dot, which the broker makes or "
    f"has. {AT_LEAST_ONCE}"
)
EVERY_SINK_TO_FORK = {
    "memory": "Kept in the driver's memory: whole again after the fork's first batch in complete mode; in any other mode Spark refuses "
    "to start on a checkpoint that has run already.",
    "console": "Printed to the driver's log; nothing to carry.",
    "noop": "Writes nowhere; nothing to carry.",
    "foreach": "Your code writes row by row: make sure that the fork's writes go to a place of their own.",
    "foreachBatch": "Your code decides where it writes. The fork has a new query id, so a writer that remembers (query id, batch id) "
    "writes anew; one that remembers the batch id alone would skip the fork's batches.",
}
EVERY_SINK_TO_RESUME = {
    "memory": "Kept in the driver's memory: whole again after the first batch in complete mode; in any other mode Spark refuses to start "
    "on a checkpoint that has run already.",
    "console": "Printed to the driver's log; nothing to carry.",
    "noop": "Writes nowhere; nothing to carry.",
    "foreach": "Batches after the savepoint are done again, and your code writes their rows a second time unless it recognizes them.",
    "foreachBatch": "Batches after the savepoint are done again with the same query id and batch ids: a writer that remembers them "
    "skips what it wrote already, any other writes those rows a second time.",
    "kafka": "Batches after the savepoint are done again, and their rows go to the topic a second time: Kafka remembers no batches. "
    f"{AT_LEAST_ONCE}",
}
NO_PLACE = (
    f"No argument gives it a place of its own: {OUTPUT} becomes the fork's own directory, where relative paths are, {JOB} its name, "
    "as for a schema."
)
UNKNOWN_TO_FORK = "Tidemark does not know this sink: make sure that the fork writes to a place of its own."
UNKNOWN_TO_RESUME = "Tidemark does not know this sink: batches after the savepoint are written again."


def own_topic(topic: str) -> str:
    """What becomes of the parent's topic."""
    return (
        f"Where it would write to its parent's topic {topic}, the fork writes to a topic of its own, with its name behind a dot, which the "
        f"broker makes or has. {AT_LEAST_ONCE}"
    )
