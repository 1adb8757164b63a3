"""One-off processes end with all that they started: by themselves, when their time is over, when nobody wants them any more."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from pipelines.domain.errors import Unavailable
from pipelines.sandbox import processes, temporary
from tests.waiting import until

FAMILY = """
import os, subprocess, sys, time
from pathlib import Path
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
Path(sys.argv[1], "child").write_text(str(child.pid))
time.sleep(float(os.environ["LIVES_S"]))
print("last words")
sys.exit(3)
"""


class Enough(Exception):
    """What a watcher says."""


def run(folder: Path, lives_s: float, watch: object, timeout_s: float = 60) -> int:
    script = folder / "family.py"
    script.write_text(FAMILY)
    environ = {**os.environ, "LIVES_S": str(lives_s)}
    return processes.run([sys.executable, str(script)], folder, environ, "log", watch, timeout_s)  # type: ignore[arg-type]


def child(folder: Path) -> int:
    return int((folder / "child").read_text())


def gone(pid: int) -> bool:
    """Ended; where nobody reaps orphans it stays as a zombie."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_the_exit_code_and_nothing_else_is_left(tmp_path: Path) -> None:
    assert run(tmp_path, 0.2, lambda: None) == 3
    assert gone(child(tmp_path))
    assert processes.tail(tmp_path / "log", ()) == "last words"


def test_no_tail_has_a_part_of_a_secret(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("x" * 100 + "hunter2hunter2" + "y" * (processes.TAIL_BYTES - 10) + "\nhunter2hunter2\n")
    tail = processes.tail(log, (b"hunter2hunter2",))
    assert len(tail) < processes.TAIL_BYTES and tail.startswith("y") and tail.endswith("\n**************")
    assert processes.tail(log, (b"hunter2hunter2" + b"y" * 20,)).startswith("***")


def test_what_it_starts_has_its_niceness_too(tmp_path: Path) -> None:
    code = (
        "import os, subprocess, sys; print(os.nice(0), flush=True); subprocess.run([sys.executable, '-c', 'import os; print(os.nice(0))'])"
    )
    assert processes.run([sys.executable, "-c", code], tmp_path, dict(os.environ), "log", lambda: None, 60, processes.Share(3)) == 0
    expected = min(os.nice(0) + 3, 19)
    assert (tmp_path / "log").read_text().split() == [str(expected)] * 2


def test_what_it_starts_has_no_more_processors(tmp_path: Path) -> None:
    code = (
        "import os, subprocess, sys; print(len(os.sched_getaffinity(0)), flush=True);"
        "subprocess.run([sys.executable, '-c', 'import os; print(len(os.sched_getaffinity(0)))'])"
    )
    there = len(os.sched_getaffinity(0))
    for cpus, expected in ((1, 1), (there + 1, there)):
        folder = tmp_path / f"{cpus}"
        folder.mkdir()
        share = processes.Share(cpus=cpus)
        assert processes.run([sys.executable, "-c", code], folder, dict(os.environ), "log", lambda: None, 60, share) == 0
        assert (folder / "log").read_text().split() == [str(expected)] * 2


def test_a_watcher_that_raises_ends_the_whole_family(tmp_path: Path) -> None:
    def watch() -> None:
        if (tmp_path / "child").exists() and (tmp_path / "child").read_text():
            raise Enough

    with pytest.raises(Enough):
        run(tmp_path, 600, watch)
    assert gone(child(tmp_path))


def test_its_time_is_limited(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(Unavailable) as late:
        run(tmp_path, 600, lambda: None, timeout_s=0)
    assert late.value.code == "sandbox.timeout"
    assert time.monotonic() - began < 600


def test_what_a_dead_caller_left_is_found_by_its_folder(tmp_path: Path) -> None:
    inside, outside = tmp_path / "a", tmp_path / "ab"
    for folder in (inside, outside):
        folder.mkdir()
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    ours, theirs = (processes.start(command, folder, os.environ, "log") for folder in (inside, outside))
    try:
        processes.end(inside)
        assert ours.wait(10) < 0
        assert theirs.poll() is None
    finally:
        theirs.kill()
        theirs.wait()


def test_an_interpreter_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as refused:
        processes.run(["/no/such/python"], tmp_path, os.environ, "log", lambda: None, 5)
    assert refused.value.code == "sandbox.start"


LEAVES = """
import os, re, sys, time
from pathlib import Path
folder = Path(re.search(r'"-Djava.io.tmpdir=([^"]*)"', os.environ["SPARK_SUBMIT_OPTS"])[1])
(folder / "librocksdbjni.so").write_text("left")
Path(sys.argv[1], "temporary").write_text(str(folder))
time.sleep(600)
"""


def test_the_temporary_folder_of_a_killed_one_goes_with_it(tmp_path: Path) -> None:
    """Of every process in the folder; not that of others, not what the user has named, not another user's."""
    inner, other = tmp_path / "sandbox" / "inner", tmp_path / "other"
    for folder in (inner, other):
        folder.mkdir(parents=True)
    started = [processes.start([sys.executable, "-c", LEAVES], folder, dict(os.environ), "log") for folder in (inner, other)]
    try:
        told = [folder / "temporary" for folder in (inner, other)]
        until(lambda: all(path.exists() and path.read_text() for path in told))
        left, kept = (Path(path.read_text()) for path in told)
        assert (left / "librocksdbjni.so").exists() and left.stat().st_mode & 0o077 == 0
        processes.end(inner.parent)
        assert not left.exists() and kept.exists()
    finally:
        processes.end(tmp_path)
        for child in started:
            child.wait()
    assert not kept.exists()
    named = {"SPARK_SUBMIT_OPTS": "-Djava.io.tmpdir=/scratch"}
    assert temporary.given(named, tmp_path) == named
