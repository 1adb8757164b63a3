"""What the quantities of a chart are in: how they stand on the axis, on hover, as the last value. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dashboard.drawing.figures import Floats
from pipelines.words import formats


@dataclass(frozen=True)
class Unit:
    """How a quantity is drawn: what it is divided by, its axis, its hover, its last value."""

    scale: float
    axis: Mapping[str, Any]
    hover: str
    text: Callable[[float | None], str]


FEW = ({"dtickrange": [None, 0.999], "value": "~g"}, {"dtickrange": [1, None], "value": "~s"})
"""Half a row a second is 0.5/s: with SI prefixes alone it would be 500m/s."""
ROWS = Unit(1, {"tickformat": "~s"}, "%{y:,.0f}", formats.compact)
RATE = Unit(1, {"tickformat": "~s", "tickformatstops": FEW, "ticksuffix": "/s"}, "%{y:,.1f} rows/s", formats.rate)
BYTES = Unit(1, {"tickformat": "~s", "ticksuffix": "B"}, "%{y:.3s}B", formats.size)


def milliseconds(*columns: Floats) -> Unit:
    """The unit that fits the greatest of these durations in ms: ms, s, min or h."""
    top = max((float(np.nanmax(c)) for c in columns if np.isfinite(c).any()), default=0.0)
    for above, scale, name in ((5_400_000, 3_600_000, "h"), (120_000, 60_000, "min"), (2_000, 1_000, "s")):
        if top >= above:
            return Unit(scale, {"tickformat": "~g", "ticksuffix": f" {name}"}, f"%{{y:.2f}} {name}", formats.duration)
    return Unit(1, {"tickformat": "~g", "ticksuffix": " ms"}, "%{y:.0f} ms", formats.duration)
