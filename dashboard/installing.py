"""Runs pip, and tells what it does in a line for each thing that takes time. Standard library only."""

from __future__ import annotations

import collections
import compileall
import os
import queue
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

SILENCE_S = 10.0
"""After so long without news the last line is said again, so that nobody thinks it hangs."""

DOWNLOAD_WORTH_SAYING = re.compile(r"^\s*Downloading (\S+?)-\d\S* \((\d[\d.]* [MG]B)\)")
COLLECTING = re.compile(r"^Collecting ([A-Za-z0-9._-]+)==\S+ \(from -r ")
HAD = re.compile(r"^Requirement already satisfied: ([A-Za-z0-9._-]+)==\S+ in \S+ \(from -r ")
BUILDING = re.compile(r"^\s*Building wheel for (\S+?) .*: started$")
INSTALLING = re.compile(r"^Installing collected packages: (.*)$")


class SetupFailed(Exception):
    """The environment could not be made; the message says why and what to do."""


class Narration:
    """pip's own lines, condensed: counts the requirements, names large downloads, builds and the installation."""

    def __init__(self, requirements: int) -> None:
        self.requirements = requirements
        self.seen = 0

    def __call__(self, line: str) -> str | None:
        """The line to print for a line of pip's; None for most."""
        if match := COLLECTING.match(line) or HAD.match(line):
            self.seen += 1
            return f"{self.seen}/{self.requirements} {match[1]}"
        if match := DOWNLOAD_WORTH_SAYING.match(line):
            return f"downloading {match[1]} ({match[2]})"
        if match := BUILDING.match(line):
            return f"building {match[1]}"
        if match := INSTALLING.match(line):
            return f"installing {match[1].count(',') + 1} packages"
        return None


def compile_ours(root: Path) -> None:
    """Makes Python's bytecode of ours, as pip does of what it installs. Where PYTHONDONTWRITEBYTECODE is set, as images of containers have
    it, each driver, worker and command would compile all that it imports."""
    for package in ("dashboard", "pipelines"):
        compileall.compile_dir(str(root / package), quiet=2)


def install(python: Path, requirements: Path, say: Callable[[str], None], log: Path, inherit: tuple[int, ...] = ()) -> None:
    """Installs `requirements` with the pip of `python`; its whole output goes to `log`. Raises SetupFailed with pip's last words."""
    if not any(python.parent.parent.glob("lib/*/site-packages/pip")):  # an environment that another tool made may lack it
        subprocess.run([str(python), "-m", "ensurepip"], capture_output=True)
    command = [str(python), "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    condense = Narration(sum(1 for line in requirements.read_text().splitlines() if line.strip() and not line.startswith("#")))
    scratch = log.parent / "tmp"
    scratch.mkdir(exist_ok=True)
    last_words: collections.deque[str] = collections.deque(maxlen=15)
    with subprocess.Popen(
        [*command, "-r", str(requirements)],
        env={**os.environ, "TMPDIR": str(scratch)},  # what a killed pip leaves goes with the environment
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        pass_fds=inherit,
    ) as pip, log.open("w") as whole:  # fmt: skip
        try:
            for line in _lines(pip, say, condense):
                whole.write(line)
                last_words.append(line)
        except BaseException:
            pip.terminate()
            raise
    shutil.rmtree(scratch)
    if pip.returncode:
        hint = "Is there a network? pip obeys its own settings (proxy, index). Start again when it is mended."
        message = f"pip could not install {requirements.name} (exit code {pip.returncode}):\n\n{''.join(last_words)}"
        raise SetupFailed(f"{message}\n{hint}\nAll of its output: {log}")


def _lines(pip: subprocess.Popen[str], say: Callable[[str], None], condense: Callable[[str], str | None]) -> Iterator[str]:
    """pip's lines as they come, each told about; and the last news again after every silence."""
    arrived: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_pump, args=(pip, arrived), daemon=True).start()
    news = "starting pip"
    while True:
        try:
            line = arrived.get(timeout=SILENCE_S)
        except queue.Empty:
            say(f"… still {news}")
            continue
        if line is None:
            return
        if told := condense(line):
            news = told
            say(told)
        yield line


def _pump(pip: subprocess.Popen[str], arrived: queue.Queue[str | None]) -> None:
    """Moves pip's output into the queue; None marks its end."""
    assert pip.stdout is not None
    for line in pip.stdout:
        arrived.put(line)
    arrived.put(None)
