"""Prepares `.venv` from requirements.txt and enters it: what `python3 -m dashboard` and `python3 -m tests` do first.

Standard library only: it runs on a bare Python, before anything is installed. What tests alone need is installed for them alone. The
environment goes through three states, told apart by files inside it: *unfinished* (a set-up began: the next one starts over), *ready*
(the stamp, written last, says for which Python and which requirements), and *unknown* (somebody else made it: completed in place).
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

from dashboard.installing import SetupFailed, compile_ours, install
from dashboard.needs import STAMP, UNFINISHED, Need, need, parts, wanted

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements.txt"
VENV = ROOT / ".venv"
TESTS = "tests"
ENTERED = "TIDEMARK_ENTERED"
"""Environment variable with the pid of the process that is becoming the environment's Python: it must not try twice."""

Say = Callable[[str], None]


def enter(module: str, arguments: list[str], say: Say) -> None:
    """Returns if this process runs in a ready environment, else makes it ready and becomes `python -m module` in it."""
    entered, tests = os.environ.pop(ENTERED, "") == str(os.getpid()), module == TESTS
    if need(VENV, wanted(VENV, REQUIREMENTS, tests=tests)) is not Need.NOTHING:
        prepare(VENV, REQUIREMENTS, say, tests=tests)
    elif Path(sys.prefix).resolve() == VENV.resolve():
        return
    elif entered:
        raise SetupFailed(f"{sys.executable} does not run in {VENV} but in {sys.prefix}. Is PYTHONHOME set? Unset it, or delete {VENV}.")
    python = str(VENV / "bin" / "python")
    os.environ[ENTERED] = str(os.getpid())
    os.execv(python, [python, "-m", module, *arguments])


def prepare(venv: Path, requirements: Path, say: Say, *, tests: bool = False) -> None:
    """Makes `venv` ready, without what tests alone need, or for them too.

    A set-up that is killed at any point is started over by the next; two at once wait for each other.

    1. The mark *unfinished* is there before anything else is. 2. Create, install, find Java. 3. The stamp. 4. The mark goes.
    """
    with _lock(venv.parent, say) as lock:
        want = wanted(venv, requirements, tests=tests)
        what = need(venv, want)
        if what is Need.NOTHING:
            return
        _require_venv_module()
        if venv.is_symlink():
            raise SetupFailed(
                f"{venv} is a link to {venv.resolve()}, and is not ready for this folder. Delete the link: one is made here then."
            )
        if what is Need.CREATE:
            say(f"creating {venv} with Python {want.python} (the first start takes a few minutes, most of them for downloads)")
        else:
            say(f"bringing {venv} in line with {requirements.name}")
        venv.mkdir(exist_ok=True)
        (venv / UNFINISHED).touch()
        if what is Need.CREATE:
            _empty(venv)
            _create(venv)
        chosen = venv / requirements.name
        chosen.write_text("".join(parts(requirements)[: 1 + tests]))
        _fill(venv, chosen, say, lock)
        (venv / STAMP).write_text(json.dumps(want.as_json()))
        (venv / UNFINISHED).unlink()
        say("ready")


def _fill(venv: Path, requirements: Path, say: Say, lock: int) -> None:
    """Installs, and finds Java. Where pip says itself that it failed, it left nothing half done: the next start takes it up from here."""
    try:
        install(venv / "bin" / "python", requirements, say, venv / "setup.log", (lock,))
        compile_ours(ROOT)
        say(f"found {_java(venv)}")
    except SetupFailed:
        (venv / UNFINISHED).unlink()
        raise


def _empty(venv: Path) -> None:
    """Deletes what an earlier set-up left, but not the mark, so that being killed here is no different from being killed later."""
    for entry in venv.iterdir():
        if entry.name == UNFINISHED:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _create(venv: Path) -> None:
    """A virtual environment in the folder that is already there, made by the Python below any environment we are in."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    made = subprocess.run([base, "-m", "venv", str(venv)], capture_output=True, text=True)
    if made.returncode:
        raise SetupFailed("Python could not create the environment:\n" + (made.stdout + made.stderr).strip())


def _java(venv: Path) -> str:
    """Which Java the environment runs Spark on, asked in the environment, where the packaged one can be seen."""
    code = (
        "from pipelines.domain.errors import TidemarkError\nfrom pipelines.sandbox.java import java_home\n"
        "try: print(java_home())\nexcept TidemarkError as e: raise SystemExit(f'{e.message}\\n  {e.hint}')"
    )
    asked = subprocess.run([str(venv / "bin" / "python"), "-c", code], cwd=ROOT, capture_output=True, text=True)
    if asked.returncode:
        raise SetupFailed(asked.stderr.strip())
    return asked.stdout.strip()


def _require_venv_module() -> None:
    """Debian's python3 comes without these two; says what to install."""
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if missing:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        raise SetupFailed(
            f"This Python ({sys.executable}) lacks its standard module {' and '.join(missing)}, which creates the environment.\n"
            f"Install it and start again. On Debian and Ubuntu:  apt-get install {package}"
        )


@contextlib.contextmanager
def _lock(folder: Path, say: Say) -> Iterator[int]:
    """Holds the folder for one set-up at a time. The installer inherits the lock, so one that outlives us still holds it."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another start is preparing the environment; waiting for it")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _narrator() -> Say:
    """Lines on stderr with the time since the set-up began."""
    import time

    began = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - began:6.1f} s] {line}", file=sys.stderr, flush=True)

    return say


def _structured(line: str, level: str = "INFO") -> None:
    """A line as `server_log` writes them, whose library the set-up has yet to install."""
    from datetime import UTC, datetime

    entry = {"timestamp": datetime.now(UTC).isoformat(), "level": level, "logger": "dashboard.environment", "message": line, "job": None}
    print(json.dumps(entry), file=sys.stderr, flush=True)


def run(module: str, arguments: list[str], *, structured_log: bool = False) -> None:
    """`enter`, ending the process with a plain message (in a structured log an error) where the environment cannot be made."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        enter(module, arguments, _structured if structured_log else _narrator())
    except SetupFailed as failed:
        _end(str(failed), structured_log)
    except KeyboardInterrupt:
        _end("Interrupted. The next start sets up again from the beginning.", structured_log)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(why: str, structured_log: bool) -> NoReturn:
    if structured_log:
        _structured(why, "ERROR")
        sys.exit(1)
    sys.exit(f"\n{why}\n")
