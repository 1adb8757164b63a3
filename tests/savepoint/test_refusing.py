"""A storage that really refuses: full, read-only, denied, gone in the middle. A clear error, nothing listed, nothing lost, nothing left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import TidemarkError, Unavailable
from pipelines.domain.ids import SavepointId
from pipelines.domain.trust import Trust
from pipelines.savepoint import library, restore, take
from pipelines.savepoint.batch_choice import Newest
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from tests.savepoint import golden
from tests.savepoint.faulty import Fault, FaultyStorage, break_folders
from tests.savepoint.golden import NOW_MS, Bench
from tests.storage import s3_server as servers
from tests.storage.s3_server import ROOT
from tests.verified import verified

SP = SavepointId("sp-1")
SMALL = "stateless"
CODES = {"full": "storage.full", "read-only": "storage.read_only", "denied": "storage.denied"}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, which pytest's own are not, and what is made in it, which a workspace's is not."""
    before = os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
    os.umask(before)


def refused(refusal: str, verb: str, folder: Path) -> dict[str, Any]:
    """What a process of its own says that met `refusal`."""
    namespace = [] if refusal == "denied" else ["unshare", "-rm"]
    command = [*namespace, sys.executable, "-m", "tests.savepoint.refused", refusal, verb, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize(("refusal", "verb"), [case for case in product(CODES, ("take", "fork", "dispose")) if case != ("full", "dispose")])
def test_what_the_system_refuses(refusal: str, verb: str, open_folder: Path) -> None:
    golden.bench(open_folder)
    answer = refused(refusal, verb, open_folder)
    assert answer["error"]["code"] == CODES[refusal]
    assert answer["error"]["hint"]
    assert (answer["left"], answer["lost"]) == ([], [])
    assert answer["listed"] == ["sp-1"]


def test_a_full_disk_lets_go_of_a_savepoint(open_folder: Path) -> None:
    golden.bench(open_folder)
    answer = refused("full", "dispose", open_folder)
    assert (answer["error"], answer["left"], answer["listed"]) == ({}, [], [])


class Goes(Fault):
    """At the k-th step the storage goes away, and stays away."""

    def __init__(self, at: int, go: Callable[[], object]) -> None:
        super().__init__(at)
        self.go = go

    def strike(self) -> None:
        if self.steps == self.at:
            self.go()


@dataclass(frozen=True)
class Place:
    """Where the savepoints and the forks of a job are, and how that place goes away and comes back."""

    root: str
    away: Callable[[], object]
    back: Callable[[], object]

    @property
    def savepoints(self) -> str:
        return f"{self.root}/savepoints"

    @property
    def forks(self) -> str:
        return f"{self.root}/forks"

    def run(self, verb: str, bench: Bench, fault: Fault) -> TidemarkError | None:
        def faulty(url: str) -> Storage:
            return FaultyStorage(open_storage(url), fault)

        with pytest.MonkeyPatch.context() as patch:
            break_folders(patch, fault)
            try:
                if verb == "take":
                    take.take(bench.source(), Newest(), faulty(self.savepoints), take.Naming(SP, NOW_MS))
                else:
                    target = replace(bench.fork(), checkpoints=f"{self.forks}/fork")
                    restore.restore(faulty(self.savepoints), SP, target, NOW_MS, faulty)
            except TidemarkError as error:
                return error
        return None

    def clean(self) -> None:
        library.clean(open_storage(self.savepoints), NOW_MS, lives=lambda *_: False)
        restore.clean(self.forks, NOW_MS, lives=lambda *_: False)

    def files(self, url: str) -> set[str]:
        return {entry.path for entry in open_storage(url).list()}


@pytest.fixture(params=["local", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    if request.param == "local":
        here, gone = tmp_path / "disk", tmp_path / "unplugged"
        here.mkdir()
        yield Place(str(here), lambda: here.rename(gone), lambda: gone.rename(here))
        return
    with servers.serving() as server:
        servers.hurry(monkeypatch)
        server.enter(monkeypatch)
        yield Place(f"s3://{servers.BUCKET}/disk", lambda: server.say("away"), lambda: server.say("back"))


@pytest.mark.parametrize("verb", ["take", "fork"])
def test_a_storage_that_goes_away_and_comes_back(verb: str, place: Place, tmp_path: Path) -> None:
    bench = golden.bench(tmp_path, SMALL)
    if verb == "fork":
        assert place.run("take", bench, Fault(0)) is None
        (tmp_path / "disk" / "forks").mkdir() if "://" not in place.root else None
    counting = Goes(0, place.away)
    began = [path for url in (place.savepoints, place.forks) for path in place.files(url)]
    steps = steps_of(verb, place, bench, counting)
    for part in (0.1, 0.35, 0.6, 0.85):
        error = place.run(verb, bench, Goes(max(2, round(steps * part)), place.away))
        assert isinstance(error, Unavailable), part
        assert error.code in ("storage.vanished", "storage.unreachable")
        assert error.hint
        assert "://" in place.root or not Path(place.root).exists(), "no other storage was made in its place"
        place.back()
        shelf = library.shelf(open_storage(place.savepoints))
        assert ([savepoint.id for savepoint in shelf.savepoints], shelf.unreadable) == ([SP] if verb == "fork" else [], ())
        place.clean()
        left = [path for url in (place.savepoints, place.forks) for path in place.files(url)]
        assert sorted(left) == sorted(began)
    assert place.run(verb, bench, Fault(0)) is None
    assert verified(open_storage(place.savepoints), SP, Trust.INTACT, NOW_MS).damages == ()


def steps_of(verb: str, place: Place, bench: Bench, counting: Fault) -> int:
    """Counted on a place of its own beside, so that nothing is left in `place`."""
    beside = Place(f"{place.root}-counted", place.away, place.back)
    if verb == "fork":
        assert beside.run("take", bench, Fault(0)) is None
    assert beside.run(verb, bench, counting) is None
    return counting.steps
