"""Gives a fork's query that would write to its parent's Kafka topic a topic of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pipelines.domain import kafka
from pipelines.domain.run_specs import RunSpec
from pipelines.driver.intercept import Asked
from pipelines.driver.records import Records


def give_own(spec: RunSpec, records: Records, query: str, writer: Any, request: Asked) -> Asked:
    """Replaces the option `topic` of the writer where it is one of `spec.taken_topics`; answers with what is asked for now.

    The broker makes the topic, or has it.
    """
    topic = request.options.get(kafka.TOPIC, "")
    if request.format.lower() != kafka.KAFKA or topic not in spec.taken_topics:
        return request
    own = kafka.own_topic(topic, spec.job)
    writer.option(kafka.TOPIC, own)
    records.event("topic.replaced", f"It writes to the topic {own}: the job that it was forked from writes to {topic}.", query)
    return replace(request, options={**request.options, kafka.TOPIC: own})
