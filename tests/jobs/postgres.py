"""A real PostgreSQL server of Debian's package, in a folder and on a port of its own; what root starts runs as the package's user."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER = "postgres"
PATIENCE_S = "400"


def programs() -> Path:
    """The newest installed version's folder of programs."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    assert versions, "PostgreSQL is not installed: apt-get install postgresql"
    return versions[-1].parent


@contextmanager
def serving() -> Iterator[str]:
    """A running server's URL. Nothing is kept on disk for sure (fsync is off): only processes are killed here, not the machine."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    if os.geteuid() == 0:
        user = pwd.getpwnam(USER)
        os.chown(folder, user.pw_uid, user.pw_gid)
    try:
        port = free_port()
        data, options = folder / "data", f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off"
        run(folder, "initdb", "-D", str(data), "-U", USER, "-A", "trust", "--no-sync")
        run(folder, "pg_ctl", "-D", str(data), "-l", str(folder / "log"), "-o", options, "-t", PATIENCE_S, "-w", "start")
        try:
            yield f"postgresql://{USER}@127.0.0.1:{port}/postgres"
        finally:
            run(folder, "pg_ctl", "-D", str(data), "-m", "immediate", "-t", PATIENCE_S, "-w", "stop")
    finally:
        shutil.rmtree(folder)


def run(folder: Path, program: str, *args: str) -> None:
    become = ["runuser", "-u", USER, "--"] if os.geteuid() == 0 else []
    subprocess.run([*become, str(programs() / program), *args], check=True, cwd=folder, stdout=subprocess.DEVNULL)


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])
