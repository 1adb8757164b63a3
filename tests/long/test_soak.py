"""A job that is saved, killed, stopped, taken back and forked at random for a long time has the rows of one that nobody touched.

    TIDEMARK_SOAK_MINUTES=480 TIDEMARK_SOAK_SEED=7 python3 -m tests tests/long -s

Each step is printed with its seed, so that a failure can be walked again.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pipelines.domain.restart_strategies import Strategy
from pipelines.domain.runs import RunState
from pipelines.domain.trust import Trust
from pipelines.verbs.experiments import Compare
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListRetained
from pipelines.verbs.restart_strategy import SetRestartStrategy
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from pipelines.workspace import example
from tests.waiting import until
from tests.workspace.serving import Server, serving

pytestmark = [pytest.mark.long, pytest.mark.spark]

MINUTES = float(os.environ.get("TIDEMARK_SOAK_MINUTES", "30"))
SEED = int(os.environ.get("TIDEMARK_SOAK_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
CONF = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "512m",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",  # a batch without data makes more of the next rows late: who lags has none
}
UNTOUCHED, SUBJECT = "untouched", "subject"


@dataclass
class Soak:
    """A workspace with a job that nobody touches and one that everything is done to."""

    server: Server
    chance: random.Random
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def begin(self) -> None:
        events = str(self.server.face.layout.root / "jobs" / "events" / "output")
        made = ("--out", "{output}", "--rate", "40", "--interval", "2")
        counted = ("--events", events, "--output", "{output}", "--window", "4 seconds", "--delay", "4 seconds", "--trigger", "1 second")
        do(self.server.face, RunScript(name="events", script="post_events.py", code=example.code("post_events.py"), args=made))
        for job in (UNTOUCHED, SUBJECT):
            code = example.code("post_engagement.py")
            do(self.server.face, RunScript(name=job, script="post_engagement.py", code=code, args=counted, conf=CONF))
            self.server.await_batches(job, 3)
        do(self.server.face, SetRestartStrategy(SUBJECT, Strategy.NONE))
        self.save()

    def save(self) -> None:
        savepoint = do(self.server.face, Take(SUBJECT))
        level = self.chance.choice((Trust.COMPLETE, Trust.INTACT, Trust.PROVED))
        assert do(self.server.face, Verify(savepoint.id, level)).reached is level, savepoint

    def kill(self) -> None:
        pid = self.server.newest(SUBJECT).pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        until(lambda: self.server.newest(SUBJECT).state is RunState.FAILED)
        do(self.server.face, Resume(SUBJECT))

    def stop_and_resume(self) -> None:
        self.server.stop(SUBJECT, savepoint=self.chance.random() < 0.5)
        do(self.server.face, Resume(SUBJECT))

    def rewind(self) -> None:
        self.server.stop(SUBJECT, savepoint=False)
        kept = [retained.batch for retained in self.server.face.ask(ListRetained(SUBJECT))]
        do(self.server.face, Resume(SUBJECT, batch=self.chance.choice(kept[-20:])))

    def go_back(self) -> None:
        self.server.stop(SUBJECT, savepoint=False)
        do(self.server.face, Resume(SUBJECT, from_savepoint=self.chance.choice(self.server.face.ask(ListSavepoints(SUBJECT))[:5]).id))

    def fork(self) -> None:
        name = f"fork_{next(self.numbers)}"
        do(self.server.face, Fork(self.chance.choice(self.server.face.ask(ListSavepoints(SUBJECT))[:5]).id, name=name))
        self.server.await_batches(name, 3)
        self.is_equal(name)
        self.server.stop(name, savepoint=False)
        do(self.server.face, Forget(name))

    def restart(self) -> None:
        self.server.end()
        self.server.start()

    def is_equal(self, job: str) -> None:
        """Waits until the job has as many rows as the untouched one has now; up to there both have the same ones."""
        far = self.server.face.ask(Compare(UNTOUCHED, job)).rows_a
        until(lambda: self.server.face.ask(Compare(UNTOUCHED, job)).equal >= far or self.server._fail_if_failed(job))
        rows = self.server.face.ask(Compare(UNTOUCHED, job))
        assert (rows.only_a, rows.only_b, rows.changed) == (0, 0, 0), rows


@pytest.mark.timeout(MINUTES * 60 + 1_800)
def test_a_job_that_everything_is_done_to(tmp_path: Path) -> None:
    print(f"\nseed {SEED}, {MINUTES:g} minutes")
    with serving(tmp_path / "ws") as server:
        soak = Soak(server, random.Random(SEED))
        soak.begin()
        steps: list[Callable[[], None]] = [soak.save, soak.kill, soak.stop_and_resume, soak.rewind, soak.go_back, soak.fork, soak.restart]
        ends = time.monotonic() + MINUTES * 60
        for number in itertools.count(1):
            step = soak.chance.choice(steps)
            print(f"{number} {step.__name__}", flush=True)
            step()
            server.await_batches(SUBJECT, soak.chance.randrange(1, 4))
            if time.monotonic() > ends:
                break
        soak.is_equal(SUBJECT)
