"""What savepoints take on disk: each by itself, and all together. Hard links make the two different."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.ids import SavepointId


@dataclass(frozen=True)
class SavepointSpace:
    """One savepoint: `bytes` is its full size, `frees_bytes` what disposing of it alone would give back."""

    savepoint: SavepointId
    bytes: int
    frees_bytes: int

    @property
    def shared_bytes(self) -> int:
        """Bytes that other savepoints or the live checkpoint hold too."""
        return self.bytes - self.frees_bytes


@dataclass(frozen=True)
class Space:
    """All savepoints of a workspace (or of one job)."""

    savepoints: tuple[SavepointSpace, ...]
    """Newest first."""
    full_bytes: int
    """The sum of the full sizes: what separate copies would take."""
    disk_bytes: int
    """What they take together: each byte counted once."""
    frees_bytes: int
    """What disposing of all of them would give back: what no live checkpoint holds too."""
    shared_bytes: int
    """What more than one of them hold."""
