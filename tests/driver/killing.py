"""Kills a driver and its JVM at the moment a file of its batch appears, and says from what is on disk which step that was."""

from __future__ import annotations

import ctypes
import os
import re
import select
import signal
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests import java
from tests.driver.process import Driver, batches

IN_MOVED_TO = 0x00000080
IN_CREATE = 0x00000100
_EVENT = struct.Struct("iIII")
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Moment:
    """When to kill: a file whose name matches `pattern` comes to `folder`."""

    step: str
    folder: str
    """Below the checkpoint, or below the output for one that begins with `output/`."""
    pattern: str
    """Its first group, where it has one and this is in the name, is the batch."""
    ahead: int = 0
    """By how much that number is above the batch's: a batch writes the next version of the state."""

    def place(self, checkpoint: Path, output: Path) -> Path:
        inner = self.folder.removeprefix("output").lstrip("/")
        return output / inner if self.folder.startswith("output") else checkpoint / self.folder

    def has_come(self, name: str, batch: int) -> bool:
        """Whether `name` is such a file of `batch` or, as the killer may come late, of a later one."""
        match = re.fullmatch(self.pattern, name)
        return match is not None and (not match.re.groups or match[1] is None or int(match[1]) - self.ahead >= batch)


def kill_when(driver: Driver, folder: Path, has_come: Callable[[str], bool], seconds: float) -> str | None:
    """SIGKILL for the driver and its JVM as soon as such a file comes to `folder`; the file's name, None if the driver ended first.

    The kernel reports the file (inotify), and who is to be killed is known before: between the file and the kill lies a wake-up.
    """
    processes = session(driver)
    descriptor = _watch(folder)
    try:
        file_name = next((name for name in _names(descriptor, driver, seconds) if has_come(name)), None)
        if file_name is not None:
            _kill(processes)
    finally:
        os.close(descriptor)
    driver.process.wait(60)
    return file_name


def session(driver: Driver) -> list[int]:
    """The pids to kill, the JVM's first: it is what writes."""
    own = psutil.Process(driver.process.pid)
    children = sorted(own.children(recursive=True), key=lambda child: "java" not in java.name(child))
    return [*(child.pid for child in children), own.pid]


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _watch(folder: Path) -> int:
    descriptor = int(_LIBC.inotify_init1(os.O_CLOEXEC))
    if descriptor < 0 or _LIBC.inotify_add_watch(descriptor, os.fsencode(folder), IN_MOVED_TO | IN_CREATE) < 0:
        raise OSError(ctypes.get_errno(), f"cannot watch {folder}")
    return descriptor


def _names(descriptor: int, driver: Driver, seconds: float) -> Iterator[str]:
    """Names of files as they come, until the driver ends; fails when nothing comes for so long."""
    waited = 0.0
    while driver.process.poll() is None:
        ready, _, _ = select.select([descriptor], [], [], 0.5)
        if not ready:
            waited += 0.5
            assert waited < seconds, driver.log
            continue
        waited = 0.0
        data, at = os.read(descriptor, 1 << 16), 0
        while at < len(data):
            length = _EVENT.unpack_from(data, at)[3]
            yield data[at + _EVENT.size : at + _EVENT.size + length].rstrip(b"\0").decode()
            at += _EVENT.size + length


def reached(checkpoint: Path, output: Path) -> str:
    """How far the newest batch came before the kill: the last of its steps that is on disk."""
    planned, committed = _newest(checkpoint, "offsets"), _newest(checkpoint, "commits")
    seen = max((_newest(checkpoint, f"sources/{source.name}") for source in (checkpoint / "sources").iterdir()), default=-1)
    if planned == committed:
        return "source log written" if seen > planned else "committed"
    in_sink = _newest(output, "_spark_metadata") if (output / "_spark_metadata").is_dir() else -1
    if in_sink >= planned or (output / f"{planned}.rows").exists():
        return "sink committed"
    has = [any(partition.glob(f"**/{planned + 1}[._]*")) for partition in checkpoint.glob("state/0/[0-9]*")]
    if has and all(has):
        return "state written"
    return "state half written" if any(has) else "planned"


def _newest(folder: Path, log: str) -> int:
    return max([*batches(folder, log), *(int(path.stem) for path in (folder / log).glob("[0-9]*.compact"))], default=-1)
