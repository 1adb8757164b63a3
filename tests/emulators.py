"""Emulators of Google's and Azure's object stores, with fsspec's clients of them, for `tests/long`.

All of it comes from PyPI and npm (Azure's emulator needs Node.js), 400 MB, each once into the user's cache.
"""

from __future__ import annotations

import base64
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import fsspec
import pytest

from pipelines.sandbox import classes
from tests.api.receivers import free_port
from tests.runtimes import made_once
from tests.waiting import until

PACKAGES = ("gcsfs==2026.10.1", "adlfs==2026.8.0", "gcp-storage-emulator==2026.7.19")
AZURITE = "azurite@3.35.0"
BUCKET, ACCOUNT = "tidemark", "account"
KEY = base64.b64encode(b"a key of the emulator's own").decode()
NO_NODE = "needs Node.js with npm; to get it: apt-get install nodejs npm (Debian), dnf install nodejs (Fedora)"


def clients() -> Path:
    """The folder with fsspec's clients, for the end of this process's `sys.path`: what is pinned for Tidemark comes first. Processes
    that it starts have it in front of that: PYTHONPATH knows no other place.
    """
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-compile", "--target"]
    return made_once(_cache() / "clients", lambda folder: subprocess.run([*pip, folder, *PACKAGES], check=True))


@dataclass(frozen=True)
class Emulator:
    """One that runs: the address of an empty bucket of it, and the variables by which fsspec's client takes it for the store."""

    url: str
    environ: Mapping[str, str]

    def enter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in {**self.environ, "PYTHONPATH": str(clients())}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "path", [*sys.path, str(clients())])
        fsspec.process_entries()  # else it has read already whose schemes are installed


@contextmanager
def google() -> Iterator[Emulator]:
    port = free_port()
    words = ["gcp_storage_emulator", "start", "--host", "127.0.0.1", "--port", str(port), "--default-bucket", BUCKET, "-M", "-q"]
    with _served([sys.executable, "-m", *words], port, {"PYTHONPATH": str(clients())}):
        no_question = {"GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false"}  # the client would ask Google for the kind of the bucket
        yield Emulator(f"gs://{BUCKET}", {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}", **no_question})


@contextmanager
def azure() -> Iterator[Emulator]:
    """Azurite has the Blob endpoint, which the client asks, and not that of Data Lake, which Hadoop would."""
    if shutil.which("npm") is None:
        pytest.skip(NO_NODE)
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix"]
    folder, port = made_once(_cache() / "azurite", lambda folder: subprocess.run([*npm, folder, AZURITE], check=True)), free_port()
    words = ["--blobPort", str(port), "--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--disableTelemetry"]
    with _served([str(folder / "node_modules/.bin/azurite-blob"), *words], port, {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"}):
        endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"
        told = f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={endpoint};"
        make = "import os; from azure.storage.blob import BlobServiceClient as C; C.from_connection_string(os.environ['TOLD'])"
        environ = {**os.environ, "PYTHONPATH": str(clients()), "TOLD": told}
        subprocess.run([sys.executable, "-c", f"{make}.create_container({BUCKET!r})"], env=environ, check=True)
        yield Emulator(f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net", {"AZURE_STORAGE_CONNECTION_STRING": told})


def _cache() -> Path:
    return classes.cache_folder().parent / "emulators"


@contextmanager
def _served(command: list[str], port: int, environ: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(command, env={**os.environ, **environ}, stdout=subprocess.DEVNULL)
    try:
        until(lambda: _listens(port))
        yield
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
