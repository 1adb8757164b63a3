"""What `savepoint` as a command takes, beside a Python that only imports the libraries of its command line and its HTTP, in turn with it.

The server has been up for a moment, as one that watches jobs has: its warm Sparks, each of which takes a core for seconds, are up.

Run by hand: `python3 -m tests -m bench tests/bench/test_command.py -s`. The server is the real one, in a process of its own.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.bench import machine
from tests.browser.serving import ROOT, served
from tests.workspace.conftest import House

pytestmark = pytest.mark.bench
TIMES = 15
LIMIT_S = 0.5


def took(*words: str) -> tuple[float, float]:
    """Seconds of the clock, and of a processor."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=ROOT, check=True, capture_output=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_savepoint_as_a_command(tmp_path: Path) -> None:
    house = House(tmp_path / "ws")
    house.ran("a")
    house.face.close()
    command = ("-m", "pipelines", "savepoint", "a", "--workspace", str(house.root))
    with served(house.root, tmp_path / "log"):
        took(*command)
        machine.comes_to_rest()
        pairs = [(took(*command), took("-c", "import httpx, typer, pydantic")) for _ in range(TIMES)]
    (wall, cpu), (bare_wall, bare_cpu) = (
        [statistics.median(times) for times in zip(*side, strict=True)] for side in zip(*pairs, strict=True)
    )
    best = min(mine[0] for mine, _ in pairs)
    print(f"\nsavepoint as a command: median {wall:.2f} s ({wall / LIMIT_S:.2f} of the {LIMIT_S} s expected), best {best:.2f} s; ", end="")
    print(f"{cpu:.2f} s of a processor, {cpu / bare_cpu:.1f} times its libraries alone ({bare_wall:.2f} s, {bare_cpu:.2f} s)")
