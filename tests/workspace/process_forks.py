"""Processes that may be killed on their way, as forks of one that has all modules at hand: importing them takes longer than the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


@contextmanager
def of(module: str) -> Iterator[Callable[..., int]]:
    """A function that has a fork of `python -m MODULE` do what the module does with some words, and answers with its exit code."""
    command = [sys.executable, "-m", module]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        into, out = process.stdin, process.stdout

        def code(*words: object) -> int:
            into.write("\t".join(map(str, words)) + "\n")
            into.flush()
            return int(out.readline())

        try:
            yield code
        finally:
            process.kill()


def import_ahead() -> None:
    """What a workspace that is opened imports, and each fork would."""
    import cronsim  # noqa: F401
    import duckdb  # noqa: F401
    import pyarrow  # noqa: F401
    import pydantic  # noqa: F401


def each(work: Callable[..., None]) -> None:
    """In that process: does the work with the words of each line, in a fork, and says how that ended."""
    import_ahead()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            work(*line.rstrip("\n").split("\t"))
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
