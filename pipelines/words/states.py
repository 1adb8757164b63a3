"""Values of state in words."""

from __future__ import annotations

from datetime import UTC, tzinfo

from pipelines.domain.states import DATE, MOMENT, StateColumn
from pipelines.words import formats


def moment(at_ms: float, column: StateColumn, zone: tzinfo | None) -> str:
    """A value of a column of times: a day as `2026-01-01`, a time without a zone as it is on its wall, any other in `zone`."""
    if column.type == MOMENT:
        return formats.precise(at_ms, zone)
    local = formats.precise(at_ms, UTC).removesuffix(" UTC")
    return local.removesuffix(" 00:00:00") if column.type == DATE else local
