"""The connectors of a runtime as text."""

from __future__ import annotations

from pipelines.cli import output
from pipelines.cli.descriptions import describes
from pipelines.domain.connectors import Connectors
from pipelines.words.connectors import need


@describes(Connectors)
def connectors_text(shown: Connectors, now_ms: int) -> str:
    """The runtime, and a line for each system."""
    spark = f"{shown.spark_version}, {shown.python}"
    return output.details([("Spark", spark), *((each.system, need(each)) for each in shown.connectors)])
