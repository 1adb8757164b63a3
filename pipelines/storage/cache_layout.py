"""Where caches are in a workspace: what is in them can be made again, and anybody may delete it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipelines.domain.ids import SavepointId


@dataclass(frozen=True)
class CacheLayout:
    """The paths of one workspace's caches, `root` being absolute."""

    root: Path

    @property
    def readings(self) -> Path:
        """State that was read of savepoints, a folder a savepoint: a cache, which anybody may delete."""
        return self.root / "cache" / "states"

    def readings_of(self, savepoint: SavepointId) -> Path:
        return self.readings / savepoint

    def reading(self, savepoint: SavepointId, reading: str) -> Path:
        return self.readings_of(savepoint) / reading

    @property
    def state_differences(self) -> Path:
        """Differences of state, a folder each: a cache, which anybody may delete."""
        return self.root / "cache" / "state-differences"

    def state_difference(self, difference: str) -> Path:
        return self.state_differences / difference

    @property
    def verdicts(self) -> Path:
        """Verdicts that were found: a cache, which anybody may delete."""
        return self.root / "cache" / "verdicts"

    def verdict(self, key: str) -> Path:
        return self.verdicts / f"{key}.json"

    @property
    def environments(self) -> Path:
        """Environments made of requirements, shared by versions: a cache, which anybody may delete while no job runs."""
        return self.root / "cache" / "environments"

    def environment(self, key: str) -> Path:
        return self.environments / key
