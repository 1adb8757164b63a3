"""Changes whose server is killed on their way: before any of the documents of a fork, and before chosen things that are done to the disk.

Afterwards all is as it was, or whole; nothing half done is listed, and nothing is left over.
"""

from __future__ import annotations

import itertools
import re
import shutil
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from pipelines.domain.operations import OperationState
from pipelines.domain.trust import Trust
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.experiments import ListExperiments
from pipelines.verbs.export import Export
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.schedule import SetSchedule
from pipelines.verbs.take import Take
from pipelines.workspace import operations
from pipelines.workspace.workspace import Workspace
from tests.supervisor.scheduling import House as Scheduled
from tests.verified import verified
from tests.workspace import process_forks
from tests.workspace.conftest import House, job
from tests.workspace.killed_at_steps import COUNT, DONE

LIVES_ON = ("catalog.duckdb", "lease", "trash", "events.jsonl", "audit.jsonl")
"""What tells more afterwards, or is put aside."""
PARTS = (0.3, 0.6, 0.85, 0.97)
"""Of all things that a change does: how many are done when it is killed."""


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


class Lived:
    """A workspace with a job, three scheduled savepoints of it and one by hand, as it was before a change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.house = Scheduled(folder / "ws")
        self.house.ran("a")
        self.scheduled = [self.house.scheduled().id for _ in range(3)]
        self.by_hand = do(self.house.face, Take("a")).id

    def exported(self) -> str:
        """Where the one by hand is now, which is no more in the workspace."""
        url = str(self.folder / "out" / "sp")
        begun = self.house.face.begin(Export(self.by_hand, url)).operation
        assert begun is not None and operations.wait(self.house.face.context, begun.id).state is OperationState.DONE
        do(self.house.face, Dispose((self.by_hand,)))
        return url

    def limited(self) -> str:
        do(self.house.face, SetSchedule("a", keep=1))
        return "a"

    def listed(self) -> tuple[list[str], list[str], int]:
        """Jobs, savepoints and experiments that are listed: each whole."""
        face = self.house.face
        names = sorted(str(summary.job.name) for summary in face.ask(ListJobs()))
        savepoints = sorted(savepoint.id for savepoint in face.ask(ListSavepoints()))
        for name in names:
            run = face.ask(ShowJob(name)).runs[0]
            assert (Path(run.checkpoints) / "counts" / "metadata").is_file()
            assert Path(face.context.files.spec(run.job, run.id).script).is_file()
        for savepoint in savepoints:
            assert verified(face.context.library, savepoint, Trust.COMPLETE, 1).damages == ()
        assert not [operation for operation in face.ask(ListOperations()) if operation.state is OperationState.RUNNING]
        return names, savepoints, len(face.ask(ListExperiments()))

    def lies(self) -> set[str]:
        """All files, and folders with nothing in them, under names that do not tell which time made them."""
        paths = (path for path in self.house.root.rglob("*") if path.is_file() or not any(path.iterdir()))
        names = (path.relative_to(self.house.root).as_posix() for path in paths)
        return {re.sub(r"\b(r|e|v|x)-[0-9a-z]+", r"\1-ID", name) for name in names if not name.startswith(LIVES_ON)}


CHANGES: dict[str, Callable[[Lived], str]] = {
    "fork": lambda lived: lived.by_hand,
    "experiment": lambda lived: lived.by_hand,
    "import": Lived.exported,
    "dispose": lambda lived: ",".join(lived.scheduled[:2]),
    "prune": Lived.limited,
}
"""With what each is about."""


@pytest.mark.parametrize("change", CHANGES)
def test_killed_before_some_of_what_it_does_to_the_disk(change: str, tmp_path: Path) -> None:
    kill_at_steps(change, tmp_path, lambda most: sorted({max(1, round(most * part)) for part in PARTS}))


def kill_at_steps(change: str, folder: Path, chosen: Callable[[int], Iterable[int]]) -> None:
    """Has the change killed before each of the `chosen` things that it does, of as many as it does; the workspace is opened again each
    time, and the change done once more at last."""
    lived = Lived(folder)
    subject = CHANGES[change](lived)
    house, aside = lived.house, folder / "aside"
    house.face.close()
    shutil.copytree(house.root, aside)
    house.open()
    before, lay_before = lived.listed(), lived.lies()
    with process_forks.of("tests.workspace.killed_at_steps") as forked:

        def done(step: int) -> int:
            house.face.close()
            shutil.rmtree(house.root)
            shutil.copytree(aside, house.root)
            code = forked(house.root, change, subject, step)
            house.open()
            return code

        assert done(0) == DONE
        most = int((folder / COUNT).read_text())
        after, lies_after = lived.listed(), lived.lies()
        assert after != before
        for step in chosen(most):
            assert done(step) == -signal.SIGKILL
            now, lies = lived.listed(), lived.lies()
            if change in ("dispose", "prune") and now not in (before, after):
                assert set(after[1]) < set(now[1]) < set(before[1]), step
                assert {path.split("/")[1] for path in lies if path.startswith("savepoints/")} == set(now[1]), step
                assert lies_after <= lies <= lay_before, step
            else:
                assert (now, lies) in ((before, lay_before), (after, lies_after)), (step, lies ^ lay_before, lies ^ lies_after)
        house.face.close()
        assert forked(house.root, change, subject, 0) in (DONE, 1)
        house.open()
        assert lived.listed() == after
    house.face.close()
