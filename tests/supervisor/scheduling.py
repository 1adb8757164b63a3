"""A workspace on a clock that the test sets, with the supervisor's schedules and no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job, Run
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.domain.schedules import Attempt
from pipelines.domain.watch import UNWATCHED
from pipelines.supervisor.schedules import Scheduler
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.workspace import savepoints
from pipelines.workspace.schedules.takes import Takes
from pipelines.workspace.schedules.work import ScheduledWork
from tests.waiting import until
from tests.workspace.conftest import House as Opened

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
BEGAN_MS = 500_000 * HOUR_MS + 1


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now_ms = BEGAN_MS

    def __call__(self) -> int:
        return self.now_ms


class House(Opened):
    """A workspace with a scheduler of one kind of work, and a job `a` that runs."""

    def __init__(self, root: Path, work: type[ScheduledWork] = Takes) -> None:
        self.work = work
        self.hand = Clock()
        super().__init__(root)
        self.clock = self.hand  # type: ignore[assignment]
        self.reopen()
        self.scheduler = Scheduler(self.face.context, self.work)

    def restart(self) -> None:
        """The server ends, and another one begins."""
        self.scheduler.close()
        self.reopen()
        self.scheduler = Scheduler(self.face.context, self.work)

    def after(self, ms: int) -> Attempt | None:
        """What the job's newest time has come to, once so much time has passed and the supervisor has attended to it."""
        self.hand.now_ms += ms
        self.scheduler.tick()
        until(lambda: all(future.done() for future in self.scheduler._working.values()))
        self.scheduler.tick()
        return self.scheduler._work.last(self.job())

    def job(self) -> Job:
        return self.face.ask(ShowJob("a")).summary.job

    def scheduled(self, job: str = "a") -> Savepoint:
        """A savepoint as a schedule takes it."""
        planned = savepoints.planned_take(self.face.context, JobName(job), Take(job), Reason.SCHEDULED)
        return savepoints.publish(self.face.context, planned, UNWATCHED)

    def another_batch(self, run: Run) -> None:
        """The newest batch goes: it is another one that is the newest now."""
        newest = max((Path(run.checkpoints) / "counts" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        newest.unlink()

    def taken(self) -> Sequence[Savepoint]:
        return self.face.ask(ListSavepoints("a"))

    def kinds(self) -> list[str]:
        return [event.kind for event in reversed(self.face.ask(ListEvents("a")))]

    def messages(self, kind: str) -> list[str]:
        return [event.message for event in self.face.ask(ListEvents("a", kind=kind))]
