"""Writes a partition of the HDFS-backed store anew, as one snapshot in the format that `delta_files` reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pipelines.hadoop.paths import Place
from pipelines.sandbox import places
from pipelines.sandbox.delta_files import END, NUMBER


def write(jvm: Any, conf: Any, folder: Place, version: int, codec: str, rows: Iterable[tuple[bytes, bytes]], scratch: Path) -> None:
    """`VERSION.snapshot` of the partition in `folder` with these keys and values; `conf` is the SparkConf, `scratch` a file to write to.

    All bytes between the JVM and Python are text to Py4J: they go by way of `scratch`."""
    with scratch.open("wb") as file:
        for key, value in rows:
            file.write(NUMBER.pack(len(key)) + key + NUMBER.pack(len(value)) + value)
        file.write(NUMBER.pack(END))
    target = places.writer(jvm, folder / f"{version}.snapshot")
    source = jvm.java.io.FileInputStream(str(scratch))
    try:
        stream = jvm.org.apache.spark.io.CompressionCodec.createCodec(conf, codec).compressedOutputStream(target)
        source.transferTo(stream)
        stream.close()
    finally:
        source.close()
        target.close()
    scratch.unlink()
