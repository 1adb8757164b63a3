"""Jobs that run elsewhere: attached by their checkpoints, saved and forked like any other, and never touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.checkpoint import metadata, sink_log
from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, Invalid, NotFound, TidemarkError
from pipelines.domain.ids import query_of
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.storage.local import LocalStorage
from pipelines.supervisor.loop import SupervisorLoop
from pipelines.verbs.attach import Attach
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListBatches, ListJobs, ListRetained, ReadLog, ShowJob
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.rename_query import RenameQuery
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ShowSavepoint
from pipelines.verbs.state import ListStates
from pipelines.verbs.stop import Stop
from pipelines.verbs.system import ListEvents, RebuildCatalog, ShowHealth
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from pipelines.workspace.opening import open_workspace
from pipelines.workspace.workspace import Workspace
from tests import far
from tests.driver.process import CONF, batches
from tests.places import ODD
from tests.savepoint.golden import lay_checkpoint
from tests.savepoint.streaming import BRISK, ENGAGEMENT, FILES, STORES, differences, rows, write_events
from tests.savepoint.test_remote import upload
from tests.waiting import until
from tests.workspace.conftest import CODE, GOLDEN, NEWEST, House
from tests.workspace.serving import end_jobs

FRESH = {"*": "fresh"}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """The checkpoint and the output of a job that somebody else runs."""
    lay_checkpoint("rocksdb_format2", tmp_path / "elsewhere" / "checkpoint")
    shutil.copytree(GOLDEN / "rocksdb_format2" / "sink_log", tmp_path / "elsewhere" / "sink" / "_spark_metadata")
    return tmp_path / "elsewhere"


def request(outside: Path, name: str = "theirs", **more: object) -> Attach:
    fields = {"sink": "parquet", "sink_path": str(outside / "sink"), "spark_version": "4.3.0", **more}
    return Attach(name=name, checkpoints={"counts": str(outside / "checkpoint")}, **fields)  # type: ignore[arg-type]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def taken(house: House) -> Savepoint:
    return do(house.face, Take("theirs"))


def test_state_that_goes_after_it_was_attached_is_missed(house: House, tmp_path: Path) -> None:
    """In format 1 nothing in a checkpoint says that there was state: who attached it has seen it."""
    lay_checkpoint("hdfs", tmp_path / "elsewhere")
    do(house.face, Attach(name="theirs", checkpoints={"counts": str(tmp_path / "elsewhere")}))
    assert taken(house).batch == NEWEST
    shutil.rmtree(tmp_path / "elsewhere" / "state")
    with pytest.raises(Corrupt, match="gone as a whole"):
        taken(house)
    (diagnosis,) = do(house.face, Diagnose("theirs"))
    assert diagnosis.restorable == () and {finding.damage.path for finding in diagnosis.findings} >= {"state/0"}


def test_it_is_a_job_like_any_other_and_nobody_starts_it(house: House, outside: Path) -> None:
    run = do(house.face, request(outside))
    assert (run.state, run.pid, run.started_ms) == (RunState.WATCHED, None, None)
    detail = house.face.ask(ShowJob("theirs"))
    (seen,) = detail.queries
    assert detail.summary.job.attached and detail.summary.state is RunState.WATCHED
    assert (seen.query, seen.checkpoint, seen.sink_path) == ("counts", str(outside / "checkpoint"), str(outside / "sink"))
    assert seen.query_id == metadata.read(LocalStorage(outside / "checkpoint")).query_id
    assert detail.runs[0].spark_version == "4.3.0"
    assert [event.kind for event in house.face.ask(ListEvents("theirs"))] == ["job.attached"]
    health = house.face.ask(ShowHealth())
    assert (health.jobs, health.failed, health.running) == (1, 0, 0)
    assert house.face.ask(ReadLog("theirs")).text == ""


def test_savepoints_of_it_and_what_is_retained(house: House, outside: Path) -> None:
    before = content(outside)
    do(house.face, request(outside))
    assert [retained.batch for retained in house.face.ask(ListRetained("theirs"))][-1] == NEWEST
    plan = house.face.plan(Take("theirs"))
    assert plan.batches == {"counts": NEWEST}
    past = do(house.face, Take("theirs", batch=NEWEST - 1))
    assert past.batch == NEWEST - 1
    image = taken(house).queries[0]
    assert (image.batch, image.sink, image.sink_path) == (NEWEST, "parquet", str(outside / "sink"))
    assert content(outside) == before, "nothing of theirs was touched"


def test_a_fork_needs_code_and_has_its_own_arguments(house: House, outside: Path) -> None:
    do(house.face, request(outside))
    savepoint = taken(house)
    for act in (house.face.plan, house.face.begin):
        with pytest.raises(Invalid) as refused:
            act(Fork(savepoint.id, name="b", args=("{output}",)))
        assert refused.value.code == "fork.code_needed" and "--code" in refused.value.hint
    with pytest.raises(Conflict) as shared:
        do(house.face, Fork(savepoint.id, name="b", code=CODE, sinks=FRESH))
    assert shared.value.code == "restore.sink_shared", "without an output of its own it would write into theirs"
    own = Fork(
        savepoint.id,
        name="b",
        code=CODE,
        script="job.py",
        args=("--output", "{output}"),
        conf={"spark.a": "b"},
        master="local[3]",
        sinks=FRESH,
        new_queries=("x",),
    )
    run = do(house.face, own)
    assert run.state is RunState.WANTED
    spec = house.face.context.files.spec(run.job, run.id)
    assert (spec.args, spec.conf, spec.master) == (("--output", str(house.face.layout.output(run.job))), {"spark.a": "b"}, "local[3]")
    assert (spec.expected, spec.new_queries) == (("counts",), ("x",))
    assert str(outside / "sink") in spec.taken_paths
    begun = metadata.read(LocalStorage(Path(spec.checkpoints) / "counts"))
    assert begun != metadata.read(LocalStorage(outside / "checkpoint")), "the fork has a query id of its own"


def test_code_that_is_known_is_what_a_fork_goes_on_with(house: House, outside: Path) -> None:
    do(house.face, request(outside, script="/srv/theirs.py", code=CODE, args=("--output", "{output}")))
    run = do(house.face, Fork(taken(house).id, name="b", sinks=FRESH))
    version = house.face.ask(ShowVersion(run.version))
    assert (version.script, version.code) == ("theirs.py", CODE)


@pytest.mark.parametrize(
    "deed",
    [
        lambda face: face.begin(Stop("theirs")),
        lambda face: face.begin(Stop("theirs", at_once=True)),
        lambda face: do(face, Resume("theirs")),
        lambda face: do(face, Resume("theirs", batch=3)),
    ],
    ids=["stop", "cancel", "resume", "rewind"],
)
def test_what_belongs_to_whoever_runs_it_is_refused(house: House, outside: Path, deed: Callable[[Workspace], object]) -> None:
    do(house.face, request(outside))
    with pytest.raises(Conflict) as refused:
        deed(house.face)
    assert refused.value.code == "job.attached" and "fork" in refused.value.hint
    assert house.face.ask(ListOperations()) == []


def test_reopening_and_rebuilding_keep_it(house: House, outside: Path) -> None:
    run = do(house.face, request(outside))
    savepoint = taken(house)
    house.reopen()
    assert house.face.ask(ShowJob("theirs")).runs[0].state is RunState.WATCHED
    do(house.face, RebuildCatalog())
    detail = house.face.ask(ShowJob("theirs"))
    assert [(job_run.id, job_run.state) for job_run in detail.runs] == [(run.id, RunState.WATCHED)]
    assert detail.summary.job.attached and [query.query for query in detail.queries] == ["counts"]
    assert house.face.ask(ShowSavepoint(savepoint.id)).job == "theirs"
    assert taken(house).batch == NEWEST


def test_forgetting_it_leaves_what_is_theirs(house: House, outside: Path) -> None:
    before = content(outside)
    do(house.face, request(outside))
    savepoint = taken(house)
    do(house.face, Forget("theirs"))
    assert house.face.ask(ListJobs()) == [] and not house.face.layout.jobs.joinpath("theirs").exists()
    assert content(outside) == before
    assert house.face.ask(ShowSavepoint(savepoint.id)).job == "theirs"
    do(house.face, request(outside, "again"))


def test_a_crash_before_it_was_published_leaves_nothing(house: House, outside: Path) -> None:
    before = content(outside)
    do(house.face, request(outside))
    house.face.layout.wanted_file(house.face.ask(ListJobs())[0].job.name).unlink()
    house.reopen()
    assert house.face.ask(ListJobs()) == [] and list(house.face.layout.jobs.iterdir()) == []
    assert content(outside) == before


REFUSED: dict[str, tuple[Callable[[Path], Attach], type[TidemarkError], str]] = {
    "no checkpoint": (lambda at: Attach(name="x", checkpoints={}), Invalid, "attach.no_checkpoint"),
    "an empty address": (lambda at: Attach(name="x", checkpoints={"q": " "}), Invalid, "attach.no_checkpoint"),
    "nothing there": (lambda at: Attach(name="x", checkpoints={"q": str(at / "nowhere")}), NotFound, "checkpoint.not_found"),
    "no checkpoint there": (lambda at: Attach(name="x", checkpoints={"q": str(at / "sink")}), NotFound, "checkpoint.not_found"),
    "a scheme nobody knows": (lambda at: Attach(name="x", checkpoints={"q": "nosuch://a/b"}), Invalid, "storage.scheme"),
    "no job name": (lambda at: request(at, "a b"), Invalid, "job.name"),
    "names that are one": (
        lambda at: Attach(name="x", checkpoints={"": str(at / "checkpoint"), "query": str(at / "sink")}),
        Invalid,
        "attach.names",
    ),
    "one checkpoint twice": (
        lambda at: Attach(name="x", checkpoints={"a": str(at / "checkpoint"), "b": f"file://{at}/checkpoint/"}),
        Invalid,
        "attach.twice",
    ),
    "a file sink without a place": (lambda at: request(at, sink_path=""), Invalid, "attach.sink"),
    "an output that is none": (lambda at: request(at, sink_path=str(at)), NotFound, "attach.no_sink_log"),
    "code that is none": (lambda at: request(at, script="a.py", code="if x"), Invalid, "code.syntax"),
    "a script that is none": (lambda at: request(at, script="a.jar"), Invalid, "code.script"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_leaves_nothing(house: House, outside: Path, case: str) -> None:
    make, kind, code = REFUSED[case]
    with pytest.raises(kind) as refused:
        do(house.face, make(outside))
    assert refused.value.code == code and refused.value.hint
    assert house.face.ask(ListJobs()) == [] and list(house.face.layout.jobs.iterdir()) == []


def test_a_checkpoint_is_attached_once_whatever_it_is_called(house: House, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (outside / "link").symlink_to(outside / "checkpoint")
    monkeypatch.chdir(outside)
    do(house.face, Attach(name="theirs", checkpoints={"counts": "checkpoint"}))
    for name in (str(outside / "checkpoint"), f"file:{outside}/checkpoint", str(outside / "link"), "../elsewhere/checkpoint/"):
        with pytest.raises(AlreadyExists) as refused:
            do(house.face, Attach(name="again", checkpoints={"counts": name}))
        assert (refused.value.code, "job theirs" in refused.value.message) == ("attach.attached", True)
    with pytest.raises(AlreadyExists) as taken_name:
        do(house.face, request(outside, "Theirs"))
    assert taken_name.value.code == "job.exists"


def test_a_job_of_this_workspace_is_not_attached_to_it(house: House) -> None:
    run = house.ran("mine")
    with pytest.raises(Conflict) as refused:
        do(house.face, Attach(name="x", checkpoints={"counts": f"{run.checkpoints}/counts"}))
    assert refused.value.code == "attach.own"


def test_a_checkpoint_on_another_storage(house: House, outside: Path) -> None:
    filesystem = far.filesystem()
    filesystem.put(str(outside / "checkpoint"), "/bucket/checkpoint", recursive=True)
    try:
        do(house.face, Attach(name="theirs", checkpoints={"counts": "far://bucket/checkpoint/"}))
        assert house.face.ask(ShowJob("theirs")).queries[0].checkpoint == "far://bucket/checkpoint"
        assert taken(house).batch == NEWEST
        with pytest.raises(AlreadyExists):
            do(house.face, Attach(name="again", checkpoints={"counts": "far://bucket/checkpoint"}))
    finally:
        filesystem.rm("/bucket", recursive=True)


@pytest.mark.parametrize("place", ["s3", "file"])
def test_a_checkpoint_at_an_address_of_any_letters(place: str, house: House, outside: Path, tmp_path: Path, s3_url: str) -> None:
    home = {"s3": s3_url, "file": f"file://{tmp_path}"}[place]
    url = upload(outside / "checkpoint", f"{home}/{ODD}/checkpoint")
    do(house.face, Attach(name="theirs", checkpoints={"counts": url}, sink="console"))
    saved = taken(house)
    assert do(house.face, Verify(saved.id, Trust.INTACT)).reached is Trust.INTACT
    assert [diagnosis.sound for subject in ("theirs", url) for diagnosis in do(house.face, Diagnose(subject))] == [True, True]
    assert len(house.face.ask(ListStates(saved.id))) == 1


def test_a_resume_with_changed_code_expects_what_has_state_and_the_same_code_what_it_was_told(house: House) -> None:
    house.ran("mine")
    unchanged = do(house.face, Resume("mine"))
    assert house.face.context.files.spec(unchanged.job, unchanged.id).expected == ()
    house.see(unchanged, RunState.STOPPED)
    upgraded = do(house.face, Resume("mine", code=CODE + "#\n", new_queries=("more",)))
    house.see(upgraded, RunState.FAILED)
    again = do(house.face, Resume("mine", new_queries=("one more",)))
    specs = [house.face.context.files.spec(run.job, run.id) for run in (upgraded, again)]
    assert [(spec.expected, spec.new_queries) for spec in specs] == [(("counts",), ("more",)), (("counts",), ("more", "one more"))]


# with real Spark


def listed(output: Path) -> list[str]:
    """The data files that a file sink's log lists."""
    storage = LocalStorage(output)
    names = [path.name for path in (output / sink_log.FOLDER).iterdir() if path.name[0] != "."]
    newest = max(int(name.removesuffix(".compact")) for name in names)
    return [file.path.removeprefix("file://") for file in sink_log.live_files(sink_log.read(storage, newest, sink_log.FOLDER), newest)]


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Workspace]:
    workspace = open_workspace(tmp_path / "ws")
    loop = SupervisorLoop(workspace)
    loop.start()
    yield workspace
    end_jobs(workspace, 60)
    loop.stop()
    workspace.close()


