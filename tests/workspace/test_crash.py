"""A fork whose server is killed before any of the documents it writes: a whole job or none, and nothing left over."""

from __future__ import annotations

import itertools
import shutil
import signal
from pathlib import Path

from pipelines.verbs.face import do
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.take import Take
from pipelines.workspace.workspace import Workspace
from tests.workspace import process_forks
from tests.workspace.conftest import House, job


def assert_whole_or_nothing(face: Workspace, *, done: bool) -> None:
    names = [summary.job.name for summary in face.ask(ListJobs())]
    if "b" in names:
        run = face.ask(ShowJob("b")).runs[0]
        assert Path(face.context.files.spec(run.job, run.id).script).is_file()
        assert (Path(run.checkpoints) / "counts" / "metadata").is_file()
    else:
        assert not done and names == ["a"] and not face.layout.job(job("b")).exists()
    assert not [path for path in face.layout.savepoints.rglob("leases/*") if path.is_file() and done]


def test_a_fork_killed_before_any_of_its_writes(house: House, tmp_path: Path) -> None:
    house.ran("a")
    taken = do(house.face, Take("a"))
    house.face.close()
    shutil.copytree(house.root, tmp_path / "before")
    with process_forks.of("tests.workspace.killed") as forked:
        for step in itertools.count(1):
            code = forked(house.root, taken.id, step)
            assert_whole_or_nothing(house.open(), done=code == 0)
            if code == 0:
                break
            assert code == -signal.SIGKILL
            house.face.close()
            shutil.rmtree(house.root)
            shutil.copytree(tmp_path / "before", house.root)
    assert step > 5
