"""Deletes from the content store of a home what no savepoint needs, while others take and dispose of savepoints there.

No decision depends on a clock, on an age, or on whether a process lives. Who takes a savepoint writes its claim, then asks what is
condemned, then which objects there are. Who collects writes what it condemns, then asks for claims, then for manifests. So one of both
sees the other; and since no name is used twice, what was condemned once cannot come back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from pipelines.domain.errors import Corrupt, NotFound
from pipelines.domain.ids import SavepointId
from pipelines.savepoint import layout, objects
from pipelines.savepoint.objects import Condemned
from pipelines.storage import documents, folders, parallel
from pipelines.storage.protocol import Storage

READS = 16


@dataclass
class Needs:
    """Who needs objects of a home. A manifest never changes, so each is read once, also for many collections; one whose savepoint is just
    going counts as needing."""

    home: Storage
    _named: dict[SavepointId, frozenset[str]] = field(default_factory=dict)

    def counted(self, names: Iterable[str]) -> Mapping[str, int]:
        """How many savepoints need each of `names`, those in the making too: claims are asked for first, since whoever takes a claim
        away has published. Raises Corrupt where a claim or a manifest cannot be read."""
        claimed = objects.claimed(self.home)
        listed = [SavepointId(name) for name in folders.children(self.home) if name.startswith(layout.SAVEPOINT_PREFIX)]
        self._named = {savepoint: self._named[savepoint] for savepoint in listed if savepoint in self._named}
        parallel.each(self._read, [savepoint for savepoint in listed if savepoint not in self._named], READS, brief=True)
        counts = Counter(name for savepoint in listed for name in self._named.get(savepoint, ()))
        return {name: counts[name] + (objects.key_of(name) in claimed) for name in names}

    def _read(self, savepoint: SavepointId) -> None:
        """Of one that is not published yet the claim says what it needs, now; the next time it may be published."""
        with suppress(NotFound):
            self._named[savepoint] = frozenset(objects.named(self.home, savepoint).values())

    def unneeded(self, names: Iterable[str]) -> list[str]:
        return sorted(name for name, count in self.counted(names).items() if not count)


def collect(home: Storage, needs: Needs | None = None) -> None:
    """Deletes every object that nobody needs; none while a claim or a manifest there cannot be read, which may name any of them. `needs`
    has read manifests of this home before.

    The order of the steps is the correctness. A crash after any of them leaves what the next collection deletes.

    1. what is condemned already, by another collection or one that died;
    2. the objects that are there, and which of them nobody needs;
    3. condemn those;
    4. look once more who needs them, and delete the others;
    5. take the list away, and each older one of which nothing is left: who wrote that one may still delete the rest.
    """
    try:
        old, needs = objects.condemned(home), needs or Needs(home)  # 1
        there = objects.sizes(home).keys()
        unneeded = needs.unneeded(there)  # 2
        done = [path for path, names in old.items() if names.isdisjoint(there)]
        if unneeded:
            own = objects.condemned_file()
            home.write(own, documents.encode(Condemned(objects.FORMAT, tuple(unneeded))))  # 3
            deleted = frozenset(needs.unneeded(unneeded))
            home.delete([objects.path(name) for name in sorted(deleted)])  # 4
            done = [own, *(path for path, names in old.items() if names.isdisjoint(there - deleted))]
    except Corrupt:
        return
    home.delete(done)  # 5
