"""How the words of a command become the value of a declared field, and which kind of text such a field holds."""

from __future__ import annotations

import enum

from pipelines.domain import texts


class Reads(enum.StrEnum):
    """How the words of a command become a field's value."""

    TEXT = "text"
    MOMENT = "moment"
    """`2027-01-15T08:00`, `08:00:30` (today) or `-10m` as epoch ms."""
    LAST_DAY = "last day"
    """`2027-03-31` or `+30d` as the last ms of that day, `none` as 0."""
    DURATION = "duration"
    """`90s`, `1h30m` or `7d` as ms, `usual` as 0."""
    SIZE = "size"
    """`2g`, `1.5g` or `512m` as bytes, `none` as 0."""
    PLACE = "place"
    """A path, made absolute because a server has another working directory; or a URL."""
    SAVEPOINT = "savepoint"
    """An id, a unique beginning of it, or the path of its folder."""
    CHECKPOINT = "checkpoint"
    """A job, a savepoint, or the path or URL of a checkpoint."""
    FILE = "file"
    """The path of a script, whose text is the value."""
    SCRIPT = "script"
    """The path of a script, or the folder of a project."""
    FILES = "files"
    """`NAME=PATH` or `PATH`, again and again: the content of files by name; null for `NAME=`."""
    FUNCTION = "function"
    """`FILE:function`, or a word that stands for a function of ours: the text of the file (empty for ours) by the function's name."""
    PAIRS = "pairs"
    """`KEY=VALUE`, again and again."""
    KEY = "key"
    """`COLUMN=VALUE`, or `COLUMN` alone, whose value is null, again and again."""
    SINKS = "sinks"
    """`fresh`, `continue` or `QUERY=fresh`, again and again."""
    BATCHES = "batches"
    """`7`, or `QUERY=7` again and again."""


TEXTS = {
    **dict.fromkeys(Reads, texts.NAME),
    **dict.fromkeys((Reads.PLACE, Reads.SAVEPOINT, Reads.CHECKPOINT), texts.PLACE),
    **dict.fromkeys((Reads.FILE, Reads.FILES, Reads.FUNCTION), texts.CODE),
    **dict.fromkeys((Reads.PAIRS, Reads.KEY), texts.VALUE),
}
"""The kind of text that a field has which says none."""
