"""Savepoints at a home: copied by the store itself, listed like any other, and whole or not there whatever dies when."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from pipelines.domain.errors import AlreadyExists, Invalid, NotFound, Unavailable, Unsupported
from pipelines.domain.homes import MARK, WORKSPACE, Homes, Step, is_untried
from pipelines.domain.ids import SavepointId
from pipelines.domain.trust import Trust
from pipelines.savepoint import layout, objects
from pipelines.storage.addresses import open_storage
from pipelines.storage.hdfs import HdfsStorage
from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import How
from pipelines.storage.s3 import S3Storage
from pipelines.verbs.annotate import Annotate
from pipelines.verbs.attach import Attach
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.export import Export
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.holdings import AskHoldings
from pipelines.verbs.homes import CheckHome, ListHomes, SetHome
from pipelines.verbs.import_ import Import
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest, ReadVerification, ShowSavepoint
from pipelines.verbs.state import ListStates
from pipelines.verbs.system import ListEvents, RebuildCatalog, ShowSpace
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from pipelines.workspace import home_completion, homes
from tests.savepoint import golden
from tests.savepoint.test_remote import upload
from tests.storage.s3_server import S3Server, hurry
from tests.verified import verified
from tests.waiting import until
from tests.workspace.conftest import CODE, House

JOB = "theirs"
ROOT = Path(__file__).parents[2]


EITHER = pytest.mark.parametrize("theirs", ["s3", "hdfs"], indirect=True)
EMULATED = [pytest.param(kind, marks=pytest.mark.long) for kind in ("google", "azure")]


@pytest.fixture
def theirs(house: House, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A job that somebody else runs, with its checkpoint in a bucket, or on HDFS; the folder beside it for savepoints."""
    url = request.getfixturevalue(f"{getattr(request, 'param', 's3')}_url")
    bench = golden.bench(tmp_path / "golden", "hdfs")
    upload(bench.checkpoint, f"{url}/live/counts")
    do(house.face, Attach(name=JOB, checkpoints={"counts": f"{url}/live/counts"}, spark_version="4.3.0"))
    return f"{url}/savepoints"


def listed(house: House) -> list[str]:
    return [savepoint.id for savepoint in house.face.ask(ListSavepoints())]


def names(url: str) -> list[str]:
    return [entry.path for entry in open_storage(url).list()]


def files(checkpoints: str) -> dict[str, bytes]:
    folder = Path(checkpoints)
    every = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {path: data for path, data in every.items() if not path.endswith(("/metadata", "/.metadata.crc"))}


def kinds(house: House) -> list[str]:
    return [event.kind for event in house.face.ask(ListEvents())]


def completed() -> None:
    """Waits until nothing is under way at a home."""
    for thread in threading.enumerate():
        if thread.name == "homes":
            thread.join()


def reopen(house: House) -> None:
    house.reopen()
    completed()


class Passed:
    """Bytes of each file in a storage of this kind that this process read or wrote, by path."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: type[S3Storage | HdfsStorage] = S3Storage) -> None:
        self.read: dict[str, int] = {}
        self.written: dict[str, int] = {}
        read, write, stream = kind.read, kind.write, kind.stream

        def reading(storage: Any, path: str) -> bytes:
            data = read(storage, path)
            self.read[path] = len(data)
            return data

        def writing(storage: Any, path: str, data: bytes) -> None:
            self.written[path] = len(data)
            write(storage, path, data)

        def streaming(storage: Any, path: str) -> BinaryIO:
            self.read[path] = next(entry.bytes for entry in storage.list() if entry.path == path)
            return stream(storage, path)

        monkeypatch.setattr(kind, "read", reading)
        monkeypatch.setattr(kind, "write", writing)
        monkeypatch.setattr(kind, "stream", streaming)


def test_no_state_passes_through_the_server(house: House, theirs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read are the logs and what names the state's files; written are the source's cut log, the code, the mark and the manifest."""
    planned = house.face.plan(Take(JOB, home=theirs))
    assert (planned.how, planned.home, planned.to) == (How.SERVER_COPY, theirs, "")
    with monkeypatch.context() as patched:
        through = Passed(patched)
        taken = do(house.face, Take(JOB, home=theirs, label="there"))
    manifest = house.face.ask(ReadManifest(taken.id))
    assert manifest.how.keys() == {"server-copy", "written"} and taken.path == f"{theirs}/{taken.id}"
    named = {"metadata", "offsets/13", "commits/13", "state/0/_metadata/metadata"}
    claim = objects.claim_file(taken.id)
    assert {path for path in through.read if not path.startswith("sources/")} == {*named, claim}
    inner = {path.removeprefix(f"{taken.id}/") for path in through.written}
    stored = {path for path in inner if "/sources/" in path or path.startswith("code/")}
    assert inner - stored == {layout.MAKING, layout.MANIFEST, claim} and len(stored) == manifest.how["written"]
    assert [file.path for file in manifest.files if "/state/0/0/" in file.path], "and there was state to copy"
    assert not (house.face.layout.savepoints / taken.id).exists() and house.face.ask(ShowSpace(JOB)).savepoints == ()


