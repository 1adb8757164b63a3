"""Other users of the machine get at the outputs of jobs, as far as their owner's umask lets them, and at nothing else."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.storage import rights
from pipelines.verbs.annotate import Annotate
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.export import Export
from pipelines.verbs.face import do
from pipelines.verbs.fork import Variant
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from tests.workspace.conftest import CODE, House
from tests.workspace.exposure import exposed


@pytest.fixture(autouse=True, params=[0o022, 0o027, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The umask that the server was started with."""
    rights.keep_private()
    monkeypatch.setattr(rights, "users_umask", lambda: request.param)
    return int(request.param)


def passages(*jobs: str) -> set[str]:
    return {".", "jobs"} | {f"jobs/{job}{inner}" for job in jobs for inner in ("", "/output", "/warehouse")}


def walked(house: House) -> str:
    """A workspace with everything in it that Tidemark writes without Spark; the id of its savepoint."""
    house.ran("a")
    saved = do(house.face, Take("a", label="one"))
    do(house.face, Verify(saved.id))
    do(house.face, Annotate(saved.id, note="looked at"))
    do(house.face, StartExperiment("e", saved.id, (Variant(name="b", code=CODE + "#\n"),), with_parent=True))
    do(house.face, Take("a", to=str(house.root.parent / "backups")))
    return saved.id


def test_nothing_but_outputs_is_open(house: House, umask: int) -> None:
    walked(house)
    house.reopen()
    open_paths = exposed(house.root)
    outputs = {path for path in open_paths if "/output/" in path}
    assert open_paths.keys() - outputs == (passages("a", "b") if umask != 0o077 else set())
    assert all(open_paths[path] == 0o711 & ~umask & 0o077 for path in open_paths.keys() & {".", "jobs", "jobs/a", "jobs/b"})


def test_an_export_is_its_users(house: House, umask: int, tmp_path: Path) -> None:
    saved = walked(house)
    do(house.face, Export(saved, str(tmp_path / "new" / "folder" / "sp")))
    do(house.face, Export(saved, str(tmp_path / "new" / "sp.tar.zst")))
    for place in (tmp_path / "new", tmp_path / "backups"):
        assert {mode for path, mode in modes(place) if path.is_dir()} == {0o777 & ~umask}
        assert {mode for path, mode in modes(place) if path.is_file()} == {0o666 & ~umask}
    assert exposed(house.root).keys() <= passages("a", "b") | {path for path in exposed(house.root) if "/output/" in path}


def test_a_workspace_of_an_earlier_version_is_closed(house: House, umask: int) -> None:
    walked(house)
    house.face.close()
    for path, mode in modes(house.root):
        path.chmod(mode | (0o755 if path.is_dir() else 0o644))
    (house.root / "notes.txt").write_text("somebody's own")
    (house.root / "notes.txt").chmod(0o644)
    house.open()
    assert {path for path in exposed(house.root) if "/output/" not in path} == passages("a", "b") | {"notes.txt"}
    assert stat.S_IMODE(house.root.stat().st_mode) == 0o711


def test_a_passage_is_never_opened_further(house: House) -> None:
    house.face.close()
    house.root.chmod(0o700)
    house.open()
    do(house.face, RunScript(name="a", script="job.py", code=CODE))
    assert stat.S_IMODE(house.root.stat().st_mode) == 0o700 and not exposed(house.root)


def modes(folder: Path) -> Iterator[tuple[Path, int]]:
    for top, _, names in os.walk(folder):
        for path in (Path(top), *(Path(top, name) for name in names)):
            yield path, stat.S_IMODE(path.stat().st_mode)
