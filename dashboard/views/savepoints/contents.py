"""A savepoint's files by what they are for. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.domain.savepoints import StoredFile

KINDS = (
    ("state", "State", "What the stateful operators keep"),
    ("sources", "Source logs", "Which files a file source has read"),
    ("offsets", "Offset log", "What the last two batches planned to read"),
    ("commits", "Commit log", "Which of them were committed"),
    ("sink", "Sink log", "Which files are the output so far"),
    ("table", "Delta table", "The rows of the output so far"),
    ("code", "Code", "The script of this version"),
    ("other", "Other", "Query metadata"),
)
"""Kind, title, what it is for; in the order in which they are listed."""
_LOGS = frozenset({"state", "sources", "offsets", "commits"})


@dataclass(frozen=True)
class FileKind:
    """All files of one kind."""

    title: str
    purpose: str
    files: int
    bytes: int


def by_kind(files: Iterable[StoredFile]) -> list[FileKind]:
    """The files counted and summed by kind; kinds without a file are left out."""
    sums: dict[str, tuple[int, int]] = {}
    for file in files:
        count, size = sums.get(kind_of(file.path), (0, 0))
        sums[kind_of(file.path)] = (count + 1, size + file.bytes)
    return [FileKind(title, purpose, *sums[kind]) for kind, title, purpose in KINDS if kind in sums]


def kind_of(path: str) -> str:
    """The kind of a file at `path` in a savepoint: `code/…`, `queries/<query>/checkpoint/<kind>/…`, `…/sink/…`, `…/table/…`."""
    parts = path.split("/")
    if parts[0] == "code":
        return "code"
    if len(parts) > 2 and parts[0] == "queries" and parts[2] in ("sink", "table"):
        return parts[2]
    if len(parts) > 4 and parts[3] in _LOGS:
        return parts[3]
    return "other"
