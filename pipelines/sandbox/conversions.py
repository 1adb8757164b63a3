"""Requests to the sandbox to write the state of checkpoints anew in another store: plain data, as JSON; answered as a rewriting is.

The folder of a task: `conversion.json` (a `ConversionTask`) is there before the start; else as of a rewriting.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pipelines.domain.conversions import Shape
from pipelines.sandbox.counts import Store

CONVERSION_FILE = "conversion.json"
CANNOT_CONVERT = "CannotConvert"
"""The error class of a Spark whose writer of state is not the one that is known."""
MISSING = "Missing"
"""The error class of a file of state that is not there, or ends early."""


@dataclass(frozen=True)
class ConversionTask:
    """Write the state of `stores`, which is in the HDFS-backed one, anew in RocksDB, with a Spark on `master` that has the confs of the
    job. All stores of a checkpoint go together."""

    format: int
    app: str
    master: str
    conf: Mapping[str, str]
    stores: tuple[Store, ...]
    """Each at the last batch of its checkpoint."""
    shapes: tuple[Shape, ...]
    """One for each store."""

    def write(self, folder: Path) -> None:
        (folder / CONVERSION_FILE).write_text(json.dumps(asdict(self)))

    @staticmethod
    def read(folder: Path) -> ConversionTask:
        raw = json.loads((folder / CONVERSION_FILE).read_text())
        stores, shapes = (Store(**store) for store in raw["stores"]), (Shape(**shape) for shape in raw["shapes"])
        return ConversionTask(**{**raw, "stores": tuple(stores), "shapes": tuple(shapes)})