def plain_spark(folder: Path, conf: dict[str, str], *args: str) -> subprocess.Popen[bytes]:
    """The script in a plain Python with a plain Spark, as spark-submit would run it: nothing of Tidemark is there."""
    options = " ".join(f"--conf '{key}={value}'" for key, value in conf.items())
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "PYSPARK_SUBMIT_ARGS": f"{options} pyspark-shell"
    }
    with (folder / "spark.log").open("wb") as log:
        return subprocess.Popen([sys.executable, str(ENGAGEMENT), *args], cwd=folder, env=environ, stdout=log, stderr=subprocess.STDOUT)


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
@pytest.mark.timeout(1200)
def test_a_fork_of_a_plain_spark_job_gives_what_that_job_gives(supervised: Workspace, tmp_path: Path) -> None:
    """The job outside goes on undisturbed to its end, so its own output is what an uninterrupted run gives.

    It was attached without its query's name, and by a link: the name is guessed from that, and mended.
    """
    events = write_events(tmp_path / "events")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    checkpoint, link = elsewhere / "checkpoints" / "engagement", elsewhere / "checkpoint-7"
    link.symlink_to(checkpoint)
    args = ("--events", str(events), "--available-now", "--window", "10 seconds", "--delay", "15 seconds", "--output")
    conf = {**CONF, **BRISK, **STORES["rocksdb_format2"]}
    theirs = plain_spark(
        elsewhere, {**conf, "spark.sql.streaming.checkpointLocation": str(checkpoint.parent)}, *args, str(elsewhere / "out")
    )
    try:
        until(lambda: theirs.poll() is not None or ((checkpoint / "commits" / "3").exists()))
        sink = str(elsewhere / "out" / "engagement")
        do(supervised, Attach(name="theirs", checkpoints={query_of(str(link)): str(link)}, sink="parquet", sink_path=sink))
        guessed = do(supervised, Take("theirs"))
        do(supervised, RenameQuery("theirs", "checkpoint-7", "engagement"))
        until(lambda: theirs.poll() is not None or (checkpoint / "commits" / "9").exists())
        savepoint = do(supervised, Take("theirs"))
        assert theirs.poll() is None, (elsewhere / "spark.log").read_text()
        assert 9 <= savepoint.batch < FILES - 1
        assert theirs.wait(400) == 0, (elsewhere / "spark.log").read_text()
    finally:
        theirs.kill()
        theirs.wait()
    code = ENGAGEMENT.read_text()
    for taken, name in ((guessed, "mistaken"), (savepoint, "ours")):
        fork = Fork(taken.id, name=name, code=code, script="job.py", args=(*args, "{output}"), conf=conf)
        do(supervised, replace(fork, check=name == "ours"))
    until(lambda: all(supervised.ask(ShowJob(job)).summary.state in (RunState.FINISHED, RunState.FAILED) for job in ("mistaken", "ours")))
    mistaken = supervised.ask(ShowJob("mistaken")).runs[0].exit
    assert mistaken is not None and "Query engagement has no state here; the state is of checkpoint-7" in mistaken.message
    assert "rename-query" in supervised.ask(ReadLog("mistaken")).text
    summary = supervised.ask(ShowJob("ours")).summary
    assert summary.state is RunState.FINISHED, supervised.ask(ReadLog("ours")).text
    ours, reference = (listed(folder) for folder in (supervised.layout.output(summary.job.name) / "engagement", Path(sink)))
    assert rows(reference) > 50
    assert differences(ours, reference) == []

    committed = batches(checkpoint, "commits")
    until(lambda: supervised.ask(ShowJob("theirs")).summary.batch == committed[-1])
    watched = supervised.ask(ListBatches("theirs"))
    assert sorted(batch.batch for batch in watched) == list(range(committed[-1] + 1)), "each batch once, from the first"
    assert all(batch.batch_ms > 0 for batch in watched)
    assert supervised.ask(ShowJob("theirs")).summary.state is RunState.WATCHED
    do(supervised, Forget("theirs"))
