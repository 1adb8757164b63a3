"""State that is gone as a whole, entries of a Spark that is not known, folders in place of files: never sound, never restorable."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipelines.checkpoint import doctor
from pipelines.checkpoint.closure import closure
from pipelines.checkpoint.doctor import Examined, Subject
from pipelines.checkpoint.retained import retained
from pipelines.domain.errors import Corrupt, Unsupported
from pipelines.storage.local import LocalStorage
from tests.checkpoint.golden import MemoryStorage, checkpoint, in_memory

FORMAT_2 = ("rocksdb_format2", "limit_format2")


def without(name: str, folder: str) -> MemoryStorage:
    return MemoryStorage({path: data for path, data in in_memory(checkpoint(name)).files.items() if not path.startswith(folder)})


def newest(storage: MemoryStorage) -> int:
    return max(int(path.removeprefix("commits/")) for path in storage.files if path.startswith("commits/") and path[8:].isdecimal())


def examined(storage: MemoryStorage | LocalStorage) -> Examined:
    return doctor.examine(Subject(storage))


@pytest.mark.parametrize("name", FORMAT_2)
def test_state_that_the_commit_log_names_is_missed(name: str) -> None:
    storage = without(name, "state/")
    with pytest.raises(Corrupt, match="gone as a whole"):
        closure(storage, newest(storage))
    assert retained(storage) == ()
    diagnosis = examined(storage)
    assert diagnosis.restorable == () and {finding.damage.path for finding in diagnosis.findings} >= {"state/0"}


def test_an_operator_that_others_come_after_is_missed() -> None:
    whole = in_memory(checkpoint("limit")).files
    moved = {path.replace("state/0/", "state/1/"): data.replace(b'"operatorId":0', b'"operatorId":1') for path, data in whole.items()}
    storage = MemoryStorage(moved)
    with pytest.raises(Corrupt, match="state/0 is missing"):
        closure(storage, newest(storage))
    assert retained(storage) == () and examined(storage).restorable == ()


def test_an_operator_without_end_is_only_damage() -> None:
    files = dict(in_memory(checkpoint("rocksdb_format2")).files)
    batch = newest(MemoryStorage(files))
    files[f"commits/{batch}"] = files[f"commits/{batch}"].replace(b'{"0":', b'{"999999999999999999":')
    with pytest.raises(Corrupt):
        closure(MemoryStorage(files), batch)


@pytest.mark.parametrize("log", ["commits", "offsets"])
def test_a_batch_of_an_unknown_version_is_not_restorable(log: str) -> None:
    files = dict(in_memory(checkpoint("rocksdb")).files)
    batch = newest(MemoryStorage(files))
    files[f"{log}/{batch}"] = b"v99\n" + files[f"{log}/{batch}"].partition(b"\n")[2]
    files.pop(f"{log}/.{batch}.crc", None)
    diagnosis = examined(MemoryStorage(files))
    assert batch not in diagnosis.restorable and batch - 1 in diagnosis.restorable
    with pytest.raises(Unsupported):
        closure(MemoryStorage(files), batch)


@pytest.mark.parametrize("log", ["commits", "offsets"])
def test_a_folder_in_place_of_an_entry_is_damage(log: str, tmp_path: Path) -> None:
    here = Path(shutil.copytree(checkpoint("rocksdb").url, tmp_path / "checkpoint"))
    batch = newest(in_memory(checkpoint("rocksdb")))
    (here / log / str(batch)).unlink()
    (here / log / str(batch)).mkdir()
    (here / log / str(batch) / "x").write_text("v1\n{}")
    diagnosis = examined(LocalStorage(here))
    assert batch not in diagnosis.restorable
    assert f"{log}/{batch}" in {finding.damage.path for finding in diagnosis.findings if finding.damage.kind == "unreadable"}
    assert batch not in {kept.batch for kept in retained(LocalStorage(here))}


@pytest.mark.parametrize("name", ["hdfs", "rocksdb"])
def test_state_that_only_the_job_itself_told_of_is_missed(name: str) -> None:
    """In format 1 a checkpoint without `state/` is like one of a stateless query."""
    storage = without(name, "state/")
    assert closure(storage, newest(storage)).operators == ()
    with pytest.raises(Corrupt, match="gone as a whole"):
        closure(storage, newest(storage), told=1)
    assert retained(storage, told=1) == () != retained(storage)
    diagnosis = doctor.examine(Subject(storage, operators=1))
    assert diagnosis.restorable == () and {finding.damage.path for finding in diagnosis.findings} == {"state/0"}
