"""A server that is told to end in the middle of an import, or while somebody listens: at once, and nothing half-done stays."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import psutil
import pytest

from dashboard.server import INSIST_SECONDS
from pipelines.client.wire import bearer
from pipelines.domain.operations import OperationState
from pipelines.domain.savepoints import Savepoint
from pipelines.savepoint import layout
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.export import Export
from pipelines.verbs.face import do
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.take import Take
from tests.browser.serving import Served, served, streamlit_run
from tests.waiting import until
from tests.workspace.conftest import House

LARGE_BYTES = 400_000_000
AT_ONCE_S = 15.0


def made_large(taken: Savepoint) -> None:
    """One more file of nothing: an archive of it is small, and takes its time to unpack."""
    name = "queries/counts/checkpoint/large"
    (Path(taken.path) / name).touch()
    os.truncate(Path(taken.path) / name, LARGE_BYTES)
    manifest = Path(taken.path) / layout.MANIFEST
    raw = json.loads(manifest.read_text())
    raw["files"].append({**raw["files"][0], "path": name, "bytes": LARGE_BYTES})
    manifest.unlink()
    manifest.write_text(json.dumps(raw))


def archived(house: House, url: str) -> None:
    house.ran()
    taken = do(house.face, Take("a"))
    made_large(taken)
    do(house.face, Export(taken.id, url))
    do(house.face, Dispose((taken.id,)))
    house.face.close()


def test_an_import_is_broken_off_by_ctrl_c(tmp_path: Path) -> None:
    house, url = House(tmp_path / "ws"), str(tmp_path / "large.tar.zst")
    archived(house, url)
    shelf = house.face.layout.savepoints
    with served(house.root, tmp_path / "log") as server:
        began = server.tell("/savepoints/import", {"url": url})
        until(lambda: any(shelf.glob("*/queries")), 60, every=0.005)
        serving = psutil.Process(json.loads(house.face.layout.server_file.read_text())["pid"])
        workers = serving.children(recursive=True)
        told = time.monotonic()
        serving.send_signal(signal.SIGINT)
        until(lambda: not serving.is_running() or serving.status() == psutil.STATUS_ZOMBIE, 60)
        assert time.monotonic() - told < AT_ONCE_S
        assert workers != [] and psutil.wait_procs(workers, timeout=AT_ONCE_S)[1] == []
    house.open()
    (ended,) = [operation for operation in house.face.ask(ListOperations()) if operation.id == began["id"]]
    assert ended.state is not OperationState.DONE
    assert house.face.ask(ListSavepoints()) == [] and list(shelf.iterdir()) == []
    house.face.close()


@pytest.mark.parametrize("begun", [served, streamlit_run])
def test_a_stream_ends_whole_with_its_server(begun: Callable[[Path, Path], AbstractContextManager[Served]], tmp_path: Path) -> None:
    """One that the server had to cut off would be an error of its reader, and one that it waited for would keep it ten minutes."""
    with begun(tmp_path / "ws", tmp_path / "log") as server:
        serving = psutil.Process(json.loads((server.workspace / "server.json").read_text())["pid"])
        with httpx.stream("GET", f"{server.url}/api/v1/stream", headers=bearer(server.token), timeout=60) as stream:
            assert stream.status_code == 200
            serving.send_signal(signal.SIGTERM)
            assert [line for line in stream.iter_lines() if line and not line.startswith(":")] == []
        until(lambda: not serving.is_running() or serving.status() == psutil.STATUS_ZOMBIE, INSIST_SECONDS - 5)
