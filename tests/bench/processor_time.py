"""Processor time of a process and all that it started, as the kernel counts it, by what its threads do.

A process's clock is read in nanoseconds (clock_gettime(2), the clock of another process), and so is a thread's time
(`/proc/PID/task/TID/schedstat`). Java gives its threads' names to the kernel, which keeps 15 characters.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

PYTHON, PY4J, LISTENERS = "the script's Python", "py4j", "listeners"
ATTRIBUTED = (PYTHON, PY4J, LISTENERS)
"""Where a driver's own work is done: its Python, the calls between that and the JVM, and the thread on which Spark calls listeners."""
STREAM, TASKS, WORKERS, COMPILERS, MEMORY, REST = "stream", "tasks", "Python workers", "compilers", "garbage", "rest"
KINDS = (*ATTRIBUTED, STREAM, TASKS, WORKERS, COMPILERS, MEMORY, REST)
JAVA_THREADS = {
    "Thread-": PY4J,
    "spark-listener-": LISTENERS,
    "stream executio": STREAM,
    "Executor task": TASKS,
    "C1 Compiler": COMPILERS,
    "C2 Compiler": COMPILERS,
    "GC Thread": MEMORY,
    "G1 ": MEMORY,
    "VM Thread": MEMORY,
}
"""How the name of a Java thread begins -> what it does."""
SCHEDULED = 2
"""In the number of a process's clock: the time that it ran (CPUCLOCK_SCHED)."""


@dataclass(frozen=True)
class Sample:
    """Seconds of a processor until now."""

    processes_s: Mapping[int, float]
    """Process -> its seconds, with those of its threads that have ended."""
    threads_s: Mapping[tuple[int, int], tuple[str, float]]
    """(process, thread) -> what it does, its seconds; of threads that live."""


@dataclass(frozen=True)
class Used:
    """Seconds of a processor between two samples."""

    total_s: float
    kinds_s: Mapping[str, float]
    """Threads that ended in between are only in the total; a process that did is in neither."""

    @property
    def attributed_s(self) -> float:
        return sum(self.kinds_s[kind] for kind in ATTRIBUTED)


def sample(root: int) -> Sample:
    """What the process `root` and all below it have used, each by itself."""
    processes_s: dict[int, float] = {}
    threads_s: dict[tuple[int, int], tuple[str, float]] = {}
    for process in _tree(root):
        try:
            kind = _python(process.cmdline())
            processes_s[process.pid] = _clock_s(process.pid)
            threads_s |= _threads(process.pid, kind)
        except (OSError, psutil.NoSuchProcess, psutil.ZombieProcess):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                raise
    return Sample(processes_s, threads_s)


def between(first: Sample, last: Sample) -> Used:
    """What processes and threads that live at the end have used since `first`."""
    kinds_s = dict.fromkeys(KINDS, 0.0)
    for thread, (kind, seconds) in last.threads_s.items():
        kinds_s[kind] += seconds - first.threads_s.get(thread, (kind, 0.0))[1]
    return Used(sum(seconds - first.processes_s.get(pid, 0.0) for pid, seconds in last.processes_s.items()), kinds_s)


def _tree(root: int) -> list[psutil.Process]:
    process = psutil.Process(root)
    return [process, *process.children(recursive=True)]


def _clock_s(pid: int) -> float:
    return time.clock_gettime(~pid << 3 | SCHEDULED)


def _python(command: list[str]) -> str:
    """What a process of Python does; empty of a JVM, whose threads say it. Spark starts its own by the name of a module."""
    if any(word.startswith("pyspark.") for word in command):
        return WORKERS
    return "" if any(word.endswith("java") for word in command[:1]) else PYTHON


def _threads(pid: int, kind: str) -> dict[tuple[int, int], tuple[str, float]]:
    threads_s = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            name, nanoseconds = (task / "comm").read_text(), int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
        threads_s[pid, int(task.name)] = kind or _java(name), nanoseconds / 1e9
    return threads_s


def _java(name: str) -> str:
    return next((kind for start, kind in JAVA_THREADS.items() if name.startswith(start)), REST)
