"""What a Delta table still holds of what comes after a place in its log: commits, which its log cleaning takes, and files, which a vacuum
takes once the table has removed them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote, urlsplit

from pipelines.checkpoint import delta_log, delta_reading
from pipelines.checkpoint.delta_log import LogNames
from pipelines.checkpoint.delta_reading import Needed
from pipelines.domain import delta
from pipelines.domain.delta import Position, Removals
from pipelines.domain.errors import Corrupt, NotFound, Unsupported
from pipelines.domain.holdings import MOST_GAPS, Holding, Usable
from pipelines.domain.ids import QueryName
from pipelines.savepoint.held_files import Seen
from pipelines.storage.addresses import open_storage
from pipelines.words import formats

MOST_NAMED = 5
"""Versions that are named; the rest is counted."""


@dataclass(frozen=True)
class Reading:
    """A query's place in a Delta table: where it stands, and where its last batch began, which Spark plans once more."""

    query: QueryName
    source: str
    folder: str
    begin: Position
    at: Position
    removals: str = ""
    """As `QueryImage.removals` has it of this source."""


def holding(place: Reading, seen: Seen) -> Holding:
    """What the table, in a folder of this machine, holds of what comes after the place."""
    answer = partial(Holding, place.query, place.source)
    storage, name = open_storage(place.folder), f"Delta table {place.folder}"
    log = delta_log.names(storage.list(delta_log.FOLDER))
    if log.newest < 0:
        return answer(Usable.NO, f"{name} is gone", unit="versions", has_folder=False)
    try:
        described = delta_reading.described(storage, log)
    except (Corrupt, NotFound, Unsupported) as unreadable:
        return answer(Usable.UNKNOWN, f"the log of {name} cannot be read here: {unreadable.message}")
    try:
        if described.id != place.at.table or place.at.version > log.newest + 1:
            return answer(Usable.NO, f"{name} was made anew: it is not the one that was read", unit="versions")
        needed = delta_reading.needed(storage, log, place.begin, place.at)
    except (Corrupt, NotFound) as unreadable:
        return answer(Usable.NO, f"{name} cannot be read from version {place.begin.version} on: {unreadable.message}", unit="versions")
    if needed.gone:
        return _without_commits(answer, name, log, needed)
    lost = [path for path in needed.files if not seen.is_there(_url(place.folder, path))]
    if lost:
        which = f"{len(lost):,} of the {len(needed.files):,} files that {name} added from version {place.at.version} on"
        return answer(Usable.NO, f"{which} are gone, as by a vacuum", gone=len(lost), gaps=tuple(lost[:MOST_GAPS]))
    until_ms, keeps_ms = min(_ends(log, place, needed, described.configuration), default=(None, None))
    return answer(Usable.YES, _whole(name, place.at, needed), until_ms, keeps_ms, stops=_stops(name, place.removals, needed))


def _without_commits(answer: partial[Holding], name: str, log: LogNames, needed: Needed) -> Holding:
    gone, first = needed.gone, min(log.commits)
    is_one = len(gone) == 1
    named = f"version {gone[0]}" if is_one else f"versions {gone[0]} to {gone[-1]}"
    begins = f", which begins at version {first}" if first > gone[-1] else ""
    why = f"{named} of {name} {'is' if is_one else 'are'} gone from its log{begins}"
    return answer(Usable.NO, why, gone=len(gone), unit="versions", gaps=(named,))


def _ends(log: LogNames, place: Reading, needed: Needed, configuration: Mapping[str, str]) -> Iterator[tuple[int, int]]:
    """When something of it may go at the earliest, and how long the table keeps that kind of thing."""
    log_ms, files_ms = delta.log_kept_ms(configuration), delta.files_kept_ms(configuration)
    first = log.commits.get(place.begin.version)
    if first is not None and log_ms is not None:
        yield first.modified_ms + log_ms, log_ms
    removed = [at_ms for at_ms in needed.files.values() if at_ms is not None]
    if removed and files_ms is not None:
        yield min(removed) + files_ms, files_ms


def _whole(name: str, at: Position, needed: Needed) -> str:
    behind = max(0, needed.newest + 1 - at.version)
    if not needed.files:
        return f"{name} has no rows after version {at.version - 1} yet"
    versions = f"it is {formats.plural(behind, 'version')} behind"
    return f"{name} has all {formats.plural(len(needed.files), 'file')} from version {at.version} on: {versions}"


def _stops(name: str, removals: str, needed: Needed) -> str:
    """What the source fails at by its options, or may fail at where they were not noted; empty where it passes over all of that."""
    if removals in (Removals.SKIP, Removals.IGNORE_CHANGES):
        return ""
    deleting = () if removals == Removals.IGNORE_DELETES else needed.deleting
    kinds = (("delete", deleting), ("rewrite", needed.rewriting))
    changes = " and ".join(f"{_versions(versions)} {what}{'s' if len(versions) == 1 else ''} rows" for what, versions in kinds if versions)
    if not changes:
        return ""
    other = Removals.SKIP if needed.rewriting else f"{Removals.SKIP} or {Removals.IGNORE_DELETES}"
    if not removals:
        return f"of {name} {changes}: a source without {other} fails there, and whether this one has it was not noted"
    return f"of {name} {changes}: its source fails there, unless the code gives it {other}"


def _versions(versions: Sequence[int]) -> str:
    """`version 7`, `versions 7, 9 and 12 more`."""
    named = ", ".join(map(str, versions[:MOST_NAMED]))
    more = f" and {len(versions) - MOST_NAMED:,} more" if len(versions) > MOST_NAMED else ""
    return f"version{'' if len(versions) == 1 else 's'} {named}{more}"


def _url(folder: str, path: str) -> str:
    """A file of the log, where its name is escaped; that of a shallow clone lies elsewhere."""
    is_absolute = urlsplit(path).scheme or path.startswith("/")
    return path if is_absolute else f"file:{quote(folder.rstrip('/'))}/{path}"
