"""Files of the HDFS-backed store: what a partition holds at a version, undecoded.

`V.snapshot` and `V.delta` are one format (HDFSBackedStateStoreProvider): a number of four bytes and as many bytes of a key, the same of a
value, and so on; -1 as a key's number ends it, and as a value's the key is removed. A stream of Spark's codec is around it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipelines.hadoop.paths import Place
from pipelines.sandbox import places

NUMBER = struct.Struct(">i")
END = REMOVED = -1


class Missing(Exception):
    """A file that the version needs is not there, or ends early."""


def entries(jvm: Any, conf: Any, folder: Place, version: int, codec: str, scratch: Path) -> dict[bytes, bytes]:
    """Key -> value of the partition in `folder` at `version`, all of it in memory; `conf` is the SparkConf, `scratch` a file to write to.

    Raises Missing, and what Spark's codec raises for a damaged file."""
    held: dict[bytes, bytes] = {}
    for file in chain(folder, version):
        for key, value in records(_unpacked(jvm, conf, file, codec, scratch), file):
            if value is None:
                held.pop(key, None)
            else:
                held[key] = value
    return held


def records(data: bytes, file: Place) -> Iterator[tuple[bytes, bytes | None]]:
    """The records of one file, a removal without a value; raises Missing where it ends early."""
    at = 0
    try:
        while True:
            (length,) = NUMBER.unpack_from(data, at)
            if length == END:
                return
            key, at = data[at + 4 : at + 4 + length], at + 4 + length
            (length,) = NUMBER.unpack_from(data, at)
            if length == REMOVED:
                yield key, None
                at += 4
                continue
            value, at = data[at + 4 : at + 4 + length], at + 4 + length
            if at > len(data):
                raise Missing(f"{file} ends early")
            yield key, value
    except struct.error as error:
        raise Missing(f"{file} ends early") from error


def chain(folder: Place, version: int) -> Iterator[Place]:
    """The newest snapshot up to `version`, and each delta after it; raises Missing."""
    names = {path.name for path in places.children(folder)}
    snapshots = [number for number in range(1, version + 1) if f"{number}.snapshot" in names]
    newest = max(snapshots, default=0)
    if newest:
        yield folder / f"{newest}.snapshot"
    for number in range(newest + 1, version + 1):
        if f"{number}.delta" not in names:
            raise Missing(f"{folder / f'{number}.delta'} is not there")
        yield folder / f"{number}.delta"


def _unpacked(jvm: Any, conf: Any, file: Place, codec: str, scratch: Path) -> bytes:
    """What is in a compressed file; by way of `scratch`, since all bytes between the JVM and Python are text to Py4J."""
    stream = jvm.org.apache.spark.io.CompressionCodec.createCodec(conf, codec).compressedInputStream(places.reader(jvm, file))
    try:
        target = jvm.java.io.FileOutputStream(str(scratch))
        try:
            stream.transferTo(target)
        finally:
            target.close()
    finally:
        stream.close()
    return scratch.read_bytes()
