"""A disk that hosts share for tests: a real GlusterFS volume of one brick, which its own client of each host mounts by FUSE.

Its server keeps the locks, and gives those of a client away whose connection ends: what a file server does with a host that it does not
hear of. No kernel needs to know NFS.
"""

from __future__ import annotations

import shlex
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.api.receivers import free_port
from tests.waiting import until

MISSING = "GlusterFS is not installed: apt-get install glusterfs-server"
SERVER = """
volume brick
  type storage/posix
  option directory {brick}
end-volume
volume locks
  type features/locks
  subvolumes brick
end-volume
volume server
  type protocol/server
  option transport-type tcp
  option transport.address-family inet
  option transport.socket.bind-address 127.0.0.1
  option transport.socket.listen-port {port}
  option auth.addr.locks.allow 127.0.0.1
  subvolumes locks
end-volume
"""
CLIENT = """
volume client
  type protocol/client
  option transport-type tcp
  option transport.address-family inet
  option remote-host 127.0.0.1
  option remote-port {port}
  option remote-subvolume locks
end-volume
"""


@dataclass(frozen=True)
class Disk:
    """A served volume, and the path under which each host has it."""

    folder: Path
    path: Path

    def mount(self, name: str) -> str:
        """The shell's command that mounts it, by a client of this name that lives in the background."""
        return shlex.join(["glusterfs", f"--volfile={self.folder / 'client.vol'}", self._log_of(name), str(self.path)])

    def _log_of(self, name: str) -> str:
        return f"--log-file={self.folder / f'{name}.log'}"

    def cut_off(self, name: str) -> None:
        """SIGKILL to the client of this name: the processes of its host live, and their disk is gone."""
        (client,) = (
            each
            for each in psutil.process_iter(["name", "cmdline"])
            if each.info["name"] == "glusterfs" and self._log_of(name) in each.info["cmdline"]
        )
        client.kill()


@contextmanager
def disk(folder: Path) -> Iterator[Disk]:
    """A volume, mounted here, too. All that it starts ends with the block."""
    assert shutil.which("glusterfsd") and shutil.which("glusterfs"), MISSING
    shared = Disk(folder, folder / "shared")
    for path in (folder / "brick", shared.path):
        path.mkdir(parents=True)
    port = free_port()
    (folder / "server.vol").write_text(SERVER.format(brick=folder / "brick", port=port))
    (folder / "client.vol").write_text(CLIENT.format(port=port))
    command = ["glusterfsd", "--no-daemon", f"--volfile={folder / 'server.vol'}", f"--log-file={folder / 'server.log'}"]
    with subprocess.Popen(command) as server:
        try:
            until(lambda: _answers(port), 30, what="GlusterFS does not answer")
            subprocess.run(shlex.split(shared.mount("here")), check=True)
            until(shared.path.is_mount, 30, what=(folder / "here.log").read_text())
            yield shared
        finally:
            subprocess.run(["umount", "--lazy", str(shared.path)], check=False)
            server.send_signal(signal.SIGTERM)
            server.wait(60)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
