"""Workers do what they are asked, one request after the other; what takes too much, or what nobody wants, ends with its process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipelines.domain.errors import Conflict, NotFound, TidemarkError, Unavailable
from pipelines.workers.pool import Pool
from pipelines.workers.task import MEGABYTE, Task
from tests.waiting import until

TASK = Task("tests.workers.toy", "toy", "The toy", "Play with another.", seconds=30, memory_bytes=256 * MEGABYTE, answer_bytes=MEGABYTE)
ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def pool(idle_s: float = 60, **limits: Any) -> Iterator[Pool]:
    made = Pool(replace(TASK, **limits), idle_s)
    yield made
    made.close()


@pytest.fixture(scope="module")
def warm() -> Iterator[Pool]:
    with pool(most=1) as made:
        yield made


def refused(asked: Pool, *request: Any) -> TidemarkError:
    with pytest.raises(TidemarkError) as error:
        asked.do(list(request))
    return error.value


@dataclass
class Watching:
    """Remembers what it is told; cancels where `ends`."""

    ends: bool = False
    steps: list[tuple[str, int]] = field(default_factory=list)
    done: int = 0

    def step(self, step: str, total: int = 0) -> None:
        self.steps.append((step, total))

    def advance(self, done: int) -> None:
        self.done += done
        if self.ends:
            raise Conflict("toy.cancelled", "Nobody wants it", "")


def test_one_process_serves_many_requests(warm: Pool) -> None:
    pid = warm.do(["print", "what a library prints is no answer"])
    assert pid != os.getpid() and warm.do(["count", 3]) == pid


def test_errors_of_the_work_are_raised_and_end_nothing(warm: Pool) -> None:
    pid = warm.do([])
    missing, failure = refused(warm, "miss", "ball"), refused(warm, "fail", "out of toys")
    assert isinstance(missing, NotFound) and (missing.code, missing.hint) == ("toy.not_found", "Name another.")
    assert (failure.group, failure.message) == ("internal", "LookupError: out of toys")
    assert warm.do([]) == pid


def test_who_watches_is_told_everything(warm: Pool) -> None:
    watching = Watching()
    warm.do(["count", 5_000], watching)
    assert (watching.steps, watching.done) == ([("counting", 5_000)], 5_000)


def test_the_work_asks_and_may_be_refused(warm: Pool) -> None:
    questions: list[Any] = []
    warm.do(["ask", {"may": "I"}], asked=questions.append)

    def no(question: Any) -> None:
        raise Conflict("toy.no", f"no {question}", "Ask somebody else.")

    with pytest.raises(Conflict) as error:
        warm.do(["ask", "toy"], asked=no)
    assert questions == [{"may": "I"}] and error.value.message == "no toy"


@pytest.mark.parametrize(
    ("request_", "limits", "code"),
    [
        (["sleep", 60], {"seconds": 0.5}, "toy.timeout"),
        (["fill", 1024 * MEGABYTE], {}, "toy.memory"),
        (["talk", 4 * MEGABYTE], {}, "toy.too_large"),
        (["die", 3], {}, "toy.ended"),
    ],
    ids=["time", "memory", "the answer", "its own end"],
)
def test_what_takes_too_much_is_ended_with_its_process(request_: list[Any], limits: dict[str, Any], code: str) -> None:
    with pool(**limits) as made:
        began = time.monotonic()
        refusal = refused(made, *request_)
        assert isinstance(refusal, Unavailable) and refusal.code == code and refusal.message.startswith("The toy ") and refusal.hint
        assert time.monotonic() - began < 20
    with pool() as other:
        assert other.do([])


def test_a_process_that_ran_out_of_memory_is_not_used_again() -> None:
    with pool(most=1) as made:
        pid = made.do([])
        refused(made, "fill", 1024 * MEGABYTE)
        assert made.do([]) != pid


def test_who_cancels_does_not_wait() -> None:
    with pool() as made:
        pid = made.do([])
        with pytest.raises(Conflict, match="Nobody"):
            made.do(["sleep", 60], Watching(ends=True))
        assert not psutil.pid_exists(pid)


def test_a_worker_that_nobody_asks_is_ended() -> None:
    with pool(idle_s=0.05) as made:
        pid = made.do([])
        until(lambda: not psutil.pid_exists(pid))
        assert made.do([]) != pid


def test_a_closed_pool_has_no_workers_and_does_nothing() -> None:
    with pool() as made:
        pid = made.do([])
    assert not psutil.pid_exists(pid)
    assert refused(made, "count", 1).code == "toy.closed"


def test_workers_end_with_who_started_them() -> None:
    code = "import os; from tests.workers.test_workers import TASK, Pool; print(Pool(TASK).do([]), flush=True); os._exit(0)"
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    until(lambda: not psutil.pid_exists(int(process.stdout)) or psutil.Process(int(process.stdout)).status() == psutil.STATUS_ZOMBIE)
