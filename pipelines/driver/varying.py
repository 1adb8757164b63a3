"""What of a query's plan depends on the clock or on chance."""

from __future__ import annotations

import re
from typing import Any

VARIES = re.compile(r"\b(current_timestamp|now|current_date|localtimestamp|rand|randn|uuid|shuffle|monotonically_increasing_id)\(")
PROCESSING_TIME = re.compile(r"\bProcessingTime(Timeout)?\b")


def of_plan(plan: Any) -> tuple[str, ...]:
    """Of an analyzed plan, each once: `rand()`."""
    text = str(plan.toString())
    timers = ("timers of processing time",) if PROCESSING_TIME.search(text) else ()
    return (*dict.fromkeys(f"{match[1]}()" for match in VARIES.finditer(text)), *timers)
