"""`connectors`: which systems a runtime can read and write, before a job needs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.connectors import Connectors
from pipelines.domain.errors import Invalid, Unavailable
from pipelines.verbs.reads import Reads
from pipelines.verbs.revision import AGAIN, JAVA
from pipelines.verbs.verb import Http, Question, option


@dataclass(frozen=True)
class ShowConnectors(Question[Connectors]):
    """Show what a runtime needs for Kafka, Delta Lake and Iceberg. A connector whose jar it has, or a conf names, is loaded in a JVM of the
    runtime, which finds jars that are missing or are for another Spark."""

    python: str = option("Interpreter whose PySpark is asked; Tidemark's own if not given.", "", flag="--runtime", metavar="PYTHON")
    java_home: str = option(f"{JAVA}.", "", metavar="DIR")
    conf: Mapping[str, str] = option(f"A Spark conf that a job will have; {AGAIN}.", factory=dict, metavar="KEY=VALUE", reads=Reads.PAIRS)

    call, topic = "connectors", "system"
    role = Role.AUTHOR
    http = Http("POST", "/connectors")
    command = "connectors"
    refuses = (Invalid, Unavailable)
