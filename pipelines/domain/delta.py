"""Delta Lake as a source: where a query stands in a table's log, and for how long the table keeps what it has."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.domain.json_text import read_json, whole
from pipelines.domain.moments import DAY_MS, HOUR_MS, MINUTE_MS

DELTA = "delta"
"""Spark's name of the source and of the sink."""
LOG = "_delta_log"
"""The log of a table, in its folder."""
VERSION, INDEX, TABLE, SNAPSHOT = "reservoirVersion", "index", "reservoirId", "isStartingVersion"
LOG_KEPT, LOG_CLEANED, FILES_KEPT = "delta.logRetentionDuration", "delta.enableExpiredLogCleanup", "delta.deletedFileRetentionDuration"
LOG_KEPT_MS, FILES_KEPT_MS = 30 * DAY_MS, 7 * DAY_MS
"""What Delta keeps where the table does not say it (`DeltaConfigs`)."""
_UNITS = {"week": 7 * DAY_MS, "day": DAY_MS, "hour": HOUR_MS, "minute": MINUTE_MS, "second": 1_000, "millisecond": 1}
_PART = re.compile(r"(\d+) +(week|day|hour|minute|second|millisecond)s?")


class Removals(enum.StrEnum):
    """What a Delta source does at a commit that removes rows, by its options (Delta's `DeltaSource.validateCommitAndDecideSkipping`)."""

    FAIL = "fail"
    """Its query ends there."""
    IGNORE_DELETES = "ignoreDeletes"
    """It does at one that rewrites rows, and passes over one that deletes alone."""
    IGNORE_CHANGES = "ignoreChanges"
    """It reads all that was written anew, and passes over the rest."""
    SKIP = "skipChangeCommits"
    """It passes over the whole commit."""
    CHANGES = "readChangeFeed"
    """It reads them as changes, from files that no commit adds."""
    LOSES = "failOnDataLoss"
    """Set to false: it passes over whatever is gone."""


@dataclass(frozen=True)
class Position:
    """A place in a table's log (Delta's `DeltaSourceOffset`): `read` files of `version` are done, and all versions before it.

    `in_snapshot`: the files are all those that the table had at that version, with which a query begins, not those that it added.
    """

    table: str
    """The table's own id: one that was made anew has another."""
    version: int
    read: int = 0
    in_snapshot: bool = False


def position_of(offset: str) -> Position | None:
    """Spark's JSON of a Delta offset as a position; None for any other."""
    try:
        raw = read_json(offset)
        if not isinstance(raw, dict) or not {VERSION, INDEX, TABLE} <= raw.keys():
            return None
        version, index = (whole(raw[name]) for name in (VERSION, INDEX))
    except ValueError:
        return None
    return Position(str(raw[TABLE]), version, max(0, index + 1), raw.get(SNAPSHOT) is True)


def offset_of(place: Position) -> str:
    """The position as Delta writes it."""
    raw = {"sourceVersion": 1, TABLE: place.table, VERSION: place.version, INDEX: place.read - 1, SNAPSHOT: place.in_snapshot}
    return json.dumps(raw, separators=(",", ":"))


def removals(options: Mapping[str, str]) -> Removals:
    """What a source with these options, by their names in lower case, does."""
    given = {name for name, value in options.items() if value.lower() == "true"}
    if options.get("failondataloss", "true").lower() != "true":
        return Removals.LOSES
    if given & {"readchangefeed", "readchangedata"}:
        return Removals.CHANGES
    if "skipchangecommits" in given:
        return Removals.SKIP
    if given & {"ignorechanges", "ignorefiledeletion"}:
        return Removals.IGNORE_CHANGES
    return Removals.IGNORE_DELETES if "ignoredeletes" in given else Removals.FAIL


def log_kept_ms(configuration: Mapping[str, str]) -> int | None:
    """How long a table keeps the commits of its log; None for ever, or where its own word for it is not understood."""
    if configuration.get(LOG_CLEANED, "true").lower() == "false":
        return None
    return _interval_ms(configuration[LOG_KEPT]) if LOG_KEPT in configuration else LOG_KEPT_MS


def files_kept_ms(configuration: Mapping[str, str]) -> int | None:
    """How long a vacuum leaves a file that the table has removed."""
    return _interval_ms(configuration[FILES_KEPT]) if FILES_KEPT in configuration else FILES_KEPT_MS


def _interval_ms(text: str) -> int | None:
    """`interval 1 week 2 days`; Delta takes no months here. None for anything else."""
    words = text.strip().lower().removeprefix("interval").strip()
    parts = _PART.findall(words)
    return sum(int(count) * _UNITS[unit] for count, unit in parts) if parts and not _PART.sub("", words).strip() else None
