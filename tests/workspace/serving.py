"""A workspace with its supervisor's thread, as a server has it, and the end of every job that it started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Run
from pipelines.domain.runs import RunState
from pipelines.supervisor.loop import SupervisorLoop
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ListBatches, ListJobs, ReadLog
from pipelines.verbs.stop import Stop
from pipelines.workspace import runs
from pipelines.workspace.opening import open_workspace
from pipelines.workspace.workspace import Workspace
from tests.waiting import until


def end_jobs(face: Workspace, seconds: float = 400.0) -> None:
    """Ends every job that runs or is to be restarted, at once, and waits until none does."""
    for job in live_jobs(face):
        face.begin(Stop(job, at_once=True))
    until(lambda: not live_jobs(face), seconds)


def live_jobs(face: Workspace) -> list[JobName]:
    return [summary.job.name for summary in face.ask(ListJobs()) if summary.state is not None and summary.state.goes_on]


class Server:
    """A workspace with its supervisor's thread, as a server has it; it can be restarted."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.start()

    def start(self) -> None:
        self.face = open_workspace(self.root)
        self.face.background = True
        self.loop = SupervisorLoop(self.face)
        self.loop.start()

    def end(self) -> None:
        self.loop.stop()
        self.face.close()

    def newest(self, job: str) -> Run:
        """The job's newest run, from the catalog: a job's page takes twenty times as long, and tests ask until something is so."""
        run = runs.newest(self.face.context, JobName(job))
        assert run is not None, f"{job} has no run"
        return run

    def batch(self, job: str) -> int:
        return max((row.batch for row in self.face.ask(ListBatches(job))), default=-1)

    def await_batches(self, job: str, more: int) -> None:
        """Waits for batches past the present one; a run that fails meanwhile fails the test with its log."""
        target = self.batch(job) + more
        until(lambda: self.batch(job) >= target or self._fail_if_failed(job))

    def _fail_if_failed(self, job: str) -> bool:
        newest = self.newest(job)
        assert not newest.state.has_failed and not newest.attempt, self.face.ask(ReadLog(job)).text
        return False

    def stop(self, job: str, *, savepoint: bool) -> str:
        stopped = do(self.face, Stop(job, savepoint=savepoint))
        assert self.newest(job).state is RunState.STOPPED, self.newest(job)
        return stopped.result


@contextmanager
def serving(root: Path) -> Iterator[Server]:
    """A server over `root`; its jobs end with the block."""
    running = Server(root)
    try:
        yield running
    finally:
        end_jobs(running.face)
        running.end()
