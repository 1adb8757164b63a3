"""Sinks in words."""

from __future__ import annotations

AT_LEAST_ONCE = (
    "Spark writes to Kafka at least once: after a failure rows of one batch may be there twice, so compare topics without their duplicates."
)
