"""Copies that something else makes, so that no byte of them passes through this process: a job on the storage's own cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pipelines.storage.protocol import Advance, Clone, Storage


@dataclass(frozen=True)
class Move:
    """One file by its URLs; the folder of `target` is there."""

    source: str
    target: str
    bytes: int


class Carrier(Protocol):
    """What copies files of one storage."""

    @property
    def least_bytes(self) -> int:
        """So many bytes are worth its start."""
        ...

    def carry(self, moves: Sequence[Move], advance: Advance) -> None:
        """Copies each file, whole, and compares both by the storage's own checksums. A vanished source raises NotFound
        (`storage.not_found`); of what raises, or is ended, nothing goes on to write where the folders were removed."""
        ...


@runtime_checkable
class Carries(Protocol):
    """A storage that may have a carrier."""

    def carried_bytes(self, source: Storage) -> int | None:
        """From how many bytes on files of `source` are carried here; None where they are not."""
        ...

    def carry(self, files: Sequence[tuple[Storage, Clone]], advance: Advance) -> None:
        """Has the carrier copy each file from its storage; raises what that raises."""
        ...
