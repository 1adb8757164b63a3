"""The user whose rights a job's code has: this process's own, unless a server was told another one (`--run-as`).

It is one for the whole process, as a umask is. A process of a job's code is begun as that user, with its groups and an environment that
holds none of the server's secrets.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.domain.errors import Invalid, Unavailable

VARIABLE = "TIDEMARK_RUN_AS"
"""The user, where no option names one."""
PASSED_VARIABLE = "TIDEMARK_RUN_AS_PASSES"
"""Names of further variables that the code gets, separated by commas."""
PASSED = frozenset(
    (
        "PATH",
        "TZ",
        "LANG",
        "LANGUAGE",
        "TERM",
        "JAVA_HOME",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "YARN_CONF_DIR",
        "CLASSPATH",
        "LD_LIBRARY_PATH",
    )
)
PREFIXES = ("LC_", "SPARK_", "PYSPARK_", "PYTHON", "HADOOP_")
OURS = frozenset(
    (
        "TIDEMARK_RUN",
        "TIDEMARK_STOP_GRACE_S",
        "TIDEMARK_LEASE_PATIENCE_S",
        "TIDEMARK_LEASE_S",
        "TIDEMARK_PYTHON",
        "TIDEMARK_BATCH",
        "TIDEMARK_QUERY",
    )
)
"""What drivers and scripts are told by Tidemark itself."""
HARD_LINKS = Path("/proc/sys/fs/protected_hardlinks")
TIMEOUT_S = 60.0
PROBE = "import os, sys; sys.path.insert(0, sys.argv[1]); import pipelines.domain.runs; os.stat(os.path.join(sys.argv[2], '.'))"
"""What a process of a job's code has to reach: the interpreter, Tidemark's packages, and the way into the workspace."""


@dataclass(frozen=True)
class User:
    """A user of this machine, with all its groups."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str

    @property
    def switch(self) -> Mapping[str, Any]:
        """Arguments of `subprocess` for a process of this user's."""
        return {"user": self.uid, "group": self.gid, "extra_groups": list(self.groups)}


@dataclass(frozen=True)
class Other:
    """Another user than this process's, and the workspace in which it gets what its jobs need."""

    user: User
    workspace: Path


_OTHER: list[Other] = []
"""One at most."""


def other() -> Other | None:
    """Whose rights a job's code has; None for those of this process."""
    return _OTHER[0] if _OTHER else None


def name() -> str:
    """The name of who runs a job's code."""
    as_other = other()
    if as_other is not None:
        return as_other.user.name
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def assume(as_other: Other | None) -> None:
    """From now on processes of a job's code are begun as that user; None for this process's own."""
    _OTHER[:] = [as_other] if as_other is not None else []


def switch() -> Mapping[str, Any]:
    """Arguments of `subprocess` for a process that runs a job's code, or the interpreter or Java that a job names."""
    as_other = other()
    return as_other.user.switch if as_other is not None else {}


def environ(variables: Mapping[str, str]) -> Mapping[str, str]:
    """What of `variables` a process of a job's code gets: all, or as another user what is known to be no secret, with that user's HOME."""
    as_other = other()
    if as_other is None:
        return variables
    user = as_other.user
    further = {name.strip() for name in os.environ.get(PASSED_VARIABLE, "").split(",")}
    passed = {name: text for name, text in variables.items() if name in PASSED | OURS | further or name.startswith(PREFIXES)}
    return {**passed, "HOME": user.home, "USER": user.name, "LOGNAME": user.name}


def ask(command: Sequence[str], variables: Mapping[str, str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Runs the interpreter or Java that a job names as a job's code would be, until it has answered. Raises OSError where there is none,
    and subprocess.TimeoutExpired."""
    return subprocess.run(
        command,
        env=environ(variables),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        stdin=subprocess.DEVNULL,
        **switch(),
    )


def links_are_protected() -> bool:
    """Whether the system keeps users from linking files of others that they may not write."""
    return HARD_LINKS.is_file() and HARD_LINKS.read_text().strip() != "0"


def named(name: str) -> User:
    """The user `name`, which may be begun from this process. Raises Invalid (`run_as.unknown`, `run_as.same`) and Unavailable
    (`run_as.right`, `run_as.hard_links`)."""
    try:
        known = pwd.getpwnam(name)
    except KeyError as error:
        raise Invalid("run_as.unknown", f"There is no user {name!r} on this machine", "Make one: useradd --system NAME") from error
    if known.pw_uid in (0, os.getuid()):
        message = (
            f"{name} is {'the user of this server' if known.pw_uid == os.getuid() else 'root'}, which a job's code is to be kept apart from"
        )
        raise Invalid("run_as.same", message, "Name another user, or leave --run-as out.")
    if os.geteuid() != 0:
        message = f"This process may not begin others as {name}"
        raise Unavailable("run_as.right", message, "Start the server as root, which it needs for this, or leave --run-as out.")
    if not links_are_protected():
        message = "Users of this machine may link files of others (fs.protected_hardlinks is 0)"
        raise Unavailable("run_as.hard_links", message, "Set it: sysctl -w fs.protected_hardlinks=1")
    return User(name, known.pw_uid, known.pw_gid, tuple(os.getgrouplist(name, known.pw_gid)), known.pw_dir)


def check_reach(user: User, packages: Path, workspace: Path, python: str = sys.executable) -> None:
    """Raises Unavailable (`run_as.reach`) where `user` cannot start `python`, import Tidemark from `packages` or enter the workspace."""
    command = [python, "-c", PROBE, str(packages), str(workspace)]
    try:
        done = subprocess.run(
            command,
            cwd="/",
            env={"PATH": os.defpath},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            **user.switch,
        )
    except OSError as error:
        raise _unreachable(user, (Path(python), packages, workspace), str(error)) from error
    if done.returncode:
        raise _unreachable(user, (Path(python), packages, workspace), (done.stderr.strip().splitlines() or ["it does not start"])[-1])


def _unreachable(user: User, places: tuple[Path, ...], why: str) -> Unavailable:
    closed = next(filter(None, (_closed(user, place) for place in places)), None)
    hint = f"chmod o+x {closed}, or move what is in it to where {user.name} gets (/opt, /var/lib)." if closed else "See to its rights."
    where = f": {closed} is closed to that user" if closed else f": {why}"
    return Unavailable("run_as.reach", f"{user.name} cannot run a job's code from here{where}", hint)


def _closed(user: User, place: Path) -> Path | None:
    """The first folder on the way to `place`, and to what it is a link to, that the user may not enter, by its modes."""
    ways = [place, Path(os.path.realpath(place))]
    folders = [folder for way in ways for folder in (*reversed(way.parents), *([way] if way.is_dir() else []))]
    return next((folder for folder in dict.fromkeys(folders) if not enters(user, folder)), None)


def enters(user: User, folder: Path) -> bool:
    """Whether the modes of `folder` let the user through."""
    seen = folder.stat()
    if seen.st_uid == user.uid:
        return bool(seen.st_mode & 0o100)
    return bool(seen.st_mode & (0o010 if seen.st_gid in (user.gid, *user.groups) else 0o001))
