"""The dashboard on fakes in a process of its own, for tests that look at pages without Spark."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120


@dataclass(frozen=True)
class Faked:
    """A running server on a workspace in memory."""

    url: str

    def arrange(self, *options: str) -> str:
        """Makes its workspace anew as these options of `tests.browser.on_fakes` say; gives its address."""
        httpx.post(f"{self.url}/arrange", json=list(options), timeout=START_SECONDS).raise_for_status()
        return self.url


@contextmanager
def faked(log: Path, *options: str) -> Iterator[Faked]:
    """Serves `tests.browser.on_fakes` with these options."""
    command = [sys.executable, "-m", "tests.browser.on_fakes", *options]
    with log.open("wb") as out, subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT) as server:
        try:
            yield Faked(_address(server, log))
        finally:
            server.terminate()


@retry(wait=wait_fixed(0.2), stop=stop_after_delay(START_SECONDS), retry=retry_if_result(lambda url: not url))
def _address(server: subprocess.Popen[bytes], log: Path) -> str:
    if server.poll() is not None:
        raise AssertionError(f"the server ended with {server.returncode}:\n{log.read_text()}")
    match = re.search(r"serves (http://\S+)", log.read_text())
    return match.group(1) if match else ""
