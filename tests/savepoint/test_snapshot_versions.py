"""Snapshots of RocksDB get the version that another Spark reads, and hold what they held."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.checkpoint import state_files
from pipelines.domain import spark_changes
from pipelines.domain.errors import Corrupt
from pipelines.domain.ids import folder_of
from pipelines.savepoint import snapshot_versions
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Clone
from tests.samples import query_image

GOLDEN = Path(__file__).parents[1] / "golden" / "rocksdb_format2" / "checkpoint"
IMAGES = (replace(query_image("a", 9), state_format=2),)
QUERY = IMAGES[0].query


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The checkpoint of a query, as links to a savepoint's files."""
    shutil.copytree(GOLDEN, tmp_path / "savepoint")
    shutil.copytree(tmp_path / "savepoint", tmp_path / "copy" / folder_of(QUERY), copy_function=os.link)
    return tmp_path / "copy"


def held(folder: Path) -> dict[str, dict[str, bytes]]:
    """What each snapshot has in it, by member."""
    archives = {str(path.relative_to(folder)): zipfile.ZipFile(path) for path in folder.rglob("*.zip") if not path.name.startswith(".")}
    return {name: {member: archive.read(member) for member in archive.namelist()} for name, archive in archives.items()}


def test_a_copy_gets_the_version_and_the_savepoint_keeps_its_own(copy: Path) -> None:
    before = held(copy)
    assert before and snapshot_versions.give(IMAGES, open_storage(str(copy)), 1) == 0, "Spark 4.3 writes version 1"
    assert snapshot_versions.give(IMAGES, open_storage(str(copy)), 2) == len(before)
    after = held(copy)
    for name, members in before.items():
        metadata = members.pop("metadata")
        assert after[name].pop("metadata") == metadata.replace(b"v1", b"v2", 1) and after[name] == members
    for path in (copy / folder_of(QUERY)).rglob("*.zip"):
        saved = copy.parent / "savepoint" / path.relative_to(copy / folder_of(QUERY))
        named = [state_files.immutables(path.name, file.read_bytes()) for file in (path, saved)]
        assert named[0] == named[1] and not [other for other in path.parent.glob("*.crc") if path.name in other.name]
        assert not saved.samefile(path) and zipfile.ZipFile(saved).read("metadata").startswith(b"v1"), "no link was written into"
    assert snapshot_versions.give(IMAGES, open_storage(str(copy)), 1) == len(before)


def test_a_copy_at_a_home_gets_it_too(copy: Path, s3_url: str) -> None:
    here, home = open_storage(str(copy)), open_storage(s3_url)
    files = [Clone(entry.path, entry.path) for entry in here.list()]
    home.clone(here, files)
    before = held(copy)
    assert snapshot_versions.give(IMAGES, home, 2) == len(before) > 0
    for name, members in before.items():
        anew = zipfile.ZipFile(io.BytesIO(home.read(name)))
        assert {member: anew.read(member) for member in anew.namelist()} == {
            **members,
            "metadata": members["metadata"].replace(b"v1", b"v2", 1),
        }


def test_format_1_stays_as_it_is(copy: Path) -> None:
    assert snapshot_versions.give([replace(IMAGES[0], state_format=1)], open_storage(str(copy)), 2) == 0


@pytest.mark.parametrize(
    ("before", "now", "version"),
    [
        ("4.0.1", "4.3.0", 1),
        ("4.3.0", "4.0.1", 2),
        ("4.2.0", "4.3.0", None),
        ("4.0.1", "4.0.2", None),
        ("4.1.0", "4.0.1", 2),
        ("", "4.3.0", None),
    ],
)
def test_which_version_a_spark_needs(before: str, now: str, version: int | None) -> None:
    assert spark_changes.snapshots(IMAGES, before, now) == version
    assert spark_changes.snapshots((replace(IMAGES[0], state_format=1),), before, now) is None


def test_what_is_no_snapshot_is_damage(copy: Path) -> None:
    path = next((copy / folder_of(QUERY)).rglob("*.zip"))
    path.unlink()
    path.write_bytes(b"PK")
    with pytest.raises(Corrupt, match="no snapshot"):
        snapshot_versions.give(IMAGES, open_storage(str(copy)), 2)


def test_what_ansi_rules_change_is_said_in_the_direction_that_they_change() -> None:
    """Off on Spark 3.5, on from 4.0 on."""
    on, off = (" ".join(spark_changes.warnings(IMAGES, *sparks, {})) for sparks in (("3.5.7", "4.3.0"), ("4.3.0", "3.5.7")))
    assert "may end in errors where they gave null or wrapped around. --conf spark.sql.ansi.enabled=false keeps" in on
    assert "may give null or wrap around where they ended in errors. --conf spark.sql.ansi.enabled=true keeps" in off
