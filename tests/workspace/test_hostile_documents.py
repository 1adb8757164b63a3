"""Documents that somebody else wrote, or a failing disk: whatever is in them, the workspace opens, lists, and is made anew."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.runs import RunState
from pipelines.domain.trust import Trust
from pipelines.supervisor.loop import Supervisor
from pipelines.verbs.annotate import Annotate
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.experiments import ListExperiments, ShowTree
from pipelines.verbs.face import do
from pipelines.verbs.fork import Variant
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import ListEvents, RebuildCatalog, ShowHealth
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from tests.workspace.conftest import House

DEEP = b'{"format": 1, "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
"""What a reader that calls itself for each level cannot read."""
Spoiling = Callable[[bytes], bytes]


def numbers(value: Any, text: str) -> Spoiling:
    """Every number of a document in each of its lines becomes `value`, or what `text` says where JSON has no such value."""

    def spoil(data: bytes) -> bytes:
        lines = data.splitlines() if data.count(b"\n{") else [data]
        return b"\n".join(json.dumps(changed(json.loads(line))).replace('"\\u0000"', text).encode() for line in lines) + b"\n"

    def changed(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: changed(inner) for name, inner in part.items()}
        if isinstance(part, list):
            return [changed(inner) for inner in part]
        return value if type(part) in (int, float) else part

    return spoil


SPOILINGS: dict[str, Spoiling] = {
    "2**63": numbers(2**63, ""),
    "10**15": numbers(10**15, ""),
    "negative": numbers(-(2**80), ""),
    "NaN": numbers("\0", "NaN"),
    "1e999": numbers("\0", "1e999"),
    "truths": numbers(True, ""),
    "texts": numbers("\ud800", ""),
    "deep": lambda _: DEEP + b"\n",
    "a list": lambda _: b"[[]]\n",
    "empty": lambda _: b"",
    "no text": lambda _: b"\xff\xfe\0{\n" * 10,
}


def of_a_job(house: House, name: str) -> list[Path]:
    run = house.face.ask(ShowJob(name)).runs[0]
    folder = house.folder(run)
    house.progress(run, 3)
    return [
        house.face.layout.job_file(run.job),
        house.face.layout.wanted_file(run.job),
        *(folder / name for name in ("run.json", "process.json", "exit.json", "queries.jsonl", "progress.jsonl")),
    ]


GOLDEN = "limit_format2"
"""A checkpoint of few files: a template has it some thirty times, and each test copies all."""
OF_A_SAVEPOINT = ("manifest.json", "checksums.json", "verified.json", "annotation.json", "imported.json", "making.json", "disposing.json")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """One document of each kind, each of a job or savepoint of its own: none hides another. Beside them a job `sane` with a savepoint."""
    house = House(tmp_path_factory.mktemp("template") / "ws")
    documents = made(house)
    house.face.close()
    return house.root, [path.relative_to(house.root).as_posix() for path in documents]


def made(house: House) -> list[Path]:
    house.ran("sane", GOLDEN)
    kept = do(house.face, Take("sane"))
    do(house.face, Verify(kept.id, Trust.INTACT))
    do(house.face, Annotate(kept.id, label="kept"))
    documents = []
    for number, path in enumerate(of_a_job(house, "sane")):
        house.ran(f"job{number}", GOLDEN, state=RunState.RUNNING if path.name == "process.json" else RunState.STOPPED)
        documents.append(of_a_job(house, f"job{number}")[number])
    for number, name in enumerate(OF_A_SAVEPOINT):
        documents.append(copy_of_savepoint(house, kept.id, number) / name)
    experiment = do(house.face, StartExperiment("try", kept.id, (Variant(name="x"), Variant(name="y"))))
    documents += [house.face.layout.experiment_file(experiment.id), house.face.layout.events_file]
    documents += [house.face.layout.version_file(house.face.ask(ShowJob("x")).runs[0].version)]
    house.face.layout.exports.mkdir()
    (note := house.face.layout.exports / "x-1.json").write_text('{"url": "", "name": "", "archive": true, "staging": ""}')
    return [*documents, note]


def copy_of_savepoint(house: House, savepoint: str, number: int) -> Path:
    there = house.face.layout.savepoints / savepoint
    here = Path(shutil.copytree(there, there.with_name(f"sp-copy{number}")))
    manifest = json.loads((here / "manifest.json").read_bytes())
    (here / "manifest.json").write_text(json.dumps({**manifest, "id": here.name}))
    for name in ("checksums.json", "verified.json", "annotation.json"):
        (here / name).write_text((here / name).read_text().replace(savepoint, here.name))
    (here / "imported.json").write_text(json.dumps({"format": 1, "savepoint": here.name, "at_ms": 1, "url": "file:///x"}))
    mark = {"process": {"pid": 1, "started": 1.0}, "host": "elsewhere", "since_ms": 1, "purpose": "take"}
    (here / "making.json").write_text(json.dumps(mark))
    (here / "disposing.json").write_text(json.dumps(mark))
    if OF_A_SAVEPOINT[number] != "disposing.json":
        (here / "disposing.json").unlink()
    return here


def everything(house: House) -> None:
    """All lists, and a pass of the supervisor: the sane job and its savepoint are there, and there is an event of what is not."""
    face = house.face
    assert "sane" in {summary.job.name for summary in face.ask(ListJobs())}
    (kept,) = [saved for saved in face.ask(ListSavepoints("sane")) if not saved.id.startswith("sp-copy")]
    assert kept.label == "kept"
    for question in (ListExperiments(), ShowTree(), ListOperations(), ShowHealth()):
        face.ask(question)
    kinds = {event.kind for event in face.ask(ListEvents(limit=1000))}
    assert kinds & {"document.malformed", "storage.not_a_file"}
    Supervisor(face).tick()
    assert do(face, Verify(kept.id, Trust.INTACT)).reached is Trust.INTACT


@contextmanager
def spoilt(template: tuple[Path, list[str]], root: Path, spoil: Callable[[Path], object]) -> Iterator[House]:
    """A copy of the template, opened after `spoil` was done to each of its documents."""
    shutil.copytree(template[0], root)
    for name in template[1]:
        spoil(root / name)
    house = House(root)
    yield house
    house.face.close()


@pytest.mark.parametrize("spoiling", SPOILINGS)
def test_a_workspace_opens_whatever_its_documents_say(template: tuple[Path, list[str]], tmp_path: Path, spoiling: str) -> None:
    with spoilt(template, tmp_path / "ws", lambda path: path.write_bytes(SPOILINGS[spoiling](path.read_bytes()))) as house:
        everything(house)
        do(house.face, RebuildCatalog())
        everything(house)


def test_a_workspace_opens_with_folders_in_place_of_documents(template: tuple[Path, list[str]], tmp_path: Path) -> None:
    with spoilt(template, tmp_path / "ws", in_its_place) as house:
        everything(house)
        do(house.face, RebuildCatalog())


def in_its_place(path: Path) -> None:
    """A folder where a document was; not for the log of events, which the opening itself writes to."""
    if path.name != "events.jsonl":
        path.unlink()
        path.mkdir()
