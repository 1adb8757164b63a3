"""Names the part of a checkpoint that a file belongs to."""

from __future__ import annotations

import re

_PARTS = (
    (re.compile(r"metadata"), "query id"),
    (re.compile(r"offsets/.*"), "offset log"),
    (re.compile(r"commits/.*"), "commit log"),
    (re.compile(r"sources/([^/]+)(?:/.*)?"), "log of source {0}"),
    (re.compile(r"_spark_metadata(?:/.*)?"), "log of the file sink"),
    (re.compile(r"state/([0-9]+)/_stateSchema/.*"), "state schema of operator {0}"),
    (re.compile(r"state/([0-9]+)/_[^/]*/.*"), "metadata of operator {0}"),
    (re.compile(r"state/([0-9]+)/([0-9]+)/(?:[^/]+/)?_metadata/.*"), "state schema of operator {0}, partition {1}"),
    (re.compile(r"state/([0-9]+)/([0-9]+)/(?:SSTs/|logs/)?[^/]+"), "state of operator {0}, partition {1}"),
    (re.compile(r"state/([0-9]+)/([0-9]+)/([^/]+)/.*"), "state of operator {0}, partition {1}, store {2}"),
)


def part(path: str) -> str:
    """The part of a checkpoint that `path` (a checksum's companion too) belongs to."""
    folder, slash, name = path.rpartition("/")
    plain = folder + slash + (name.removeprefix(".") if name.endswith(".crc") else name)
    for pattern, words in _PARTS:
        match = pattern.fullmatch(plain.removesuffix(".crc"))
        if match:
            return words.format(*match.groups())
    return "other files"
