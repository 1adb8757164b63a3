"""Gives a fork's query that would write to its parent's Kafka topics topics of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pipelines.domain import kafka
from pipelines.domain.run_specs import RunSpec
from pipelines.driver import intercept, used_topics
from pipelines.driver.intercept import Asked
from pipelines.driver.records import Records


def give_own(spec: RunSpec, records: Records, query: str, writer: Any, request: Asked) -> Asked:
    """Replaces what the writer's option `topic` or, without it, the column `topic` of each row names, where that is one of
    `spec.taken_topics`; answers with what is asked for now.

    The broker makes the topics, or has them; raises Conflict (`sink.taken`) where they have rows of a former job.
    """
    if request.format.lower() != kafka.KAFKA or not spec.taken_topics:
        return request
    topic = request.options.get(kafka.TOPIC, "")
    if not topic:
        used_topics.refuse(spec, records, query, writer, request.options, "")
        intercept.write_instead(writer, lambda frame: _renamed(frame, spec))
        message = (
            f"Each row goes to a topic with {kafka.own_tail(spec.job)!r} behind its name where the job that it was forked from writes."
        )
        records.event("topic.replaced", message, query)
        return request
    if topic not in spec.taken_topics and kafka.BY_ROW not in spec.taken_topics:
        return request
    own = kafka.own_topic(topic, spec.job)
    used_topics.refuse(spec, records, query, writer, request.options, own)
    writer.option(kafka.TOPIC, own)
    records.event("topic.replaced", f"It writes to the topic {own}, not to {topic}, where the job that it was forked from writes.", query)
    return replace(request, options={**request.options, kafka.TOPIC: own})


def _renamed(frame: Any, spec: RunSpec) -> Any:
    """The frame with topics of the fork's own in the column that Kafka's sink reads, if it is there."""
    if kafka.TOPIC not in frame.columns:
        return frame
    from pyspark.sql import functions as f

    tail = kafka.own_tail(spec.job)
    topic = frame[kafka.TOPIC]
    own = f.concat(f.substring(topic, 1, kafka.LONGEST - len(tail)), f.lit(tail))
    is_taken = f.lit(True) if kafka.BY_ROW in spec.taken_topics else topic.isin(*spec.taken_topics)
    return frame.withColumn(kafka.TOPIC, f.when(is_taken, own).otherwise(topic))
