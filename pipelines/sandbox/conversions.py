"""Requests to the sandbox to write the state of checkpoints anew in another store: plain data, as JSON; answered as a rewriting is.

The folder of a task: `conversion.json` (a `ConversionTask`) is there before the start; else as of a rewriting.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.conversions import Shape
from pipelines.sandbox.counts import Store, Task

CANNOT_CONVERT = "CannotConvert"
"""The error class of a Spark whose writer of state is not the one that is known."""
MISSING = "Missing"
"""The error class of a file of state that is not there, or ends early."""


@dataclass(frozen=True)
class ConversionTask(Task):
    """Write the state of `stores`, which is in the HDFS-backed one, anew in RocksDB. All stores of a checkpoint go together."""

    FILE = "conversion.json"
    stores: tuple[Store, ...]
    """Each at the last batch of its checkpoint."""
    shapes: tuple[Shape, ...]
    """One for each store."""