@pytest.mark.parametrize("theirs", ["hdfs"], indirect=True)
def test_intact_is_what_hdfs_says(house: House, theirs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No byte of state is read; a file of the same size with another content is found."""
    taken = do(house.face, Take(JOB, home=theirs))
    shelf = house.face.context.shelf(taken.id)
    with monkeypatch.context() as patched:
        through = Passed(patched, HdfsStorage)
        assert verified(shelf, taken.id, Trust.INTACT, 1).reached is Trust.INTACT
        assert verified(shelf, taken.id, Trust.INTACT, 2).reached is Trust.INTACT
    assert {path.split("/", 1)[1] for path in through.read} <= {layout.MANIFEST, layout.CHECKSUMS, layout.VERIFIED, layout.PROGRESS}
    state = [file.path for file in house.face.ask(ReadManifest(taken.id)).files if file.path.endswith(".delta") and file.bytes]
    shelf.write(f"{taken.id}/{state[0]}", bytes(byte ^ 1 for byte in shelf.read(f"{taken.id}/{state[0]}")))
    (damage,) = do(house.face, Verify(taken.id, Trust.INTACT)).damages
    assert (damage.path, damage.kind) == (state[0], "checksum")
    with pytest.raises(Unsupported) as refused:
        do(house.face, Import(f"{theirs}/{taken.id}"))
    assert refused.value.code == "import.shared"


@pytest.mark.parametrize("theirs", ["s3", "hdfs", *EMULATED], indirect=True)
def test_it_is_listed_verified_annotated_forked_exported_and_disposed_of(house: House, theirs: str, tmp_path: Path) -> None:
    here, there = do(house.face, Take(JOB, home=WORKSPACE)), do(house.face, Take(JOB, home=theirs, untested=is_untried(theirs)))
    assert listed(house) == [there.id, here.id]
    assert do(house.face, Verify(there.id, Trust.INTACT)).reached is Trust.INTACT
    last = house.face.ask(ReadVerification(there.id))
    assert last is not None and last.reached is Trust.INTACT
    do(house.face, Annotate(there.id, label="beside the state"))
    assert do(house.face, AskHoldings(there.id)).holdings is not None
    assert not [finding for diagnosis in do(house.face, Diagnose(there.id)) for finding in diagnosis.findings]
    one_state, other_state = (house.face.ask(ListStates(savepoint.id)) for savepoint in (here, there))
    assert [table.title for table in one_state] == [table.title for table in other_state] and one_state
    forks = [
        do(house.face, Fork(savepoint.id, name=f"f{at}", code=CODE, script="job.py", args=("{output}",)))
        for at, savepoint in enumerate((here, there))
    ]
    files_here, files_there = (files(house.face.context.files.spec(run.job, run.id).checkpoints) for run in forks)
    assert files_here == files_there and files_here
    exported = str(tmp_path / "out" / there.id)
    do(house.face, Export(there.id, exported))
    with pytest.raises(AlreadyExists) as again:
        do(house.face, Import(exported))
    assert again.value.code == "savepoint.exists"
    reading = house.face.layout.readings / there.id / "some"
    reading.mkdir(parents=True)
    reopen(house)
    assert listed(house) == [there.id, here.id] and house.face.ask(ShowSavepoint(there.id)).label == "beside the state"
    assert reading.exists(), "what was read of it is kept"
    disposal = do(house.face, Dispose((there.id,)))
    assert [outcome.refusal for outcome in disposal.outcomes] == [None] and disposal.frees_bytes >= there.bytes
    assert listed(house) == [here.id] and names(theirs) == [] and house.face.context.files.home_ids() == []
    with pytest.raises(NotFound):
        house.face.ask(ReadManifest(there.id))
    do(house.face, Import(exported))
    assert listed(house) == [there.id, here.id]


def test_a_home_that_is_away_holds_nothing_up(house: House, theirs: str, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    here, *there = do(house.face, Take(JOB, home=WORKSPACE)).id, *(do(house.face, Take(JOB, home=theirs)).id for _ in range(2))
    every = [*reversed(there), here]
    s3_server.say("away")
    try:
        reopen(house)
        assert listed(house) == every and "storage.unreachable" not in kinds(house)
        before = len(kinds(house))
        do(house.face, RebuildCatalog())
        assert listed(house) == every and len(kinds(house)) == before + 1, "one home, one request, one event"
        assert do(house.face, Diagnose(here))
        with pytest.raises(Unavailable):
            do(house.face, Verify(there[0], Trust.COMPLETE))
        refused = do(house.face, Dispose((there[0], here))).outcomes
        assert [outcome.refusal is None for outcome in refused] == [False, True]
        homes.unsettle(house.face.context, SavepointId(there[0]))
        reopen(house)
        assert listed(house) == every[:2], "a disposal that could not be finished is none yet"
        house.face.close()
        house.face.layout.catalog_file.unlink()
        house.open()
        completed()
        assert listed(house) == []
        with pytest.raises(Unavailable, match="lies at") as unread:
            house.face.ask(ShowSavepoint(there[1]))
        assert unread.value.code == "home.unread" and kinds(house).count("storage.unreachable") == 2, "one today for each"
    finally:
        s3_server.say("back")
    do(house.face, RebuildCatalog())
    assert listed(house) == [there[1]], "the other one is completed by the next start"
    reopen(house)
    assert listed(house) == every[:2]
    assert do(house.face, Verify(there[0], Trust.COMPLETE)).reached is Trust.COMPLETE


def test_the_opening_waits_for_no_home(house: House, theirs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = do(house.face, Take(JOB, home=theirs)).id
    house.face.close()
    house.face.layout.catalog_file.unlink()
    answers, asked, read = threading.Event(), threading.Event(), S3Storage.read

    def late(storage: S3Storage, path: str) -> bytes:
        asked.set()
        assert answers.wait(400)
        return read(storage, path)

    monkeypatch.setattr(S3Storage, "read", late)
    monkeypatch.setattr(home_completion, "OPENING_WAITS_S", 0.01)
    house.open()
    assert asked.wait(400) and listed(house) == [] and taken in house.face.context.files.home_ids()
    answers.set()
    until(lambda: listed(house) == [taken])
    house.face.close()
    house.face.layout.catalog_file.unlink()
    answers.clear()
    house.open().close()
    answers.set()
    completed()
    reopen_listed = house.open()
    completed()
    assert [savepoint.id for savepoint in reopen_listed.ask(ListSavepoints())] == [taken], "the one before wrote into no closed catalog"


def test_what_is_no_home_is_refused(house: House, theirs: str) -> None:
    for home, code in (
        (str(house.root / "savepoints"), "home.inside"),
        ("far://lake/savepoints", "home.untried"),
        ("gs://lake/savepoints", "home.untried"),
        ("s3://", "address.name"),
        ("savepoints", "home.relative"),
        ("file:savepoints", "home.relative"),
        (" ", "address.name"),
    ):
        with pytest.raises((Invalid, Unsupported)) as refused:
            house.face.plan(Take(JOB, home=home))
        assert refused.value.code == code, home
    with pytest.raises(Invalid, match="not both"):
        house.face.plan(Take(JOB, home=theirs, to=theirs))
    assert house.face.plan(Take(JOB, home=f"file:{house.root.parent}/home")).home == f"{house.root.parent}/home"


def test_one_at_which_no_test_ran_must_be_meant(house: House, theirs: str) -> None:
    """Savepoints are taken at such ones above, by hand."""
    home = "gs://lake/savepoints"
    for change in (SetHome(home), Take(JOB, home=home)):
        with pytest.raises(Unsupported, match="on a real gs:// yet") as refused:
            house.face.plan(change)  # type: ignore[arg-type]
        assert "--untested" in refused.value.hint
    for change in (SetHome(home, untested=True), Take(JOB, home=home, untested=True), CheckHome(home)):
        with pytest.raises(Unsupported, match="gcsfs") as refused:
            house.face.plan(change)  # type: ignore[arg-type]
        assert refused.value.code == "storage.no_client"


@EITHER
def test_those_of_a_job_that_runs_elsewhere_are_beside_its_checkpoint(house: House, theirs: str, s3_url: str) -> None:
    """Unless somebody says otherwise: for this one, for the job, or for all."""
    beside = f"{theirs.rpartition('/')[0]}/live/{homes.BESIDE}"
    taken = do(house.face, Take(JOB))
    assert taken.path == f"{beside}/{taken.id}" and house.face.plan(Take(JOB)).home == beside
    assert do(house.face, Take(JOB, home=WORKSPACE)).path.startswith(str(house.root))
    do(house.face, SetHome(f"{s3_url}/usual"))
    assert do(house.face, Take(JOB)).path.startswith(f"{s3_url}/usual/")
    do(house.face, SetHome(WORKSPACE, JOB))
    assert do(house.face, Take(JOB)).path.startswith(str(house.root))


def test_new_savepoints_are_kept_at_the_usual_home(house: House, s3_url: str, tmp_path: Path) -> None:
    """Of a job that says nothing, that of the workspace; what is taken for work at once stays here; --home says otherwise."""
    house.ran("a")
    usual, own = f"{s3_url}/usual", str(tmp_path / "own")
    assert do(house.face, SetHome(usual)) == house.face.ask(ListHomes()) == Homes(usual, WORKSPACE, {}, ())
    taken = do(house.face, Take("a"))
    assert taken.path == f"{usual}/{taken.id}" and do(house.face, Verify(taken.id, Trust.INTACT)).reached is Trust.INTACT
    assert house.face.plan(Take("a")).home == usual and house.face.plan(Take("a", home=WORKSPACE)).home == ""
    assert house.face.plan(Take("a", to=str(tmp_path / "exported"))).home == ""
    do(house.face, SetHome(own, "a"))
    assert do(house.face, Take("a")).path.startswith(own)
    house.ran("b")
    assert house.face.plan(Take("b")).home == usual
    for job, home, kept in (("a", "workspace", ""), ("a", "usual", usual), ("", "workspace", "")):
        do(house.face, SetHome(home, job))
        assert house.face.plan(Take("a")).home == kept
    reopen(house)
    places = [(used.home, used.savepoints, used.jobs) for used in house.face.ask(ListHomes()).used]
    assert places == [(own, 1, ("a",)), (usual, 1, ("a",))]


def test_only_a_place_that_is_fit_becomes_a_home(house: House, s3_url: str, tmp_path: Path) -> None:
    house.ran("a")
    (tmp_path / "file").touch()
    absent = f"{s3_url[:5]}no-such-bucket/x"
    for home, code in ((absent, "home.unfit"), (str(tmp_path / "file" / "x"), "home.unfit"), ("usual", "home.usual")):
        with pytest.raises((Invalid, Unavailable)) as refused:
            do(house.face, SetHome(home))
        assert refused.value.code == code, home
    assert house.face.ask(ListHomes()).usual == WORKSPACE
    for home, how in ((f"{s3_url}/fit", How.SERVER_COPY), (str(tmp_path / "fit" / "new"), How.LINK)):
        check = do(house.face, CheckHome(home))
        assert check.failed is None and [tried.step for tried in check.steps] == list(Step)
        assert [tried.how for tried in check.steps if tried.how] == [how]
        assert names(home) == [] and not Path(home).exists()
    (failed,) = do(house.face, CheckHome(absent)).steps
    assert failed.step is Step.WRITE and "there is no such bucket" in failed.failed


def test_a_check_that_fails_leaves_nothing(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*given: object) -> list[How]:
        raise Unavailable("storage.denied", "permission denied", "")

    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setattr(LocalStorage, "clone", refuses)
    check = do(house.face, CheckHome(str(home)))
    assert check.failed is not None and check.failed.step is Step.COPY and check.failed.failed == "permission denied"
    assert list(home.iterdir()) == []


def test_a_home_that_was_set_and_never_used_is_known_to_be_away(house: House, tmp_path: Path) -> None:
    house.ran("a")
    home, aside = tmp_path / "disk" / "savepoints", tmp_path / "elsewhere"
    do(house.face, SetHome(str(home)))
    assert [path.name for path in home.iterdir()] == [MARK]
    home.rename(aside)
    for change in (Take("a"), SetHome(str(home), "a")):
        with pytest.raises(Unavailable, match="is not there"):
            do(house.face, change)
    home.mkdir()  # where nothing is mounted
    with pytest.raises(Unavailable, match="is not there"):
        do(house.face, Take("a"))
    do(house.face, SetHome(WORKSPACE))
    do(house.face, SetHome(str(tmp_path / "other"), "a"))
    with pytest.raises(Unavailable, match="is not there"):
        do(house.face, Take("a", home=str(home)))
    home.rmdir()
    aside.rename(home)
    assert do(house.face, Take("a", home=str(home))).path.startswith(str(home))


def test_a_folder_of_another_disk(house: House, tmp_path: Path) -> None:
    """While it is not mounted nothing is made in its place, and nothing of it forgotten."""
    house.ran("a")
    home, aside = tmp_path / "disk" / "savepoints", tmp_path / "elsewhere"
    taken = do(house.face, Take("a", home=str(home)))
    assert taken.path == f"{home}/{taken.id}"
    home.rename(aside)
    reopen(house)
    assert listed(house) == [taken.id]
    with pytest.raises(Unavailable, match="is not there"):
        do(house.face, Verify(taken.id, Trust.COMPLETE))
    with pytest.raises(Unavailable, match="is not there"):
        do(house.face, Fork(taken.id, name="b", code=CODE, script="job.py"))
    (outcome,) = do(house.face, Dispose((taken.id,))).outcomes
    assert outcome.refusal is not None and outcome.refusal.code == "home.away" and not home.exists()
    do(house.face, RebuildCatalog())
    assert listed(house) == [taken.id]
    with pytest.raises(Unavailable, match="is not there"):
        do(house.face, Take("a", home=str(home)))
    home.mkdir()  # where nothing is mounted
    for change in (Verify(taken.id, Trust.COMPLETE), Take("a", home=str(home))):
        with pytest.raises(Unavailable, match="is not there"):
            do(house.face, change)
    home.rmdir()
    aside.rename(home)
    assert do(house.face, Verify(taken.id, Trust.INTACT)).reached is Trust.INTACT
    (home / taken.id).rename(aside)
    disposal = do(house.face, Dispose((taken.id,)))
    assert [outcome.refusal for outcome in disposal.outcomes] == [None] and disposal.frees_bytes == 0
    assert listed(house) == [] and house.face.context.files.home_ids() == []


def test_a_damaged_note_is_an_event(house: House, tmp_path: Path) -> None:
    house.ran("a")
    savepoint, other = (do(house.face, Take("a", home=str(tmp_path / "home"))).id for _ in range(2))
    note = house.face.layout.homes / f"{savepoint}.json"
    whole = note.read_bytes()
    note.write_text("{")
    reopen(house)
    assert listed(house) == [other] and "document.malformed" in kinds(house)
    assert do(house.face, Verify(other, Trust.COMPLETE)).reached is Trust.COMPLETE
    note.write_bytes(whole)
    reopen(house)
    assert listed(house) == [other, savepoint]


class Killable:
    """A process that changes the workspace, which is closed meanwhile, and dies at a step."""

    def __init__(self, house: House, process: subprocess.Popen[str]) -> None:
        self._house, self._process = house, process

    def does(self, work: str, last: int) -> int | None:
        """How many things it wrote; None where it was killed. The workspace is open again afterwards, and cleaned."""
        self._house.face.close()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{work} {last}\n")
        self._process.stdin.flush()
        answers: dict[str, int] = {}
        while "ended" not in answers:
            word, number = self._process.stdout.readline().split()
            answers[word] = int(number)
        assert answers["ended"] in (0, -signal.SIGKILL)
        self._house.open()
        completed()
        return answers.get("done")


@pytest.fixture
def killable(house: House, theirs: str) -> Iterator[Killable]:
    command = [sys.executable, "-m", "tests.workspace.killed_home", str(house.root), theirs, JOB]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Killable(house, process)
        finally:
            process.kill()


@pytest.mark.parametrize(("work", "theirs"), [("take", "s3"), ("take", "hdfs"), ("dispose", "s3")], indirect=["theirs"])
def test_a_kill_between_any_two_requests_leaves_a_whole_savepoint_or_none(work: str, house: House, theirs: str, killable: Killable) -> None:
    """Killed at the first things that it writes and the last, and at one of those in between, which are all of one kind."""
    prepared(work, house, killable)
    steps = killable.does(work, 0)
    assert steps
    for step in chosen(steps):
        prepared(work, house, killable)
        assert killable.does(work, step) is None, step
        assert_whole(house, theirs, listed(house))


def chosen(steps: int) -> list[int]:
    return sorted({1, 2, 3, steps // 2, *range(steps - 2, steps + 1)} - {0})


def prepared(work: str, house: House, killable: Killable) -> None:
    """One savepoint to dispose of; none that a new one could share files with, so that each taking writes as much."""
    if work == "dispose" and not listed(house):
        assert killable.does("take", 0)
    if work == "take" and listed(house):
        do(house.face, Dispose(tuple(listed(house))))


def assert_whole(house: House, home: str, left: list[str]) -> None:
    assert [do(house.face, Verify(savepoint, Trust.COMPLETE)).reached for savepoint in left] == [Trust.COMPLETE] * len(left)
    shared = {objects.path(name) for savepoint in left for name in house.face.ask(ReadManifest(savepoint)).objects.values()}
    there = [name for name in names(home) if name not in shared]
    assert {name.partition("/")[0] for name in there} == set(left) == set(house.face.context.files.home_ids())
    assert not [name for name in there if name.endswith((layout.MAKING, layout.DISPOSING))]
