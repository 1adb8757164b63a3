"""Checks that a checkpoint's file holds what its writer put there, by the checksums beside it and by its format."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from pipelines.checkpoint import commits, compression, damage, logs, metadata, offsets, operators, sink_log, source_log, sst, state_files
from pipelines.checkpoint.listing import Listing
from pipelines.checkpoint.state_files import Kind
from pipelines.domain.errors import Corrupt, NotFound, Unsupported
from pipelines.domain.trust import Damage
from pipelines.storage import paths
from pipelines.storage.protocol import Storage

HADOOP_MAGIC = b"crc\0"
HADOOP_HEADER = 8
CRC_BYTES = 4
CRC_SUFFIX = ".crc"
Reader = Callable[[str, bytes], Any]
"""(path, content); raises Corrupt, Unsupported."""


class Vanished(Exception):
    """The file was deleted since it was listed."""


def damage_in(storage: Storage, listing: Listing, path: str, reader: Reader | None) -> Damage | None:
    """What is wrong within `path` or one of its checksum companions; raises Vanished."""
    data = _read(storage, path)
    folder, name = paths.parent(path), paths.name(path)
    beside = {f".{name}{CRC_SUFFIX}": _against_hadoop} | ({} if name.endswith(CRC_SUFFIX) else {f"{name}{CRC_SUFFIX}": _against_spark})
    present = {
        paths.join(folder, companion_name): check for companion_name, check in beside.items() if companion_name in listing.files(folder)
    }
    for companion, check in present.items():
        file_damage = _companion(storage, path, data, companion, check)
        if file_damage is not None:
            return file_damage
    return _form(path, data, reader, vouched=bool(present))


def _companion(storage: Storage, path: str, data: bytes, companion: str, check: Callable[[str, bytes, bytes], str]) -> Damage | None:
    try:
        crc_file = _read(storage, companion)
    except Vanished:
        return None
    try:
        differs = check(companion, data, crc_file)
    except Corrupt as error:
        return Damage(companion, "unreadable", error.message)
    return Damage(path, "checksum", f"{differs}, says {companion}") if differs else None


def _read(storage: Storage, path: str) -> bytes:
    try:
        return storage.read(path)
    except NotFound as error:
        raise Vanished from error


def _against_hadoop(companion: str, data: bytes, crc_file: bytes) -> str:
    """Hadoop's ChecksumFileSystem: `crc\\0`, the bytes each checksum is of, then a big-endian CRC-32 of each such piece."""
    step = int.from_bytes(crc_file[len(HADOOP_MAGIC) : HADOOP_HEADER], "big")
    if not crc_file.startswith(HADOOP_MAGIC) or step == 0 or (len(crc_file) - HADOOP_HEADER) % CRC_BYTES:
        raise damage.malformed(companion, "it holds no checksums of Hadoop's")
    expected = [int.from_bytes(crc_file[start : start + CRC_BYTES], "big") for start in range(HADOOP_HEADER, len(crc_file), CRC_BYTES)]
    actual = [zlib.crc32(data[start : start + step]) for start in range(0, len(data), step)]
    if len(actual) != len(expected):
        return "it has another length"
    wrong = next((index for index, (crc, stored) in enumerate(zip(actual, expected, strict=True)) if crc != stored), None)
    return "" if wrong is None else f"its bytes from {wrong * step} on are not what was written"


def _against_spark(companion: str, data: bytes, crc_file: bytes) -> str:
    """Spark's ChecksumCheckpointFileManager: the whole file's CRC-32C and size, as JSON. Other algorithms are passed over."""
    import google_crc32c

    raw = logs.json_object(companion, logs.decoded(companion, crc_file))
    if logs.field(companion, raw, "mainFileSize", int) != len(data):
        return "it has another size"
    if logs.field(companion, raw, "algorithm", str) != "CRC32C":
        return ""
    value = logs.field(companion, raw, "value", int)
    return "" if google_crc32c.value(data) == value & 0xFFFFFFFF else "its content is not what was written"


def _form(path: str, data: bytes, reader: Reader | None, *, vouched: bool) -> Damage | None:
    """Damage of a file that its format cannot read. An unknown compression is no damage where a checksum vouches for the file."""
    try:
        if reader is not None:
            reader(path, data)
    except Unsupported:
        return None
    except Corrupt as error:
        unknown = vouched and state_files.parse_path(path) is not None and not compression.is_known(data)
        return None if unknown and not path.endswith(f".{Kind.ZIP}") else Damage(path, "unreadable", error.message)
    return None


def reader_of(path: str, entry_logs: frozenset[str]) -> Reader | None:
    """The function that reads `path` as Spark would, None for a file of unknown format.

    `entry_logs` are the folders with logs of files: those of file sources, and the root where it is a file sink's.
    """
    folder, name = paths.parent(path), paths.name(path)
    if name.endswith(CRC_SUFFIX):
        return lambda path, data: logs.json_object(path, logs.decoded(path, data))
    if path == metadata.FILE and "" not in entry_logs:
        return lambda path, data: metadata.parse(data, path)
    if folder in _LOGS and logs.is_number(name):
        return lambda path, data: _LOGS[folder](int(name), data)
    if folder in entry_logs:
        return source_log.check if folder else sink_log.check
    if _OPERATOR_METADATA.fullmatch(path):
        return operators.parse
    if path.endswith(sst.SUFFIX):
        return sst.check
    state = state_files.parse_path(path)
    return _STATE[state] if state is not None and path.startswith(f"{operators.FOLDER}/") else None


def _zip(path: str, data: bytes) -> None:
    state_files.immutables(path, data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        wrong = archive.testzip()
    if wrong is not None:
        raise damage.malformed(path, f"{wrong} in it is broken")


_OPERATOR_METADATA = re.compile(r"state/[0-9]+/_metadata/(?:metadata|v2/[0-9]+)")
_LOGS: Mapping[str, Callable[[int, bytes], Any]] = {offsets.FOLDER: offsets.parse, commits.FOLDER: commits.parse}
_STATE: Mapping[Kind, Reader] = {
    Kind.ZIP: _zip,
    Kind.DELTA: compression.check,
    Kind.SNAPSHOT: compression.check,
    Kind.CHANGELOG: compression.check,
}
