"""A real server on a port of its own, in a workspace of its own; all that it starts is ended with it, by id."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from pipelines.client.wire import bearer
from pipelines.sandbox.requests import MARK
from tests.entering import token_of

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120
END_SECONDS = 60
READS_NONE = False
"""Certificates are for HTTPS: reading them takes twenty times as long as what is asked for here."""


@dataclass(frozen=True)
class Served:
    """A running server."""

    url: str
    workspace: Path
    pid: int

    @property
    def token(self) -> str:
        """The token that it lets in."""
        return token_of(self.workspace)

    def ask(self, path: str) -> Any:
        """What REST answers to a GET below `/api/v1`."""
        answer = httpx.get(f"{self.url}/api/v1{path}", headers=bearer(self.token), timeout=60, verify=READS_NONE)
        answer.raise_for_status()
        return answer.json()

    def tell(self, path: str, body: Any) -> Any:
        """What REST answers to a POST below `/api/v1`."""
        answer = httpx.post(f"{self.url}/api/v1{path}", json=body, headers=bearer(self.token), timeout=60, verify=READS_NONE)
        answer.raise_for_status()
        return answer.json()


@contextmanager
def served(workspace: Path, log: Path, *options: str, under: Sequence[str] = (), **variables: str) -> Iterator[Served]:
    """Starts `python -m dashboard`, as the last arguments of the command `under`, and waits until it says that it serves."""
    command = [*under, sys.executable, "-m", "dashboard", "--port", "0", "--workspace", str(workspace), *options]
    with _begun(command, workspace, log, variables) as server:
        yield server


@contextmanager
def streamlit_run(workspace: Path, log: Path) -> Iterator[Served]:
    """Starts `streamlit run dashboard/server.py` and waits until it says that it serves."""
    options = ["--server.port", "0", "--server.address", "127.0.0.1", "--server.headless", "true"]
    command = [sys.executable, "-m", "streamlit", "run", "dashboard/server.py", *options]
    with _begun(command, workspace, log, {"TIDEMARK_WORKSPACE": str(workspace)}) as server:
        yield server


@contextmanager
def _begun(command: Sequence[str], workspace: Path, log: Path, variables: Mapping[str, str]) -> Iterator[Served]:
    environ = {**os.environ, "PYTHONUNBUFFERED": "1", **variables}
    with log.open("wb") as out, subprocess.Popen(command, cwd=ROOT, env=environ, stdout=out, stderr=subprocess.STDOUT) as server:
        try:
            yield Served(_address(server, log), workspace, server.pid)
        finally:
            _end(server, workspace)


@retry(wait=wait_fixed(0.2), stop=stop_after_delay(START_SECONDS), retry=retry_if_result(lambda url: not url))
def _address(server: subprocess.Popen[bytes], log: Path) -> str:
    """The address that the server prints once it answers."""
    if server.poll() is not None:
        raise AssertionError(f"the server ended with {server.returncode}:\n{log.read_text()}")
    match = re.search(r"serves (http://\S+)/\?token=", log.read_text())
    return match.group(1) if match else ""


def _end(server: subprocess.Popen[bytes], workspace: Path) -> None:
    """First the server, so that nothing is started again; then every process of the workspace's runs."""
    server.terminate()
    try:
        server.wait(timeout=END_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
    left = list(_of_runs(workspace))
    for process in left:
        _quietly(process.kill)
    psutil.wait_procs(left, timeout=END_SECONDS)


def _of_runs(workspace: Path) -> Iterator[psutil.Process]:
    """Processes that carry a run of this workspace in their environment: drivers and all that they started."""
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK, "").startswith(str(workspace)):
                yield process
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue


def _quietly(act: Any) -> None:
    try:
        act()
    except psutil.NoSuchProcess:
        return
