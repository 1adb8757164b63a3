"""A Delta source that goes on at another version: the offsets of its last two batches say where it stands, and it reads what the log has
from there on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from pipelines.checkpoint import delta_log, delta_reading
from pipelines.checkpoint.delta_log import LogNames
from pipelines.domain import delta
from pipelines.domain.delta import Position
from pipelines.domain.errors import Corrupt, Invalid, NotFound, Unsupported
from pipelines.domain.json_text import read_json
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage

HINT = 'Write latest, earliest, a time, or {"version":17}: it goes on with the files that this version added.'
AT = "inCommitTimestamp"
"""When a version was made, of a table that writes that down; of any other its commit's file says it, as in Delta's time travel."""


@dataclass(frozen=True)
class Table:
    """A table as its log is now."""

    storage: Storage
    log: LogNames


def table(folder: str, before: Position) -> Table:
    """The table in `folder`; Unsupported (`offsets.table`) where none that the query read is there, or where it cannot be looked at."""
    if not folder.startswith("/"):
        raise _refuse(f"it is not in a folder of this machine ({folder or 'not noted'})")
    storage = open_storage(folder)
    log = delta_log.names(storage.list(delta_log.FOLDER))
    if log.newest < 0:
        raise _refuse(f"there is none in {folder}")
    if delta_reading.described(storage, log).id != before.table:
        raise _refuse(f"that in {folder} was made anew")
    return Table(storage, log)


def _refuse(why: str) -> Unsupported:
    return Unsupported("offsets.table", f"The source's Delta table cannot be looked at: {why}", "Begin the script anew.")


def asked(there: Table, before: Position, text: str) -> Position:
    """The position that `text` means, `{"version":17}` or a whole offset of Delta's; Invalid (`offsets.position`) for none, and for one
    that the log does not have."""
    at = delta.position_of(text) or _version(before, text)
    first, newest = _first(there.log), there.log.newest
    if at is None or at.table != before.table:
        raise Invalid("offsets.position", f"{text[:80]} is no place in this Delta table", HINT)
    if not at.in_snapshot and not first <= at.version <= newest + 1:
        raise Invalid("offsets.position", f"The table's log has versions {first} to {newest}, not {at.version}", HINT)
    return at


def since(there: Table, before: Position, at_ms: float) -> Position:
    """Before the first version that was made at that time (epoch ms) or later; behind all where none was."""
    later = (version for version in range(_first(there.log), there.log.newest + 1) if at_ms < 0 or _made_ms(there, version) >= at_ms)
    version = there.log.newest + 1 if at_ms == math.inf else next(later, there.log.newest + 1)
    return replace(before, version=version, read=0, in_snapshot=False)


def distance(there: Table, before: Position, after: Position) -> tuple[list[str], list[str]] | None:
    """Files that are skipped and files that are read again, oldest first; None where nobody can tell, as commits in between are gone."""
    stood, goes = (_files(there, at) for at in (before, after))
    if stood is None or goes is None:
        return None
    return [path for path in stood if path not in goes], [path for path in goes if path not in stood]


def _files(there: Table, at: Position) -> dict[str, int | None] | None:
    """What is read from `at` on; None where that is gone."""
    try:
        needed = delta_reading.needed(there.storage, there.log, at, at)
    except (Corrupt, NotFound):
        return None
    return None if needed.gone else dict(needed.files)


def _version(before: Position, text: str) -> Position | None:
    try:
        raw = read_json(text)
    except ValueError:
        return None
    version = raw.get("version") if isinstance(raw, dict) and raw.keys() == {"version"} else None
    return replace(before, version=version, read=0, in_snapshot=False) if type(version) is int else None


def _first(log: LogNames) -> int:
    """The oldest version from which on the log has every commit."""
    first = log.newest
    while first - 1 in log.commits:
        first -= 1
    return first


def _made_ms(there: Table, version: int) -> int:
    """When a version was made."""
    entry = there.log.commits[version]
    for action in delta_log.actions(there.storage, entry.path):
        if (info := action.get("commitInfo")) and type(info.get(AT)) is int:
            return int(info[AT])
    return entry.modified_ms
