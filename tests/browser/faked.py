"""The dashboard on fakes in a process of its own, for tests that look at pages without Spark."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120


@contextmanager
def faked(log: Path, *options: str) -> Iterator[str]:
    """Serves `tests.browser.on_fakes` with these options; gives its address."""
    command = [sys.executable, "-m", "tests.browser.on_fakes", *options]
    with log.open("wb") as out, subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT) as server:
        try:
            yield _address(server, log)
        finally:
            server.terminate()


@retry(wait=wait_fixed(0.2), stop=stop_after_delay(START_SECONDS), retry=retry_if_result(lambda url: not url))
def _address(server: subprocess.Popen[bytes], log: Path) -> str:
    if server.poll() is not None:
        raise AssertionError(f"the server ended with {server.returncode}:\n{log.read_text()}")
    found = re.search(r"serves (http://\S+)", log.read_text())
    return found.group(1) if found else ""
