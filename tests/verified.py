"""A savepoint's files checked in this process, as a worker does it, and the outcome recorded, as the workspace does it."""

from __future__ import annotations

from pipelines.domain.ids import SavepointId
from pipelines.domain.trust import Trust, Verification
from pipelines.savepoint import verify
from pipelines.storage.protocol import Advance, Storage, unwatched


def verified(library: Storage, savepoint: SavepointId, level: Trust, now_ms: int, advance: Advance = unwatched) -> Verification:
    """Raises what `verify.check` and `verify.record` raise."""
    return verify.record(library, verify.check(library, savepoint, level, now_ms, advance))
