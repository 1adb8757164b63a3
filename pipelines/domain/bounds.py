"""Bounds of the numbers in documents: whoever wrote one, the catalog can keep each number and a page can draw it.

They stand on the fields, and the reader of documents (`pipelines.storage.documents`) holds them; REST describes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

LATEST_MS = 253_402_214_399_999
"""The last moment of 9999-12-30 in UTC: Python's calendar has a day for it in every zone."""
MOST = 2**53 - 1
"""The greatest whole number that every JSON reader keeps exactly (RFC 8259, section 6)."""


@dataclass(frozen=True)
class Between:
    """A number from `least` to `most`, both included: no truth, no text, no NaN."""

    least: float
    most: float

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """How pydantic, which reads the documents, asks an annotation for what it means."""
        return {**handler(source), "ge": self.least, "le": self.most, "strict": True}


Moment = Annotated[int, Between(0, LATEST_MS)]
"""Epoch ms of a clock of ours."""
Count = Annotated[int, Between(0, MOST)]
"""How many, how much, or which: bytes, rows, batches."""
Batch = Annotated[int, Between(-1, MOST)]
"""A batch of a query, or -1 for one that has committed none."""
Long = Annotated[int, Between(-(2**63), 2**63 - 1)]
"""Whatever Spark may say: a `Long` of its own."""
Pid = Annotated[int, Between(1, 2**31 - 1)]
"""A process of this machine; 0 and below would be groups of them."""
Format = Annotated[int, Between(1, 2**31 - 1)]
"""The version of a document's format."""
Took = Annotated[float, Between(0, MOST)]
"""How long something took, in ms; or seconds since the epoch."""
Rate = Annotated[float, Between(-1e300, 1e300)]
"""A number that need not be whole."""
