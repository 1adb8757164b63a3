"""Local files of the tests' Spark: what they write is, to the bit, what Hadoop's own class writes."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

HADOOPS = {
    "tests": {},
    "hadoop": {
        "fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
        "fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.LocalFs",
    },
}


def test_files_their_checksums_permissions_and_links_are_those_of_hadoop(spark: Any, tmp_path: Path) -> None:
    seen = {name: written(spark.sparkContext._gateway, tmp_path / name, settings) for name, settings in HADOOPS.items()}
    assert seen["tests"] == seen["hadoop"]
    assert {name: mode for name, (mode, _) in seen["tests"].items()} == {
        "folder": "drwx------",
        "folder/.file.crc": "-rw-r-----",
        "folder/file": "-rw-r-----",
        "folder/link": "lrwxrwxrwx",
    }


def test_spark_uses_them(spark: Any) -> None:
    jvm, conf = spark._jvm, spark._jsc.hadoopConfiguration()
    path = jvm.org.apache.hadoop.fs.Path("file:///")
    assert path.getFileSystem(conf).getClass().getName() == "tidemark.LocalFiles"
    assert jvm.org.apache.hadoop.fs.AbstractFileSystem.get(path.toUri(), conf).getClass().getName() == "tidemark.LocalFiles$Context"


def written(gateway: Any, root: Path, settings: dict[str, str]) -> dict[str, tuple[str, bytes]]:
    """A folder, a file that is renamed over another in it, and a link: the mode of each, and what it holds."""
    jvm = gateway.jvm
    fs = jvm.org.apache.hadoop.fs
    conf = jvm.org.apache.hadoop.conf.Configuration()
    for key, value in settings.items():
        conf.set(key, value)
    context, files = fs.FileContext.getFileContext(conf), fs.FileSystem.newInstance(conf)
    folder, file, aside, link = (fs.Path(str(root / "folder"), name) for name in (".", "file", "aside", "link"))
    context.mkdir(folder, fs.permission.FsPermission("700"), True)
    for path, text in ((file, "old"), (aside, "new")):
        stream = files.create(path)
        stream.writeBytes(text)
        stream.close()
    files.setPermission(aside, fs.permission.FsPermission("640"))
    context.rename(aside, file, _overwriting(gateway))
    os.symlink("file", root / "folder" / "link")
    assert (context.getFileLinkStatus(link).isSymlink(), context.getFileLinkStatus(file).isSymlink()) == (True, False)
    return {str(path.relative_to(root)): (stat.filemode(path.lstat().st_mode), _held(path)) for path in sorted(root.rglob("*"))}


def _overwriting(gateway: Any) -> Any:
    rename = gateway.jvm.org.apache.hadoop.fs.Options.Rename
    options = gateway.new_array(rename, 1)
    options[0] = rename.OVERWRITE
    return options


def _held(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""
