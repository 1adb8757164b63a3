"""What the sources of a savepoint still hold: asked, kept, said, and in lists without being asked again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain.errors import Conflict, Unavailable
from pipelines.domain.holdings import Usable
from pipelines.domain.job_places import ENDPOINT
from pipelines.domain.jobs import Run
from pipelines.domain.savepoints import SourceOffset
from pipelines.savepoint import held_files, layout
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.export import Export
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.holdings import AskHoldings
from pipelines.verbs.import_ import Import
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest, ShowSavepoint
from pipelines.verbs.system import ListEvents, RebuildCatalog
from pipelines.verbs.take import Take
from pipelines.workspace import holdings
from pipelines.workspace.holdings import Asking
from pipelines.workspace.holdings import gaps as source_gaps
from tests.sourced import FIRST_MS, lay_input, name_input
from tests.workspace.conftest import CODE, House

BEGAN = 9


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    here = House(tmp_path / "ws")
    yield here
    here.face.close()


@pytest.fixture
def run(house: House) -> Run:
    return house.ran()


@pytest.fixture
def files(run: Run, tmp_path: Path) -> list[Path]:
    return lay_input(Path(run.checkpoints) / "counts", tmp_path / "input")


def test_it_is_usable_as_long_as_all_files_read_since_are_there(house: House, files: list[Path]) -> None:
    taken = do(house.face, Take("a", BEGAN))
    assert taken.holdings is None
    assert house.face.plan(AskHoldings(taken.id)).sources == 1
    answer = do(house.face, AskHoldings(taken.id)).holdings
    assert answer is not None and (answer.usable, answer.until_ms) == (Usable.YES, None)
    assert answer.sources[0].why.startswith("all 3 files that were read after it")
    files[BEGAN + 1].unlink()
    files[-1].rename(files[-1].with_suffix(".archived"))
    (asked,) = house.face.ask(ListSavepoints())
    assert asked.holdings == answer, "a list asks nobody"
    lacking = do(house.face, AskHoldings(taken.id)).holdings
    assert lacking is not None and (lacking.usable, lacking.sources[0].gone) == (Usable.NO, 2)
    assert lacking.sources[0].gaps == (files[BEGAN + 1].as_uri(), files[-1].as_uri())
    again = do(house.face, AskHoldings(taken.id)).holdings
    assert again == lacking, "an answer that is the same is not written again at once"
    messages = [event.message for event in house.face.ask(ListEvents("a")) if event.kind == "savepoint.unusable"]
    assert len(messages) == 1 and "2 of the 3 files that were read after it are gone" in messages[0]
    do(house.face, RebuildCatalog())
    assert house.face.ask(ShowSavepoint(taken.id)).holdings == lacking
    do(house.face, Dispose((taken.id,)))
    assert not house.face.layout.savepoint(taken.id).exists()


def test_nothing_begins_without_the_files_that_come_next(house: House, files: list[Path]) -> None:
    taken = do(house.face, Take("a", BEGAN))
    changes = (Fork(taken.id, name="b"), Resume("a", from_savepoint=taken.id), Resume("a", batch=BEGAN))
    assert [house.face.plan(change).refusal for change in changes] == [None] * 3
    files[BEGAN + 1].unlink()
    for change in changes:
        with pytest.raises(Conflict, match=rf"1 of the 3 files .* are gone, such as {files[BEGAN + 1].as_uri()}\.") as refused:
            do(house.face, change)
        assert refused.value.code == "source.gone" and "--force" in refused.value.hint
        forced = house.face.plan(replace(change, force=True))
        assert forced.refusal is None and any("are gone, such as" in warning for warning in forced.warnings)
    assert house.face.plan(Resume("a")).refusal is None, "the job has read it"
    shutil.rmtree(files[0].parent)
    plan = house.face.plan(changes[0])
    assert plan.refusal is None and any(warning.endswith("with their folder.") for warning in plan.warnings), "Spark refuses by itself"


@pytest.mark.parametrize("kind", ["there", "away"])
def test_files_in_a_bucket_are_listed(house: House, run: Run, s3_url: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket, place = open_storage(s3_url), s3_url.replace("s3://", "s3a://")
    names = [f"day 1/{number:03d}.json" for number in range(13)]
    for path in names:
        bucket.write(path, b"")
    name_input(Path(run.checkpoints) / "counts", f"{place}/day%201")
    taken = do(house.face, Take("a", BEGAN))
    fork = Fork(taken.id, name="b")
    assert house.face.plan(fork).refusal is None
    bucket.delete(names[:8])
    answer = do(house.face, AskHoldings(taken.id)).holdings
    assert answer is not None and answer.sources[0].why.startswith("all 3 files that were read after it") and answer.until_ms is not None
    bucket.delete([names[BEGAN + 1]])
    if kind == "away":
        monkeypatch.setattr(held_files, "open_storage", away)
    answer = do(house.face, AskHoldings(taken.id)).holdings
    refused = house.face.plan(fork).refusal
    assert answer is not None
    if kind == "away":
        assert (answer.usable, refused) == (Usable.UNKNOWN, None) and "could look where its files are: gone away" in answer.sources[0].why
    else:
        assert answer.usable is Usable.NO and answer.sources[0].gaps == (f"{place}/day%201/010.json",)
        assert refused is not None and refused.code == "source.gone" and "1 of the 3 files" in refused.message


def test_files_in_another_s3_than_the_servers_are_not_said_to_be_gone(house: House, s3_url: str) -> None:
    """The server's has a bucket of that name, without the files."""
    conf = {ENDPOINT: "http://elsewhere:9000"}
    run = house.lay(do(house.face, RunScript(name="a", script="job.py", code=CODE, args=("--output", "{output}"), conf=conf)))
    name_input(Path(run.checkpoints) / "counts", s3_url.replace("s3://", "s3a://"))
    taken = do(house.face, Take("a", BEGAN))
    answer = do(house.face, AskHoldings(taken.id)).holdings
    assert answer is not None and answer.usable is Usable.UNKNOWN and "another S3 than the server's" in answer.sources[0].why
    for change in (Fork(taken.id, name="b"), Resume("a", batch=BEGAN)):
        assert house.face.plan(change).refusal is None


