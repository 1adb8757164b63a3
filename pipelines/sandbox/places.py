"""Where a checkpoint lies whose state is rewritten: a folder of this machine, or one that Hadoop's file systems reach.

Files that pass through Python are small: entries of logs, schemas, metadata. State is read and written by streams of the JVM.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pipelines.domain import job_places
from pipelines.hadoop.paths import HadoopPath, Place

CHECKSUM = re.compile(r"\..+\.crc")


def at(text: str) -> Place:
    """The folder that an absolute path or the URL of a home names."""
    return HadoopPath(text.rstrip("/")) if job_places.is_remote(text) else Path(text)


def children(folder: Place) -> list[Place]:
    """What is directly in it; nothing where it is not there."""
    return list(folder.iterdir()) if folder.is_dir() else []


def put(file: Place, text: str) -> None:
    """Writes a small file in the place of one that may be a link: nothing is written into that."""
    if isinstance(file, HadoopPath):
        file.write_text(text)
        return
    aside = file.with_name(f".{file.name}.anew")
    aside.write_text(text)
    os.replace(aside, file)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def copy(source: Place, target: Place) -> None:
    """Copies a small file."""
    target.write_bytes(source.read_bytes())


def copy_tree(source: Place, target: Place, is_left: Callable[[str], bool] = lambda name: False) -> None:
    """Copies the small files of a folder, at any depth, into one that is made; those are left out whose names `is_left` tells.

    The checksums that Hadoop has of files on a disk stay there: a home shows them as files."""
    target.mkdir(parents=True)
    for path in children(source):
        if path.is_dir():
            copy_tree(path, target / path.name, is_left)
        elif not is_left(path.name) and not (isinstance(target, HadoopPath) and CHECKSUM.fullmatch(path.name)):
            copy(path, target / path.name)


def resolved(folder: Place) -> Place:
    """The folder without links on the way to it."""
    return folder if isinstance(folder, HadoopPath) else folder.resolve()


def remove(folder: Place) -> None:
    """Removes a folder with all that is in it; nothing where it is not there."""
    if isinstance(folder, HadoopPath):
        folder.remove()
    elif folder.is_dir():
        shutil.rmtree(folder)


def reader(jvm: Any, file: Place) -> Any:
    """A stream of the JVM that reads the file."""
    return file.reader() if isinstance(file, HadoopPath) else jvm.java.io.FileInputStream(str(file))


def writer(jvm: Any, file: Place) -> Any:
    """A stream of the JVM that writes the file; its folder is made."""
    if isinstance(file, HadoopPath):
        return file.writer()
    file.parent.mkdir(parents=True, exist_ok=True)
    return jvm.java.io.FileOutputStream(str(file))


def numbered(folder: Place) -> Iterator[Place]:
    """The files in it whose names are numbers."""
    return (path for path in children(folder) if path.name.isdigit())


def copy_state(jvm: Any, source: str, target: str) -> None:
    """Copies a folder at a home with all that is in it; no byte passes through Python."""
    hadoop = jvm.org.apache.hadoop.fs
    system, folder = HadoopPath(source).system, hadoop.Path(source)
    if not hadoop.FileUtil.copy(system, folder, system, hadoop.Path(target), False, system.getConf()):
        raise OSError(f"{source} could not be copied to {target}")
