"""An Iceberg source that goes on at another snapshot: the offset of its last batch is all that says where it stands."""

from __future__ import annotations

from pipelines.checkpoint import iceberg_metadata
from pipelines.domain import iceberg_offsets
from pipelines.domain.errors import Invalid, Unsupported
from pipelines.domain.iceberg import Table
from pipelines.domain.iceberg_offsets import POSITION, SNAPSHOT, Position
from pipelines.domain.json_text import read_json
from pipelines.storage.addresses import open_storage

HINT = 'Write latest, earliest, a time, or {"snapshot_id":17}: it goes on with the files that this snapshot added.'


def table(folder: str) -> Table:
    """The table in `folder` as it is now; Unsupported (`offsets.table`) where that is not known, or none is there, Corrupt and Unsupported
    as `iceberg_metadata.read` raises them."""
    there = iceberg_metadata.read(open_storage(folder)) if folder.startswith("/") else None
    if there is None:
        why = f"there is none in {folder}" if folder.startswith("/") else f"it is not in a folder of this machine ({folder or 'not noted'})"
        raise Unsupported("offsets.table", f"The source's Iceberg table cannot be looked at: {why}", "Begin the script anew.")
    return there


def asked(there: Table, text: str) -> Position:
    """The position that `text` means, `{"snapshot_id":17}` or a whole offset of Iceberg's; Invalid (`offsets.position`) for none, and for
    one from which the source cannot go on."""
    try:
        raw = read_json(text)
    except ValueError:
        raw = None
    snapshot, read = (raw.get(SNAPSHOT), raw.get(POSITION, 0)) if isinstance(raw, dict) else (None, None)
    if type(snapshot) is not int or type(read) is not int:
        raise Invalid("offsets.position", f"{text[:80]} is no place in an Iceberg table", HINT)
    at = Position(snapshot, max(0, read))
    why = iceberg_offsets.way(there, at).why
    if why:
        raise Invalid("offsets.position", f"The source cannot go on from there: {why}", HINT)
    return at
