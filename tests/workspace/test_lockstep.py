"""Lock-step forks before anything starts: what they will read, and what is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain.errors import Conflict, Invalid, TidemarkError, Unsupported
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Run
from pipelines.domain.lockstep import UNREPEATABLE, Lead
from pipelines.domain.runs import LEAD, QUERIES_FILE, RunState
from pipelines.savepoint import leads
from pipelines.verbs.drop import Drop, Undrop
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.experiments import Diff, ShowExperiment
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork, Variant
from pipelines.verbs.rescale import Rescale
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ReadManifest
from pipelines.verbs.take import Take
from pipelines.workspace.compare import batches, varying
from tests.workspace.conftest import NEWEST, House, newest, query_line, stop_as_the_supervisor_would

BEGAN = 9


def refusal(error: type[TidemarkError], code: str):
    return pytest.raises(error, check=lambda raised: raised.code == code)


@pytest.fixture
def run(house: House) -> Run:
    """A job `a` whose golden checkpoint goes on after batch 9, of which there is a savepoint; its files are where they are said to be."""
    run = house.ran("a")
    (Path(run.checkpoints) / "counts" / "sources").rename(Path(run.checkpoints) / "counts" / "without")
    return run


@pytest.fixture
def begun(house: House, run: Run) -> str:
    (Path(run.checkpoints) / "counts" / "without").rename(Path(run.checkpoints) / "counts" / "sources")
    savepoint = do(house.face, Take("a", BEGAN)).id
    (Path(run.checkpoints) / "counts" / "sources").rename(Path(run.checkpoints) / "counts" / "without")
    return savepoint


def test_the_plan_says_whom_it_follows_and_how_far(house: House, begun: str, run: Run) -> None:
    end = house.face.plan(Fork(savepoint=begun, name="b", until="now")).lock_step
    on = house.face.plan(Fork(savepoint=begun, name="b", lock_step=True)).lock_step
    assert end is not None and (end.began["counts"], end.ready["counts"], dict(end.lead.until)) == (BEGAN, NEWEST, {"counts": NEWEST})
    assert on is not None and on.lead == Lead(JobName("a"), run.checkpoints, str(house.face.layout.wanted_file(JobName("a"))))
    assert house.face.plan(Fork(savepoint=begun, name="b")).lock_step is None


def test_a_fork_follows_for_all_its_life(house: House, begun: str) -> None:
    forked = do(house.face, Fork(savepoint=begun, name="b", until="now"))
    lead = house.face.context.files.spec(forked.job, forked.id).lead
    assert lead is not None and lead.until == {"counts": NEWEST} and house.face.context.files.job(forked.job) is not None
    house.see(forked, RunState.STOPPED)
    again = do(house.face, Resume("b"))
    assert house.face.context.files.spec(again.job, again.id).lead == lead
    with refusal(Conflict, "lockstep.follower"):
        house.face.plan(Rescale("b", 8))


def test_a_follower_whose_next_batches_are_gone_is_neither_undropped_nor_resumed(house: House, begun: str, run: Run) -> None:
    """Spark removes offsets of the leader while nobody keeps them for the follower; what it had kept before it stopped counts."""
    made = do(house.face, StartExperiment("e", begun, (Variant(name="b"), Variant(name="c")), lock_step=True))
    follower = newest(house, "b")
    own = Path(follower.checkpoints)
    house.append(follower, QUERIES_FILE, query_line(str(own / "counts"), str(house.face.layout.output(follower.job) / "counts")))
    house.see(follower, RunState.RUNNING)
    dropping = house.face.begin(Drop("b"))
    stop_as_the_supervisor_would(house, "b")
    house.face.answer(dropping)
    ahead = Path(run.checkpoints) / "counts" / "offsets" / str(BEGAN + 1)
    entry = ahead.read_text()
    ahead.unlink()
    for change in (Undrop("b"), Resume("b")):
        with refusal(Conflict, "lockstep.gone") as refused:
            do(house.face, change)
        assert f": {BEGAN + 1} to {BEGAN + 1}" in refused.value.message and "Fork a savepoint of it" in refused.value.hint
    assert [mark.job for mark in house.face.ask(ShowExperiment(made.id)).decisions] == ["b"] and newest(house, "b").id == follower.id
    (own / LEAD / "counts").mkdir(parents=True)
    (own / LEAD / "counts" / ahead.name).write_text(entry)
    assert do(house.face, Undrop("b")).run == newest(house, "b").id != follower.id


def test_what_differs_of_two_in_lock_step_is_as_of_the_newest_batch_that_both_have(house: House, begun: str, run: Run) -> None:
    """The leader is ahead: what it keeps now is of more input than the follower has read."""
    follower = do(house.face, Fork(savepoint=begun, name="b", lock_step=True))
    own = Path(follower.checkpoints) / "counts"
    house.append(follower, QUERIES_FILE, query_line(str(own), str(house.face.layout.output(follower.job) / "counts")))
    house.see(follower, RunState.RUNNING)
    (Path(run.checkpoints) / "counts" / "without").rename(Path(run.checkpoints) / "counts" / "sources")
    told = house.face.ask(Diff("a", "b"))
    assert (told.a.batch, told.b.batch, told.a.note) == (BEGAN, BEGAN, "As of the newest batch that both have")
    assert not told.section("sources").differing and not [entry for entry in told.section("state").differing if entry.name == "partitions"]
    (Path(run.checkpoints) / "counts" / "commits" / str(BEGAN)).unlink()
    told = house.face.ask(Diff("a", "b"))
    assert (told.a.batch, told.b.batch, told.a.note) == (NEWEST, BEGAN, ""), "Spark keeps that batch of the leader no more"


def test_variants_of_an_experiment_follow_together(house: House, begun: str) -> None:
    started = StartExperiment("e", begun, (Variant(name="b"), Variant(name="c")), lock_step=True)
    assert [fork.lock_step is not None for fork in house.face.plan(started).forks] == [True, True]


@pytest.mark.parametrize("what", ["offsets", "files", "moved"])
def test_what_is_gone_is_refused_before_anything_starts(house: House, begun: str, run: Run, what: str) -> None:
    checkpoint = Path(run.checkpoints) / "counts"
    if what == "offsets":
        (checkpoint / "offsets" / str(BEGAN + 1)).unlink()
    elif what == "files":
        (checkpoint / "without").rename(checkpoint / "sources")
    else:
        (checkpoint / "offsets" / str(BEGAN)).unlink()
        shutil.copy(checkpoint / "offsets" / str(NEWEST), checkpoint / "offsets" / str(BEGAN))
    code = {"offsets": "lockstep.gone", "files": "lockstep.files", "moved": "lockstep.moved"}[what]
    with refusal(Conflict, code) as refused:
        house.face.begin(Fork(savepoint=begun, name="b", lock_step=True))
    assert house.face.context.files.job(JobName("b")) is None
    assert what != "offsets" or "spark.sql.streaming.minBatchesToRetain" in refused.value.hint


def test_a_job_that_has_begun_another_checkpoint_is_told_apart_from_one_whose_batches_are_gone(house: House, begun: str, run: Run) -> None:
    (Path(run.checkpoints) / "counts" / "without").rename(Path(run.checkpoints) / "counts" / "sources")
    again = do(house.face, Resume("a", from_savepoint=begun))
    checkpoint = Path(again.checkpoints) / "counts"
    house.append(again, QUERIES_FILE, query_line(str(checkpoint), str(house.face.layout.output(run.job) / "counts")))
    house.see(again, RunState.STOPPED)
    (checkpoint / "offsets" / str(BEGAN)).unlink()
    with pytest.raises(
        Conflict, match="a has gone on in another checkpoint since the savepoint", check=lambda raised: raised.code == "lockstep.moved"
    ):
        house.face.plan(Fork(savepoint=begun, name="b", lock_step=True))


def test_an_end_is_after_the_savepoint_and_of_the_same_job(house: House, begun: str, run: Run) -> None:
    (Path(run.checkpoints) / "counts" / "without").rename(Path(run.checkpoints) / "counts" / "sources")
    before = do(house.face, Take("a", BEGAN - 1)).id
    house.ran("other")
    other = do(house.face, Take("other")).id
    (Path(run.checkpoints) / "counts" / "sources").rename(Path(run.checkpoints) / "counts" / "without")
    refusals = (
        (before, Conflict, "lockstep.before"),
        (other, Invalid, "lockstep.other_job"),
        (begun, Conflict, "lockstep.nothing"),
    )
    for point, error, code in refusals:
        with refusal(error, code):
            house.face.plan(Fork(savepoint=begun, name="b", until=point))
    with refusal(Conflict, "lockstep.nothing"):
        house.face.plan(Fork(savepoint=begun, name="b", until_ms=1))
    with refusal(Invalid, "lockstep.future"):
        house.face.plan(Fork(savepoint=begun, name="b", until_ms=2_000_000_000_000))
    with refusal(Invalid, "lockstep.two_ends"):
        house.face.plan(Fork(savepoint=begun, name="b", until="now", until_ms=1))


@pytest.mark.parametrize("source", sorted(UNREPEATABLE))
def test_a_source_without_offsets_to_give_is_refused_by_name(house: House, begun: str, source: str) -> None:
    manifest = house.face.ask(ReadManifest(begun))
    leads.require_sources(manifest)
    images = tuple(replace(image, sources=("json", source)) for image in manifest.queries)
    with pytest.raises(Unsupported, check=lambda raised: raised.code == "lockstep.source" and source in raised.message):
        leads.require_sources(replace(manifest, queries=images))


def test_what_would_shift_the_batches_is_refused(house: House, begun: str) -> None:
    with refusal(Conflict, "lockstep.partitions"):
        house.face.plan(Fork(savepoint=begun, name="b", lock_step=True, partitions=8))
    with pytest.raises(TidemarkError, check=lambda raised: raised.code == "lockstep.query"):
        house.face.plan(Fork(savepoint=begun, name="b", lock_step=True, new_queries=("late",)))


def write_batches(output: Path, rows: list[list[dict[str, object]]]) -> str:
    """What a file sink has after these batches, one file each."""
    (output / "_spark_metadata").mkdir(parents=True)
    for batch, of_batch in enumerate(rows):
        file = output / f"part-{batch}.json"
        file.write_text("".join(json.dumps(row) + "\n" for row in of_batch))
        entry = {"path": file.as_uri(), "size": file.stat().st_size, "isDir": False, "modificationTime": 1, "action": "add"}
        (output / "_spark_metadata" / str(batch)).write_text(
            "v1\n" + json.dumps(entry | {"blockReplication": 1, "blockSize": 1}),
        )
    return str(output)


def test_where_they_part_is_a_batch_and_its_keys_with_both_values(tmp_path: Path) -> None:
    one, two, three = ({"k": f"k{number}", "n": number} for number in range(3))
    a = write_batches(tmp_path / "a", [[one], [two, three], [one]])
    b = write_batches(tmp_path / "b", [[one], [{**two, "n": 9}], [three]])
    stepped = batches.stepped(batches.Sinks((a, b), "json"), (), -1, 2, 5)
    assert (stepped.since, stepped.first, stepped.keys) == (0, 1, ("k",))
    assert stepped.examples == {"changed": [{"k": "k1", "a.n": 1, "b.n": 9}], "only_a": [three], "only_b": []}
    assert batches.stepped(batches.Sinks((a, a), "json"), (), -1, 2, 5).examples == {}


def test_what_differs_by_itself_is_told_but_not_what_the_leaders_clock_gives(house: House, run: Run) -> None:
    started = {"varies": ["current_timestamp()", "now()", "rand()"]}
    line = json.loads((house.face.layout.run(run.job, run.id) / QUERIES_FILE).read_text().splitlines()[-1])
    house.append(run, QUERIES_FILE, json.dumps(line | started) + "\n")
    context = house.face.context
    assert varying.of_jobs(context, run.job) == varying.of_jobs(context, run.job, query="counts") == ("now()", "rand()")
    assert varying.of_jobs(context, run.job, query="other") == ()
