"""Two arms that take turns, plain `spark-submit` and the driver, and what a window of batches costs in each.

A window begins when Spark and the job have warmed up and ends before the job does, so starts and ends are not in it: those are reported
apart, with the whole run.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy import stats

from tests.bench.processor_time import COMPILERS, KINDS, MEMORY, Sample, Used, between, sample

POLL_S = 0.005
BATCH_S = 300.0
"""How long a commit is waited for."""


@dataclass(frozen=True)
class Window:
    """The batches after `first`, up to `last`, of the queries whose checkpoints are `folders`."""

    folders: tuple[Path, ...]
    first: int
    last: int

    @property
    def batches(self) -> int:
        return self.last - self.first

    def used(self, process: subprocess.Popen[bytes]) -> Used:
        """What `process` and all below it use in the window, which is still to come."""
        first, last = (self._sample(process, batch) for batch in (self.first, self.last))
        return between(first, last)

    def _sample(self, process: subprocess.Popen[bytes], batch: int) -> Sample:
        deadline = time.monotonic() + BATCH_S
        while not all((folder / "commits" / str(batch)).exists() for folder in self.folders):
            assert process.poll() is None, f"it ended before batch {batch} of {self.folders}"
            assert time.monotonic() < deadline, f"no batch {batch} of {self.folders}"
            time.sleep(POLL_S)
        return sample(process.pid)


@dataclass(frozen=True)
class Pair:
    """One window in both arms."""

    ours: Used
    plain: Used

    def total(self) -> float:
        """What comes on top, as a share of all that plain `spark-submit` takes."""
        return self.ours.total_s / self.plain.total_s - 1

    def of_work(self) -> float:
        """The same without compilers and garbage collection, which differ from run to run by more than is measured here."""
        return _work_s(self.ours) / _work_s(self.plain) - 1

    def attributed(self) -> float:
        """What the threads on which the driver works take on top of the same threads of the other arm, as a share of its total."""
        return (self.ours.attributed_s - self.plain.attributed_s) / self.plain.total_s

    def kinds(self, batches: int) -> str:
        """Milliseconds a batch, ours and plain, by what the threads do."""
        figures = ((kind, self.ours.kinds_s[kind] / batches * 1e3, self.plain.kinds_s[kind] / batches * 1e3) for kind in KINDS)
        return ", ".join(f"{kind} {ours:.2f}/{plain:.2f}" for kind, ours, plain in figures)


def measured(pairs: Sequence[Pair]) -> tuple[str, str, str]:
    """What comes on top over all `pairs`, with its interval: in all, without compilers and garbage collection, on the driver's threads."""
    total, work, attributed = (shown([value(pair) for pair in pairs]) for value in (Pair.total, Pair.of_work, Pair.attributed))
    return total, work, attributed


def _work_s(used: Used) -> float:
    return used.total_s - used.kinds_s[COMPILERS] - used.kinds_s[MEMORY]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and by how much the true one may be off it at 95 % (Student's t); two values are needed."""
    return statistics.mean(values), float(stats.sem(values) * stats.t.ppf(0.975, len(values) - 1))


def shown(values: Sequence[float]) -> str:
    if len(values) < 2:
        return f"{values[0]:+.2%}"
    mean, half = interval(values)
    return f"{mean:+.2%} ({mean - half:+.2%} to {mean + half:+.2%})"
