"""Copies in HDFS by a Spark of the job: told as it goes, killed and cancelled in the middle, and what it leaves then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from pipelines.domain.errors import Conflict, NotFound, TidemarkError, Unavailable
from pipelines.domain.savepoints import StoredFile
from pipelines.sandbox import processes
from pipelines.sandbox.cluster_copies import parted
from pipelines.sandbox.requests import MARK
from pipelines.savepoint import clone
from pipelines.savepoint.clone import Transfer
from pipelines.storage import folders
from pipelines.storage.addresses import open_storage
from pipelines.storage.carrying import Move
from pipelines.storage.protocol import Clone, How, Storage
from pipelines.workspace import cluster_copies, versions
from pipelines.workspace.cluster_copies import ClusterCopies
from pipelines.workspace.tickets import Ticket
from tests.workspace.conftest import House

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]
FILES = 200


def in_hdfs(house: House, url: str) -> Storage:
    """What jobs on one thread of Spark copy: which executors do is shown on YARN (`test_yarn_cluster.py`)."""
    version = versions.get(house.face.context, house.ran().version)
    return open_storage(url, ClusterCopies(house.face.context, replace(version, master="local[1]")))


def transfer(storage: Storage, sizes: Mapping[str, int]) -> Transfer:
    clones = [Clone(path, f"made/{path}", size) for path, size in sizes.items()]
    return Transfer(storage, clones, [StoredFile(file.target, file.bytes) for file in clones])


def test_copies_are_as_the_files_are_and_one_that_is_gone_is_named(house: House, hdfs_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cluster_copies.VARIABLE, "3000050")
    storage, contents = in_hdfs(house, hdfs_url), {"a/ä 1%2F#?.x": bytes(range(100)), "a/b/empty": b"", "c": b"c" * 3_000_000}
    folders.put(storage, contents)
    sizes = {path: len(content) for path, content in contents.items()}
    one = transfer(storage, {"c": sizes.pop("c")})
    assert clone.expect(storage, [one]) == clone.Expected((How.COPY,), 3_000_000, 3_000_000)
    both, ticket = [one, transfer(open_storage(hdfs_url), sizes)], Ticket()
    assert clone.expect(storage, both) == clone.Expected((How.CLUSTER_COPY,) * 2, 3_000_100, 0)
    with pytest.raises(NotFound) as refused:
        clone.all_of(storage, [*both, transfer(storage, {"gone": 100})], ticket)
    assert refused.value.code == "storage.not_found" and "gone" in refused.value.message
    assert {path: storage.read(f"made/{path}") for path in contents} == contents
    assert sorted(entry.path for entry in storage.list("made")) == sorted(f"made/{path}" for path in contents)
    assert ticket.amount is not None and ticket.amount.total == 3_000_200


@pytest.mark.parametrize("ends", ["killed", "cancelled"])
def test_one_that_is_ended_in_the_middle_leaves_nothing(house: House, hdfs_url: str, ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cluster_copies.VARIABLE, "1")
    storage = in_hdfs(house, hdfs_url)
    sources = [f"a/{number}" for number in range(FILES)]
    folders.put(storage, dict.fromkeys(sources, b"." * 100))
    sandbox = house.face.layout.sandbox
    watch = Ending(storage, Ticket.end if ends == "cancelled" else lambda ticket: kill_spark(sandbox))
    with pytest.raises(TidemarkError) as ended:
        clone.all_of(storage, [transfer(storage, dict.fromkeys(sources, 100))], watch)
    assert isinstance(ended.value, Conflict if ends == "cancelled" else Unavailable), ended.value
    assert ended.value.code == ("operation.cancelled" if ends == "cancelled" else "storage.cluster_copy")
    assert not processes.lives(sandbox) and not list(sandbox.iterdir())
    assert 0 < len(list(storage.list("made"))) < FILES
    folders.remove(storage, "made")
    assert folders.children(storage) == ["a"]


class Ending(Ticket):
    """Ends the work once its first file is there."""

    def __init__(self, storage: Storage, end: Callable[[Ticket], None]) -> None:
        super().__init__()
        self._storage, self._end_it, self._is_asked = storage, end, False

    def advance(self, done: int) -> None:
        if not self._is_asked and next(iter(self._storage.list("made")), None) is not None:
            self._is_asked = True
            self._end_it(self)
        super().advance(done)


def kill_spark(sandbox: Path) -> None:
    """SIGKILL to the JVM of the one process that works in the sandbox."""
    for process in psutil.process_iter(["name"]):
        if process.info["name"] == "java" and process.environ().get(MARK, "").startswith(str(sandbox)):
            process.kill()


def test_tasks_have_about_as_many_bytes() -> None:
    moves = [Move(str(number), "", number) for number in (5, 1, 9, 3, 3, 1)]
    assert [sum(move.bytes for move in task) for task in parted(moves, 3)] == [9, 7, 6]
    assert [len(task) for task in parted(moves, 10)] == [1] * 6
