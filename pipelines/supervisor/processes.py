"""Driver processes: started in a session of their own, known by pid *and* start time, found again after a restart, reaped.

The steps of a start, and what a crash after each leaves: (1) the run's folder and `run.json` are there: nothing runs, it is started
later; (2) the process is spawned with the run's folder on its command line, or a warm one has become its driver, which says so in its own
folder: `find` sees it and it is adopted; (3) `process.json` records it: it is adopted by that.

A pid is this host's. Of a process of another one nothing is known here: it neither lives nor has left anything, and is sent no signal.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil

from pipelines.domain.hosts import Place
from pipelines.domain.processes import Process
from pipelines.domain.run_specs import RunSpec
from pipelines.domain.runs import LOG_FILE
from pipelines.sandbox import members, processes
from pipelines.sandbox.members import Member
from pipelines.sandbox.requests import MARK, RUN_FILE
from pipelines.storage import hosts

START_TOLERANCE_S = 2.0
"""A start time is the boot time plus ticks: it moves a little when the clock is set."""

_CHILDREN: dict[int, subprocess.Popen[bytes]] = {}
"""Drivers that are children of this process, by pid: only their parent can reap them, whichever supervisor looks after them."""


def spawn(
    command: Sequence[str], run_folder: Path, environ: Mapping[str, str], stdin: int = subprocess.DEVNULL, stands: Path | None = None
) -> Process:
    """Starts `command` with the run's folder as its last argument, where it `stands`, in that folder if nowhere; raises OSError where it
    cannot be started."""
    child = processes.start(command, run_folder, environ, LOG_FILE, stdin, stands)
    _CHILDREN[child.pid] = child
    return Process(child.pid, psutil.Process(child.pid).create_time(), host=hosts.here())


def standing(spec: RunSpec, run_folder: Path) -> Path:
    """The working directory of a job's driver: its output, where each run finds what another one left at a relative path. The run's own
    folder where the output is in another storage, or on a disk that is not mounted: file sinks with relative paths are refused there."""
    output = Path(spec.output)
    return output if output.is_dir() else run_folder


def hand_over(member: Member, module: str, run_folder: Path, stands: Path) -> Process:
    """Has a warm process become the run's driver, which `stands` in that folder; raises OSError, and the process has ended then."""
    try:
        member.become(module, run_folder, LOG_FILE, stands)
    except OSError:
        member.end()
        raise
    _CHILDREN[member.pid] = member.child
    return _taken(psutil.Process(member.pid).create_time(), member.pid, member.home)


def find(run_folder: Path) -> Process | None:
    """The driver that has this run's folder on its command line or in its own folder, for a start that was not recorded."""
    for process in psutil.process_iter(["cmdline", "create_time", "status"]):
        command = process.info["cmdline"] or []
        if not command or process.info["status"] == psutil.STATUS_ZOMBIE:
            continue
        if command[-1] == str(run_folder):
            return Process(process.pid, process.info["create_time"], host=hosts.here())
        if members.MODULE in command and members.run_of(Path(command[-1])) == str(run_folder):
            return _taken(process.info["create_time"], process.pid, Path(command[-1]))
    return None


def _taken(started: float, pid: int, home: Path) -> Process:
    return Process(pid, started, str(home), round((home / RUN_FILE).stat().st_mtime * 1000), hosts.here())


def is_here(known: Process) -> bool:
    """Whether its pid is this host's."""
    return hosts.place(known.host) is Place.HERE


def alive(known: Process) -> bool:
    """Whether this very process runs here; one that ended is reaped if it is ours."""
    child = _child(known)
    if child is not None:
        return child.poll() is None
    return _same(known) is not None


def return_code(known: Process) -> int | None:
    """The exit code (of a killed process: minus the signal), None where it is no child of this process or still runs."""
    child = _child(known)
    return child.poll() if child else None


def forget(known: Process) -> None:
    """Drops what is remembered of an ended child, whose pid may be another's from now on."""
    child = _child(known)
    if child is not None and child.poll() is not None:
        del _CHILDREN[known.pid]


def terminate(known: Process) -> None:
    """SIGTERM to the driver alone: it stops its queries while its Spark still runs."""
    process = _same(known)
    if process is not None:
        _signal(process, signal.SIGTERM)


def kill(known: Process, run_folder: Path) -> None:
    """SIGKILL to the driver and to all that it started."""
    for process in [_same(known), *_members(known, run_folder)]:
        if process is not None:
            _signal(process, signal.SIGKILL)


def remains(known: Process, run_folder: Path) -> bool:
    """Whether processes that the driver started still run."""
    return any(process.pid != known.pid for process in _members(known, run_folder))


def beyond(known: Process, run_folder: Path, limit_bytes: int) -> int:
    """The memory of the driver and all that it started, where that is more than the limit; else 0. What processes share counts once:
    as that is slower to read, only where the plain sum is too much."""
    members = list(_members(known, run_folder))
    if sum(_bytes(process, "rss") for process in members) <= limit_bytes:
        return 0
    shared = sum(_bytes(process, "pss") for process in members)
    return shared if shared > limit_bytes else 0


def _bytes(process: psutil.Process, of: str) -> int:
    """Its resident memory, or its share of that; 0 of one that is gone."""
    try:
        memory = process.memory_full_info() if of == "pss" else process.memory_info()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0
    return int(getattr(memory, of))


def _child(known: Process) -> subprocess.Popen[bytes] | None:
    return _CHILDREN.get(known.pid) if is_here(known) else None


def _same(known: Process) -> psutil.Process | None:
    if not is_here(known):
        return None
    try:
        process = psutil.Process(known.pid)
        same = abs(process.create_time() - known.started) < START_TOLERANCE_S and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return None
    return process if same else None


def _members(known: Process, run_folder: Path) -> Iterator[psutil.Process]:
    """Living processes of the driver's session that carry the run's variable."""
    for process in psutil.process_iter() if is_here(known) else ():
        try:
            if os.getsid(process.pid) == known.pid and process.status() != psutil.STATUS_ZOMBIE and _carries(process, known, run_folder):
                yield process
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue


def _carries(process: psutil.Process, known: Process, run_folder: Path) -> bool:
    """Whether the process has the run's variable, or that of the warm process before it was a driver. A process of another user, whose
    environment cannot be read, is not ours."""
    try:
        return process.environ().get(MARK, "") in (str(run_folder), known.home or str(run_folder))
    except psutil.AccessDenied:
        return False


def _signal(process: psutil.Process, number: int) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return
