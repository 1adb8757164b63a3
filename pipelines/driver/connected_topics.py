"""Which topics have rows, as the Kafka connector of a Connect server reads them: a client reaches no other of its classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pipelines.domain.errors import Unavailable
from pipelines.domain.kafka_sign_ins import PREFIX
from pipelines.domain.texts import first_line


def rows(writer: Any, options: Mapping[str, str], own: str, tail: str, seen: Iterable[str]) -> dict[str, str]:
    """The topic `own` if it has rows; without one the first but those `seen` whose name is another topic's with the tail behind it, if both
    have rows. With how many, in words: no more than the first row is read. Raises Unavailable where the server cannot tell."""
    from pyspark.errors import PySparkException

    given = {name: value for name, value in options.items() if name.startswith(PREFIX)}
    reader = writer._session.read.format("kafka").options(**given)
    try:
        topic = _first(reader, re.escape(own)) if own else _of_another(reader, tail, list(seen))
    except PySparkException as error:
        raise Unavailable("topic.unknown", first_line(error)) from error
    return {topic: "at least 1"} if topic else {}


def _of_another(reader: Any, tail: str, passed: list[str]) -> str:
    while topic := _first(reader, "".join(f"(?!{re.escape(name)}$)" for name in passed) + f".*{re.escape(tail)}"):
        if _first(reader, re.escape(topic.removesuffix(tail))):
            return topic
        passed.append(topic)
    return ""


def _first(reader: Any, pattern: str) -> str:
    """A topic with rows that the pattern means; empty where none has, or none is there."""
    found = reader.option("subscribePattern", pattern).load().select("topic").limit(1).collect()
    return str(found[0].topic) if found else ""