def away(url: str) -> Storage:
    raise Unavailable("storage.away", "gone away")


def test_many_files_are_not_looked_for_with_every_click(house: House, files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    fork = Fork(do(house.face, Take("a", BEGAN)).id, name="b")
    monkeypatch.setattr(source_gaps, "SLOW_MS", 0)
    assert house.face.plan(fork).refusal is None
    files[-1].unlink()
    assert house.face.plan(fork).refusal is None
    house.clock.pass_ms(source_gaps.KEPT_MS)
    assert house.face.plan(fork).refusal is not None


def test_files_that_go_by_their_age_say_until_when(house: House, files: list[Path]) -> None:
    older, newest = do(house.face, Take("a", BEGAN)).id, do(house.face, Take("a")).id
    for gone in files[:8]:
        gone.unlink()
    asking = Asking(FIRST_MS + 100_000)
    first = holdings.asked_again(house.face.context, older, asking).holdings
    last = holdings.asked_again(house.face.context, newest, asking).holdings
    assert first is not None and last is not None
    keeps_ms = 100_000 - 7_000
    assert [held.sources[0].keeps_ms for held in (first, last)] == [keeps_ms, keeps_ms]
    assert first.until_ms == FIRST_MS + 10_000 + keeps_ms, "when the first file read after it is as old as those that are gone"
    assert last.until_ms == asking.now_ms + keeps_ms, "nothing was read after it yet"


def test_a_hole_among_the_files_is_no_age(house: House, files: list[Path]) -> None:
    taken = do(house.face, Take("a", BEGAN)).id
    out_of_order = holdings.asked_again(house.face.context, taken, Asking(FIRST_MS + 100_000)).holdings
    files[5].unlink()
    assert out_of_order is not None and out_of_order.until_ms is None


def test_what_came_from_elsewhere_nobody_can_tell(house: House, files: list[Path], tmp_path: Path) -> None:
    taken = do(house.face, Take("a", BEGAN))
    do(house.face, AskHoldings(taken.id))
    do(house.face, Export(taken.id, str(tmp_path / "away"), then_dispose=True))
    assert layout.HOLDINGS not in [path.name for path in (tmp_path / "away").rglob("*")]
    other = House(tmp_path / "other")
    do(other.face, Import(str(tmp_path / "away")))
    (imported,) = other.face.ask(ListSavepoints())
    asked = do(other.face, AskHoldings(imported.id)).holdings
    assert asked is not None and asked.usable is Usable.UNKNOWN and "never ran here" in asked.sources[0].why
    other.face.close()


@pytest.mark.parametrize(
    ("source", "offset", "usable", "says"),
    [
        ("rate", "7", Usable.YES, "anew"),
        ("socket", "7", Usable.UNKNOWN, "a socket gives no row twice"),
        ("mine", json.dumps({"place": 3}), Usable.UNKNOWN, "nobody can ask the source mine"),
        ("json", "null", Usable.YES, "all 13 files"),
    ],
)
def test_each_kind_of_source_answers_in_its_way(
    house: House, run: Run, files: list[Path], source: str, offset: str, usable: Usable, says: str
) -> None:
    taken = do(house.face, Take("a", BEGAN))
    (image,) = house.face.ask(ReadManifest(taken.id)).queries
    image = replace(image, sources=(source,), offsets=(SourceOffset("0", offset),))
    others = holdings.others_of(house.face.context, house.face.ask(ReadManifest(taken.id)), image.query)
    own = holdings.checkpoint_in(house.face.context, taken.id, image.query)
    held = holdings.of_source(house.face.context, image, image.offsets[0], own, others, Asking(FIRST_MS))
    assert held.usable is usable and says in held.why
