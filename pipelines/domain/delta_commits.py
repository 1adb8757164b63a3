"""One commit of a Delta table's log that makes the table what an image of it is (Delta's PROTOCOL.md): pure, of actions as read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Action = Mapping[str, Any]
WRITER_VERSION = 6
FEATURES = frozenset(
    {
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "columnMapping",
        "deletionVectors",
        "generatedColumns",
        "invariants",
        "timestampNtz",
        "variantShredding",
        "variantShredding-preview",
        "variantType",
        "variantType-preview",
    }
)
"""Of writers: those that ask nothing of a commit that adds and removes whole files."""
APPEND_ONLY = "delta.appendOnly"
PARSED = ("stats_parsed", "partitionValues_parsed")
"""What a checkpoint has of a file besides its action."""
BACK_FORMAT = 1


@dataclass(frozen=True)
class Back:
    """What a table goes back to: `batch` of the query is the last that it has. None but that query may have changed rows of the table since
    its version `since`; `version` is the image's own, for the table's history."""

    format: int
    query_id: str
    batch: int
    since: int
    version: int
    folder: str = ""
    """Of a table that becomes another one, its variant's: where it must be. Empty for one that goes back to what it was itself."""


@dataclass
class Table:
    """A version of a table, of all that was written up to it."""

    files: dict[tuple[str, str], Action] = field(default_factory=dict)
    """(path, deletion vector) -> the action that added it."""
    metadata: Action = field(default_factory=dict)
    protocol: Action = field(default_factory=dict)
    transactions: dict[str, int] = field(default_factory=dict)


def replayed(actions: Iterable[Action]) -> Table:
    """The table that these actions, oldest first, make."""
    table = Table()
    for action in actions:
        if added := action.get("add"):
            table.files[_key(added)] = {name: value for name, value in added.items() if name not in PARSED}
        if removed := action.get("remove"):
            table.files.pop(_key(removed), None)
        if transaction := action.get("txn"):
            table.transactions[transaction["appId"]] = transaction["version"]
        table.metadata = action.get("metaData") or table.metadata
        table.protocol = action.get("protocol") or table.protocol
    return table


def is_of_others(commit: Iterable[Action], query_id: str) -> bool:
    """Whether a commit changed rows, and is none of the query's."""
    actions = list(commit)
    own = any((action.get("txn") or {}).get("appId") == query_id for action in actions)
    changes = (action.get(kind) for action in actions for kind in ("add", "remove", "cdc"))
    return not own and any(change.get("dataChange") is not False for change in changes if change)


def hindrance(now: Table, image: Table) -> str:
    """Why no commit of ours can make `now` what `image` is; empty where one can."""
    if now.metadata.get("id") != image.metadata.get("id"):
        return "another table is there"
    if dict(now.metadata.get("configuration") or {}).get(APPEND_ONLY, "false").lower() == "true":
        return f"nothing may be removed from it ({APPEND_ONLY})"
    unknown = sorted(set(now.protocol.get("writerFeatures") or ()) - FEATURES)
    version = now.protocol.get("minWriterVersion", 0)
    if unknown or (version > WRITER_VERSION and "writerFeatures" not in now.protocol):
        return f"it asks its writers for {', '.join(unknown) or f'version {version}'}, which Tidemark does not know"
    if not _covers(now.protocol, image.protocol):
        return "its protocol has other features than that of the image"
    return ""


def is_there(now: Table, image: Table, back: Back) -> bool:
    """Whether the table is so already; also where the query has written nothing to it since, whatever others did."""
    if back.folder:
        return now.transactions.get(back.query_id, -1) == back.batch and now.files.keys() == image.files.keys()
    return now.transactions.get(back.query_id, -1) in (image.transactions.get(back.query_id, -1), back.batch)


def commit(now: Table, image: Table, back: Back, now_ms: int) -> list[Action]:
    """The actions of the commit. In it the query's newest batch is `back.batch`, which may be lower than before: the last word counts."""
    transaction = {"appId": back.query_id, "version": back.batch, "lastUpdated": now_ms}
    return [
        _information(back, now_ms),
        {"txn": transaction},
        *([{"metaData": image.metadata}] if image.metadata != now.metadata else []),
        *({"remove": _removal(now.files[key], now_ms)} for key in sorted(now.files.keys() - image.files.keys())),
        *({"add": {**image.files[key], "dataChange": True}} for key in sorted(image.files.keys() - now.files.keys())),
    ]


def added_paths(now: Table, image: Table) -> Iterator[str]:
    """Files of the image that the table has not, as in the log."""
    return (path for path, _ in sorted(image.files.keys() - now.files.keys()))


def _information(back: Back, now_ms: int) -> Action:
    arguments = {"version": back.version, "timestamp": None}
    return {
        "commitInfo": {
            "timestamp": now_ms, "operation": "RESTORE", "operationParameters": arguments, "isBlindAppend": False, "engineInfo": "Tidemark",
        }
    }  # fmt: skip


def _removal(added: Action, now_ms: int) -> Action:
    kept = {name: added[name] for name in ("path", "partitionValues", "size", "deletionVector") if name in added}
    return {**kept, "deletionTimestamp": now_ms, "dataChange": True, "extendedFileMetadata": True}


def _covers(now: Action, image: Action) -> bool:
    """Whether all that the image asks for is asked for already."""
    features = all(set(image.get(name) or ()) <= set(now.get(name) or ()) for name in ("readerFeatures", "writerFeatures"))
    return features and all(image.get(name, 0) <= now.get(name, 0) for name in ("minReaderVersion", "minWriterVersion"))


def _key(action: Action) -> tuple[str, str]:
    vector = action.get("deletionVector")
    return action["path"], json.dumps(vector, sort_keys=True) if vector else ""
