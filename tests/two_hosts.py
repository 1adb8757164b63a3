"""Hosts for tests: each has pids, a name and a `/proc` of its own, and, where it mounts one, a disk; the network is this machine's."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psutil

from pipelines.domain.hosts import BOOT_FILE
from tests.browser.serving import Served, served
from tests.gluster import Disk
from tests.waiting import until

IN_IT = 'hostname "$0" && mount --bind "$1" /etc/hosts && eval "$2" && shift 2 && { "$@" & while :; do sleep 1; done; }'
"""The first process waits for whatever ends: the host lives on when what it has begun is killed."""


@dataclass(frozen=True)
class Host:
    """A host with a server of a workspace."""

    server: Served

    @property
    def _first(self) -> psutil.Process:
        (first,) = psutil.Process(self.server.pid).children()
        return first

    @property
    def _served(self) -> list[psutil.Process]:
        return [each for each in self._first.children() if "dashboard" in (each.as_dict(["cmdline"])["cmdline"] or ())]

    def has_server(self) -> bool:
        return bool(self._served)

    def kill_server(self) -> None:
        """SIGKILL to the server alone: what it has begun goes on."""
        (server,) = self._served
        server.kill()

    def kill(self) -> None:
        """SIGKILL to its first process, with which all others of it end."""
        first = self._first
        first.kill()
        until(lambda: not first.is_running(), 60, what="a host goes on without its first process")


@contextmanager
def host(name: str, workspace: Path, folder: Path, disk: Disk | None = None) -> Iterator[Host]:
    """A host of this name, on which a server or a standby of the workspace answers. It ends with the block.

    One with a disk mounts it for itself, and was booted for itself: as a machine of its own.
    """
    names, log = folder / f"{name}.hosts", folder / f"{name}.log"
    names.write_text(f"127.0.0.1 localhost {name}\n")
    mounts = "true"
    if disk is not None:
        (folder / f"{name}.boot").write_text(f"{uuid4()}\n")
        mounts = f"mount --bind {shlex.quote(str(folder / f'{name}.boot'))} {BOOT_FILE} && {disk.mount(name)}"
    mapped = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    apart = ["unshare", *mapped, "--pid", "--uts", "--ipc", "--mount-proc", "--fork", "--kill-child"]
    with served(workspace, log, "--standby", under=[*apart, "sh", "-c", IN_IT, name, str(names), mounts]) as server:
        there = Host(server)
        try:
            yield there
        finally:
            if psutil.Process(server.pid).children():
                there.kill()
