"""What golden workspace 2 has besides: a job of several files whose query has no name, with a table in its own warehouse; a fork that names
a file by its hash alone."""

from __future__ import annotations

from typing import Any

from tests.golden import frozen
from tests.golden.shell import ALL_INPUT, BUILD, FILES_SEEN, INPUT, Shell

JOB = "minutes"
KEYS = "k0 k1\n"
LARGE_BYTES = 3_100_000
"""More than a version carries."""


def make_expected() -> dict[str, dict[str, list[Any]]]:
    """Job -> table -> the rows of a run over all the input that was never interrupted."""
    (BUILD / "jobs" / "keys.txt").write_text(KEYS)
    shell = Shell(BUILD / "uninterrupted")
    shell.run(BUILD / "jobs" / "minutes.py", JOB, "--input", str(ALL_INPUT), "--output", "{output}")
    shell.await_end(JOB)
    return {JOB: {"minutes": frozen.rows(frozen.place(shell.workspace / "jobs" / JOB, "minutes"))}}


def make(shell: Shell) -> dict[str, tuple[str, int]]:
    """All of it; job -> the savepoint that tests name, and how many files of the input are in it."""
    shell.run(BUILD / "jobs" / "minutes.py", JOB, "--input", str(INPUT), "--output", "{output}")
    shell.await_end(JOB)
    saved = shell.savepoint(JOB, "--label", "of several files")
    shell("experiment", saved, "--name", "of two keys", "--variant", "minutes_again", "--with-parent")
    shell.await_end("minutes_again")
    large = BUILD / "shared" / "model.bin"
    large.parent.mkdir()
    large.write_bytes(bytes(LARGE_BYTES))
    shell("fork", saved, "--name", "shipped", "--files", large)
    shell.await_end("shipped")
    shipped = shell.savepoint("shipped", "--label", "with a file that is known by its hash")
    for savepoint in (saved, shipped):
        assert shell.json("verify", savepoint)["reached"] == "intact"
    shell("export", saved, BUILD / "exported" / f"{JOB}.tar.zst")
    shell("state", saved)
    return {JOB: (saved, FILES_SEEN), "shipped": (shipped, FILES_SEEN)}
