"""Spark's log files: a version line, then lines (HDFSMetadataLog)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pipelines.checkpoint import damage
from pipelines.domain.json_text import read_json

T = TypeVar("T")
_VERSION = re.compile(r"v([0-9]{1,9})")
MAX_INTEGER = 2**63 - 1


@dataclass(frozen=True)
class LogFile:
    """One log file taken apart; `path` is kept for errors about its lines."""

    path: str
    version: int
    lines: tuple[str, ...]


def parse(path: str, data: bytes, newest: int) -> LogFile:
    """`data` as a log file; raises Corrupt for a broken one, Unsupported for a version after `newest`."""
    text = decoded(path, data)
    first, _, rest = text.partition("\n")
    version = _VERSION.fullmatch(first.strip())
    if version is None:
        raise damage.malformed(path, f"it begins with {first[:20]!r}, not with a version")
    number = int(version[1])
    if number > newest:
        raise damage.newer_format(path, f"v{number}", f"v{newest}")
    if number < 1:
        raise damage.malformed(path, f"its version is v{number}")
    return LogFile(path, number, tuple(rest.split("\n")) if rest else ())


def headed(path: str, data: bytes, newest: int) -> tuple[LogFile, dict[str, Any]]:
    """An entry of the offset or the commit log, and the JSON object that its first line is; raises Corrupt, Unsupported."""
    file = parse(path, data, newest)
    if not file.lines:
        raise damage.malformed(path, "it ends after the version")
    return file, json_object(path, file.lines[0] or "{}")


def decoded(path: str, data: bytes) -> str:
    """`data` as text; raises Corrupt where it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise damage.malformed(path, "it is not text") from error


def json_object(path: str, text: str) -> dict[str, Any]:
    """`text` as a JSON object; raises Corrupt, also for half a surrogate pair, which could be neither printed nor a file's name."""
    try:
        value = read_json(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except ValueError as error:
        raise damage.malformed(path, f"{text[:40]!r} is not JSON") from error
    if not isinstance(value, dict):
        raise damage.malformed(path, f"{text[:40]!r} is not a JSON object")
    return value


def field(path: str, raw: Mapping[str, Any], key: str, kind: type[T], default: T | None = None) -> T:
    """`raw[key]`, which must be of `kind`; `default` where it is absent; raises Corrupt."""
    value = raw.get(key, default)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise damage.malformed(path, f"{key!r} is {str(value)[:40]!r}, not {kind.__name__}")
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise damage.malformed(path, f"{key!r} is out of range")
    return value


def text_map(path: str, raw: Mapping[str, Any], key: str) -> dict[str, str]:
    """`raw[key]` as text by text; raises Corrupt."""
    texts: dict[str, Any] = field(path, raw, key, dict, {})
    if not all(isinstance(value, str) for value in texts.values()):
        raise damage.malformed(path, f"{key!r} holds values that are not text")
    return texts


def batch_ids(names: Iterable[str]) -> list[int]:
    """The batch ids among a log folder's file names, ascending; other files are ignored."""
    return sorted(int(name) for name in names if is_number(name))


def is_number(name: str) -> bool:
    """Whether `name` is a plain non-negative number, as Spark names batches, operators and partitions."""
    return name.isascii() and name.isdigit() and len(name) <= 18 and (name == "0" or name[0] != "0")
