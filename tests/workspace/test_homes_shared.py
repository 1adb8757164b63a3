"""Savepoints at an S3 home that share files: what each costs, what its disposal gives back, and what leaves the home."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain.errors import Corrupt, Unsupported
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.savepoint import layout, objects
from pipelines.savepoint.manifests import ALONE_FORMAT
from pipelines.savepoint.shelves import Shelf
from pipelines.storage.addresses import open_storage
from pipelines.verbs.attach import Attach
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.export import Export
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.import_ import Import
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest
from pipelines.verbs.state import ListStates
from pipelines.verbs.system import RebuildCatalog
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from tests.savepoint import golden
from tests.savepoint.test_remote import upload
from tests.verified import verified
from tests.workspace.conftest import CODE, House
from tests.workspace.test_homes import Passed, files, names

JOB = "theirs"


@pytest.fixture
def theirs(house: House, s3_url: str, tmp_path: Path) -> str:
    """A job of somebody else, with its checkpoint in a bucket; where its savepoints go."""
    bench = golden.bench(tmp_path / "golden", "hdfs")
    upload(bench.checkpoint, f"{s3_url}/live/counts")
    do(house.face, Attach(name=JOB, checkpoints={"counts": f"{s3_url}/live/counts"}, spark_version="4.3.0"))
    return f"{s3_url}/savepoints"


def taken(house: House, home: str, batch: int) -> Savepoint:
    return do(house.face, Take(JOB, home=home, batch=batch))


def size(home: str) -> int:
    return sum(entry.bytes for entry in open_storage(home).list())


def forked(house: House, savepoint: str, name: str) -> dict[str, bytes]:
    run = do(house.face, Fork(savepoint, name=name, code=CODE, script="job.py", args=("{output}",)))
    return files(house.face.context.files.spec(run.job, run.id).checkpoints)


def test_each_costs_what_is_new_and_gives_back_what_nobody_else_needs(house: House, theirs: str) -> None:
    first = taken(house, theirs, 13)
    alone = forked(house, first.id, "alone")
    planned = house.face.plan(Take(JOB, home=theirs, batch=13))
    second, third = taken(house, theirs, 13), taken(house, theirs, 12)
    hows = [house.face.ask(ReadManifest(savepoint.id)).how for savepoint in (second, third)]
    assert hows[0].keys() == {"shared", "written"} and hows[1].keys() == {"shared", "server-copy", "written"}, hows
    assert planned.new_bytes < planned.bytes and second.new_bytes < first.new_bytes
    for gone, left in ((first, (second, third)), (third, (second,)), (second, ())):
        preview, before = house.face.plan(Dispose((gone.id,))), size(theirs)
        done = do(house.face, Dispose((gone.id,)))
        assert preview.frees_bytes == done.frees_bytes == before - size(theirs) > 0
        do(house.face, RebuildCatalog())
        assert {savepoint.id for savepoint in house.face.ask(ListSavepoints())} == {savepoint.id for savepoint in left}
        assert all(do(house.face, Verify(savepoint.id, Trust.INTACT)).reached is Trust.INTACT for savepoint in left)
        assert not [finding for savepoint in left for diagnosis in do(house.face, Diagnose(savepoint.id)) for finding in diagnosis.findings]
    assert names(theirs) == []
    assert forked(house, taken(house, theirs, 13).id, "later") == alone


def test_a_set_frees_what_its_savepoints_share_among_themselves(house: House, theirs: str) -> None:
    both = tuple(taken(house, theirs, 13).id for _ in range(2))
    preview, before = house.face.plan(Dispose(both)), size(theirs)
    assert sum(outcome.plan.frees_bytes for outcome in preview.outcomes if outcome.plan) < preview.frees_bytes == before
    do(house.face, Dispose(both))
    assert names(theirs) == []


def test_an_export_is_alone(house: House, theirs: str, s3_url: str, tmp_path: Path) -> None:
    savepoint = taken(house, theirs, 13)
    here = forked(house, savepoint.id, "here")
    tables = [table.title for table in house.face.ask(ListStates(savepoint.id))]
    do(house.face, Verify(savepoint.id, Trust.INTACT))
    with pytest.raises(Unsupported) as refused:
        do(house.face, Import(f"{theirs}/{savepoint.id}"))
    assert refused.value.code == "import.shared"
    places = [f"{s3_url}/exported", str(tmp_path / "exported"), str(tmp_path / "exported.tar.zst")]
    for place in places:
        do(house.face, Export(savepoint.id, place))
    do(house.face, Dispose((savepoint.id,)))
    assert names(theirs) == []
    for number, place in enumerate(places):
        do(house.face, Import(place))
        manifest = house.face.ask(ReadManifest(savepoint.id))
        assert (manifest.format, manifest.objects) == (ALONE_FORMAT, {})
        assert do(house.face, Verify(savepoint.id, Trust.INTACT)).reached is Trust.INTACT
        assert forked(house, savepoint.id, f"there-{number}") == here
        assert [table.title for table in house.face.ask(ListStates(savepoint.id))] == tables
        do(house.face, Dispose((savepoint.id,)))


def test_savepoints_of_before_stay_as_they_are(house: House, theirs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(Shelf, "shares", lambda *_: False)
        old = taken(house, theirs, 13)
    assert house.face.ask(ReadManifest(old.id)).format == ALONE_FORMAT
    assert not [name for name in names(theirs) if name.startswith(objects.FOLDER)]
    new = taken(house, theirs, 13)
    assert forked(house, old.id, "old") == forked(house, new.id, "new")
    do(house.face, Dispose((new.id,)))
    assert do(house.face, Verify(old.id, Trust.INTACT)).reached is Trust.INTACT
    do(house.face, Dispose((old.id,)))
    assert names(theirs) == []


def test_a_shared_file_that_is_gone_is_damage_of_each_that_names_it(house: House, theirs: str) -> None:
    """The next savepoint makes it anew."""
    both = [taken(house, theirs, 13) for _ in range(2)]
    path, name = next(iter(house.face.ask(ReadManifest(both[0].id)).objects.items()))
    open_storage(theirs).delete([objects.path(name)])
    for savepoint in both:
        (damage,) = do(house.face, Verify(savepoint.id, Trust.COMPLETE)).damages
        assert (damage.path, damage.kind) == (path, "missing")
    assert do(house.face, Verify(taken(house, theirs, 13).id, Trust.INTACT)).reached is Trust.INTACT


def test_intact_is_what_the_store_says(house: House, theirs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No byte of state is read; an object of the same size with another content is found, in each savepoint that names it."""
    both = [taken(house, theirs, 13) for _ in range(2)]
    shelf = house.face.context.shelf(both[0].id)
    with monkeypatch.context() as patched:
        through = Passed(patched)
        assert verified(shelf, both[0].id, Trust.INTACT, 1).reached is Trust.INTACT
        assert verified(shelf, both[0].id, Trust.INTACT, 2).reached is Trust.INTACT
    assert {path.split("/")[1] for path in through.read} <= {layout.MANIFEST, layout.CHECKSUMS, layout.VERIFIED, layout.PROGRESS}
    assert do(house.face, Verify(both[1].id, Trust.INTACT)).reached is Trust.INTACT
    path, name = next((path, name) for path, name in house.face.ask(ReadManifest(both[0].id)).objects.items() if path.endswith(".delta"))
    data = open_storage(theirs).read(objects.path(name))
    open_storage(theirs).write(objects.path(name), bytes(byte ^ 1 for byte in data))
    for savepoint in both:
        (damage,) = do(house.face, Verify(savepoint.id, Trust.INTACT)).damages
        assert (damage.path, damage.kind) == (path, "checksum")
    with pytest.raises(Corrupt):
        do(house.face, Export(both[0].id, f"{theirs}-exported"))
