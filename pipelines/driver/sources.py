"""Gets a checkpoint's file sources ready: files that a killed batch had noted, but not planned, are taken back out of their logs.

A file source notes what the next batch reads in `sources/<source>` before the batch is planned in `offsets/`. After a kill between
the two Spark puts those files and the ones that came since into one batch. Other batch boundaries make other rows late, so rows
would differ from those of a run that was never killed. Without the note Spark finds the files again, and plans them as it would have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pipelines.driver.records import Records
from pipelines.driver.sinklog import batch_files, checksum, newest
from pipelines.hadoop.paths import Place

VOID = "-"
NOTHING = -1
"""The offset of a file source before its first entry."""


def mend(records: Records, query: str, checkpoint: Place) -> bool:
    """Cuts the log of each file source back to what the newest batch planned; done again after a crash it ends the same. Whether that batch
    is not committed yet."""
    planned = newest(checkpoint / "offsets")
    ends = planned_ends(checkpoint, planned)
    logs = checkpoint / "sources"
    folders: list[Place] = [*logs.iterdir()] if logs.is_dir() else []
    for log in sorted(folders, key=str):
        end = ends.get(log.name) if planned >= 0 else _first_end(log)
        if end is not None:
            _mend(records, query, log, end)
    return planned > newest(checkpoint / "commits")


def planned_ends(checkpoint: Place, planned: int) -> Mapping[str, int]:
    """Source -> the newest entry of its log that batch `planned` covers, for the sources that are files (FileStreamSourceOffset)."""
    if planned < 0:
        return {}
    version, _, *offsets = (checkpoint / "offsets" / str(planned)).read_text().splitlines()
    pairs = (line.partition(":")[::2] for line in offsets) if version != "v1" else enumerate(offsets)
    ends = {str(source): _end(checkpoint / "sources" / str(source), offset) for source, offset in pairs}
    return {source: end for source, end in ends.items() if end is not None}


def _end(log: Place, offset: str) -> int | None:
    if offset == VOID:
        return _first_end(log)
    raw = json.loads(offset)
    covered = raw.get("logOffset") if isinstance(raw, dict) and raw.keys() == {"logOffset"} else None
    return covered if isinstance(covered, int) else None


def _first_end(log: Place) -> int | None:
    """The end of a source without a planned batch: only its log's content shows that it is a file source."""
    first = next((path for paths in batch_files(log).values() for path in paths), None)
    return NOTHING if first is not None and _notes_files(first) else None


def _notes_files(entry: Place) -> bool:
    lines = entry.read_bytes().decode(errors="replace").splitlines()
    try:
        raw = json.loads(lines[1]) if len(lines) > 1 else None
    except ValueError:
        return False
    return isinstance(raw, dict) and {"path", "timestamp", "batchId"} <= raw.keys()


def _mend(records: Records, query: str, log: Place, end: int) -> None:
    files = batch_files(log)
    ahead = sorted(batch for batch in files if batch > end)
    if not ahead:
        return
    if not _whole({batch: paths for batch, paths in files.items() if batch <= end}, end):
        message = f"{log} holds files up to entry {ahead[-1]}, and only {end} is planned: the next batch reads all of them at once."
        records.event("source.ahead", message, query)
        return
    for path in (path for batch in reversed(ahead) for path in files[batch]):
        checksum(path).unlink(missing_ok=True)
        path.unlink()
    message = f"Files of entry {ahead} were noted in {log} but not planned: the note was removed, batches keep their boundaries."
    records.event("source.mended", message, query)


def _whole(files: Mapping[int, list[Place]], end: int) -> bool:
    """Whether `files` hold every entry up to `end`: the newest compact one and all after it."""
    compact = max((batch for batch, paths in files.items() if any(path.name.endswith(".compact") for path in paths)), default=NOTHING)
    return all(batch in files for batch in range(compact + 1, end + 1))
