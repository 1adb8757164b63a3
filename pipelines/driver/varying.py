"""What of a query's plan depends on the clock or on chance."""

from __future__ import annotations

import re
from typing import Any

VARIES = re.compile(
    r"\b(current_timestamp|now|current_date|current_time|localtimestamp|rand|randn|randstr|uniform|uuid|shuffle|monotonically_increasing_id"
    r"|spark_partition_id|SPARK_PARTITION_ID)\("
)
SAMPLE = re.compile(r"\bSample [\d.]+, [\d.]+,")
"""A part of all rows, by chance."""
PROCESSING_TIME = re.compile(r"\bProcessingTime(Timeout)?\b")


def of_plan(plan: Any) -> tuple[str, ...]:
    """Of an analyzed plan, each once: `rand()`."""
    text = str(plan.toString())
    samples = ("sample()",) if SAMPLE.search(text) else ()
    timers = ("timers of processing time",) if PROCESSING_TIME.search(text) else ()
    return (*dict.fromkeys(f"{match[1].lower()}()" for match in VARIES.finditer(text)), *samples, *timers)
