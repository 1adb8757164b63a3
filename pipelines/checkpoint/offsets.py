"""The offset log: one entry a planned batch (OffsetSeqLog: v1 by position, v2 by source name)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.checkpoint import damage, logs
from pipelines.storage.protocol import Storage

FOLDER = "offsets"
NEWEST = 2
VOID = "-"
"""What Spark writes for a source that has no offset yet."""
BY_NAME = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
"""The conf that an entry pins where Spark finds its sources by name (version 2)."""
_METADATA = "sourceMetadataInfo"
"""What an entry of version 2 says of each source besides."""


@dataclass(frozen=True)
class Offsets:
    """One entry. `offsets` is source -> Spark's own JSON or None; a source is its index as text in version 1, its name in version 2."""

    batch: int
    version: int
    batch_watermark_ms: int
    batch_timestamp_ms: int
    conf: Mapping[str, str]
    """Confs that this checkpoint pins: a new session's values for them are ignored."""
    offsets: Mapping[str, str | None]


def path(batch: int) -> str:
    return f"{FOLDER}/{batch}"


def parse(batch: int, data: bytes) -> Offsets:
    """The entry of `batch`; raises Corrupt, Unsupported."""
    file, raw = logs.headed(path(batch), data, NEWEST)
    lines = [line for line in file.lines[1:] if line]
    sources = _by_name(file.path, lines) if file.version >= 2 else {str(index): _offset(line) for index, line in enumerate(lines)}
    return Offsets(
        batch=batch,
        version=file.version,
        batch_watermark_ms=logs.field(file.path, raw, "batchWatermarkMs", int, 0),
        batch_timestamp_ms=logs.field(file.path, raw, "batchTimestampMs", int, 0),
        conf=logs.text_map(file.path, raw, "conf"),
        offsets=sources,
    )


def with_sources_of(data: bytes, planned: bytes) -> bytes:
    """The entry `data` with the sources' offsets of the entry `planned`; its watermark, time and confs stay. ValueError where the two are
    of different versions."""
    head, others = data.decode().split("\n", 2)[:2], planned.decode().split("\n", 2)
    if others[0].strip() != head[0].strip():
        raise ValueError(f"entries of {head[0].strip()} and {others[0].strip()}")
    return "\n".join((*head, *others[2:])).encode()


def with_offsets(data: bytes, anew: Mapping[str, str]) -> bytes:
    """The entry `data` with other offsets of some sources; its watermark, time and confs stay."""
    version, metadata, *lines = data.decode().split("\n")
    if version.strip() == "v1":
        lines = [anew.get(str(index), line) for index, line in enumerate(lines)]
    else:
        lines = [f"{name}:{anew[name]}" if (name := line.partition(":")[0]) in anew else line for line in lines]
    return "\n".join((version, metadata, *lines)).encode()


def with_sources(batch: int, data: bytes, pairs: Mapping[str, str | None], *, by_name: bool) -> bytes:
    """The entry `data` for code whose sources, in their order, are the keys of `pairs`: each at the offset of the source that it stood for,
    or at none. Its watermark, time and other confs stay. `by_name` writes version 2, else version 1. Raises Corrupt, Unsupported."""
    entry = parse(batch, data)
    raw = logs.json_object(path(batch), data.decode().split("\n")[1] or "{}")
    about = logs.text_map(path(batch), raw, _METADATA)
    raw.pop(_METADATA, None)
    raw["conf"] = {**entry.conf, BY_NAME: str(by_name).lower()} if by_name or BY_NAME in entry.conf else dict(entry.conf)
    offsets = {source: entry.offsets.get(old) if old is not None else None for source, old in pairs.items()}
    if by_name:
        raw[_METADATA] = {source: about[old] for source, old in pairs.items() if old in about}
        lines = [f"{source}:{offset}" for source, offset in offsets.items() if offset is not None]
    else:
        lines = [VOID if offset is None else offset for offset in offsets.values()]
    return "\n".join((f"v{2 if by_name else 1}", json.dumps(raw, ensure_ascii=False, separators=(",", ":")), *lines)).encode()


def read(storage: Storage, batch: int) -> Offsets:
    return parse(batch, storage.read(path(batch)))


def _offset(line: str) -> str | None:
    return None if line == VOID else line


def _by_name(file: str, lines: list[str]) -> dict[str, str | None]:
    """`name:offset` a line; names hold no colon."""
    offset_by_name: dict[str, str | None] = {}
    for line in lines:
        name, colon, offset = line.partition(":")
        if not colon or not name:
            raise damage.malformed(file, f"{line[:40]!r} names no source")
        offset_by_name[name] = _offset(offset)
    return offset_by_name
