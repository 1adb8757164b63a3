"""Back to any retained batch, sinks both ways, and a workspace that was moved: without Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from pipelines.domain.errors import Conflict, Invalid, NotFound, TidemarkError
from pipelines.domain.runs import QUERIES_FILE, RunState
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListRetained, ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.take import Take
from pipelines.workspace.workspace import Workspace
from tests.savepoint.golden import lay_checkpoint, lay_output
from tests.workspace.conftest import NEWEST, House, job, query_line

MINUTE_MS = 60_000


def refusal(error: type[TidemarkError], code: str):
    return pytest.raises(error, check=lambda raised: raised.code == code)


def take(house: House, batch: int | None = None) -> Savepoint:
    return do(house.face, Take("a", batch))


def newest(checkpoints: str, query: str = "counts") -> int:
    return max(int(path.name) for path in (Path(checkpoints) / query / "commits").iterdir() if path.name[0] != ".")


# rewinding


def test_back_to_a_retained_batch_saves_the_present_first(house: House) -> None:
    first = house.ran("a")
    run = do(house.face, Resume("a", batch=7))
    assert run.checkpoints != first.checkpoints and newest(run.checkpoints) == 7
    rewound, present = house.face.ask(ListSavepoints("a"))
    assert (present.reason, present.batch) == (Reason.BEFORE_RESUME, NEWEST)
    assert (rewound.reason, rewound.batch, run.from_savepoint) == (Reason.REWIND, 7, rewound.id)
    ids = [json.loads((Path(job_run.checkpoints) / "counts" / "metadata").read_text())["id"] for job_run in (first, run)]
    assert ids[0] == ids[1]


def test_a_dry_rewind_says_what_it_would_do_and_does_nothing(house: House) -> None:
    house.ran("a")
    plan = house.face.plan(Resume("a", batch=7))
    assert plan.keeps_query_id and plan.savepoint == ""
    assert (plan.how, [sink.action for sink in plan.sinks], bool(plan.warnings)) == ("link", ["cut"], True)
    assert house.face.ask(ListSavepoints("a")) == [] and len(house.face.ask(ShowJob("a")).runs) == 1
    do(house.face, Resume("a", batch=7))
    assert plan.bytes <= house.face.ask(ListSavepoints("a"))[0].bytes


@pytest.mark.parametrize("ask", [Workspace.begin, Workspace.plan])
def test_a_batch_that_is_not_kept_is_refused_before_anything_is_saved(house: House, ask: Callable[[Workspace, Resume], object]) -> None:
    house.ran("a")
    with refusal(NotFound, "savepoint.not_retained"):
        ask(house.face, Resume("a", batch=99))
    assert house.face.ask(ListSavepoints("a")) == [] and len(house.face.ask(ShowJob("a")).runs) == 1


def two_queries(house: House) -> None:
    run = house.ran("a")
    other = query_line(str(Path(run.checkpoints) / "other"), "").replace("counts", "other")
    shutil.copytree(Path(run.checkpoints) / "counts", Path(run.checkpoints) / "other")
    house.append(run, QUERIES_FILE, other)


def test_a_batch_of_several_queries_is_refused(house: House) -> None:
    two_queries(house)
    with pytest.raises(Invalid, match="Batch 7 is ambiguous") as refused:
        do(house.face, Resume("a", batch=7))
    assert refused.value.code == "savepoint.batch_of_several" and "--batch counts=7" in refused.value.hint


@pytest.mark.parametrize(("batch", "batches"), [({"counts": 7, "other": 5}, (7, 5)), ({"other": 4}, (NEWEST, 4))])
def test_several_queries_go_back_to_a_batch_each_and_one_that_is_not_named_stays(
    house: House, batch: dict[str, int], batches: tuple[int, int]
) -> None:
    two_queries(house)
    run = do(house.face, Resume("a", batch=batch))
    assert tuple(newest(run.checkpoints, query) for query in ("counts", "other")) == batches
    rewound, present = house.face.ask(ListSavepoints("a"))
    assert {image.query: image.batch for image in rewound.queries} == dict(zip(("counts", "other"), batches, strict=True))
    assert {image.batch for image in present.queries} == {NEWEST} and f"batch {batches[1]} of other" in present.label


@pytest.mark.parametrize(
    ("batch", "error", "code"),
    [
        ({"third": 7}, Invalid, "savepoint.unknown_query"),
        ({"counts": 7, "other": 99}, NotFound, "savepoint.not_retained"),
    ],
)
def test_a_batch_of_an_unknown_query_and_one_that_is_not_kept_are_refused(
    house: House, batch: dict[str, int], error: type[TidemarkError], code: str
) -> None:
    two_queries(house)
    with refusal(error, code):
        do(house.face, Resume("a", batch=batch))
    assert house.face.ask(ListSavepoints("a")) == [] and len(house.face.ask(ShowJob("a")).runs) == 1


def test_a_batch_and_a_savepoint_are_two_points(house: House) -> None:
    house.ran("a")
    with refusal(Invalid, "resume.two_points"):
        do(house.face, Resume("a", batch=7, from_savepoint=take(house).id))


def test_the_newest_batch_needs_no_second_savepoint(house: House) -> None:
    house.ran("a")
    do(house.face, Resume("a", batch=NEWEST))
    assert [savepoint.reason for savepoint in house.face.ask(ListSavepoints("a"))] == [Reason.REWIND]


# by event time


def test_a_savepoint_by_event_time(house: House) -> None:
    house.ran("a")
    kept = house.face.ask(ListRetained("a"))
    target = kept[5]
    for event_ms, batch in ((target.watermark_ms, 5), (target.watermark_ms - 1, 4), (kept[-1].watermark_ms + MINUTE_MS, NEWEST)):
        planned = house.face.plan(Take("a", event_ms=event_ms)).batches
        assert planned == {"counts": max(retained.batch for retained in kept if retained.watermark_ms <= event_ms)} == {"counts": batch}
    with refusal(NotFound, "savepoint.not_retained"):
        house.face.plan(Take("a", event_ms=-1))


def test_no_event_time_without_a_watermark(house: House) -> None:
    house.ran("a", golden="limit")
    with refusal(Invalid, "savepoint.no_watermark"):
        house.face.plan(Take("a", event_ms=1))


@pytest.mark.parametrize("change", [Take("a", batch=1, event_ms=1), Take("a", at_ms=1, event_ms=1)])
def test_two_points_in_time(house: House, change: Take) -> None:
    house.ran("a")
    with refusal(Invalid, "savepoint.two_points"):
        do(house.face, change)


# sinks


def forked(house: House, name: str, sinks: dict[str, str]) -> Path:
    """The log that waits for the fork's driver."""
    run = do(house.face, Fork(take(house).id, name=name, sinks=sinks))
    return Path(house.face.context.files.spec(run.job, run.id).sink_logs["counts"])


def entries(log: Path) -> list[Path]:
    lines = [line for file in log.iterdir() if file.name != "root" and file.name[0] != "." for line in file.read_text().splitlines()[1:]]
    return [Path(unquote(urlsplit(json.loads(line)["path"]).path)) for line in lines]


def test_a_fresh_sinks_log_has_the_same_files_and_no_entries(house: House) -> None:
    house.ran("a")
    continued, fresh = forked(house, "b", {}), forked(house, "c", {"*": "fresh"})
    assert {path.name for path in fresh.iterdir()} == {path.name for path in continued.iterdir() if path.name[0] != "."} - {"root"}
    assert entries(continued) and entries(fresh) == []


def test_a_choice_that_there_is_not(house: House) -> None:
    house.ran("a")
    with refusal(Invalid, "fork.sink_choice"):
        house.face.plan(Fork(take(house).id, name="b", sinks={"counts": "carry"}))


def test_a_fork_is_refused_before_its_start_where_the_history_is_gone(house: House) -> None:
    run = house.ran("a")
    saved = take(house)
    next((house.face.layout.output(run.job) / "counts").glob("part-*")).unlink()
    sinks = house.face.plan(Fork(saved.id, name="b")).sinks
    assert [(sink.action, "fresh" in sink.message) for sink in sinks] == [("refuse", True)]
    with refusal(Conflict, "restore.history_gone"):
        do(house.face, Fork(saved.id, name="b"))
    assert not house.face.layout.job(job("b")).exists()
    assert do(house.face, Fork(saved.id, name="b", sinks={"counts": "fresh"})).job == "b"


def test_batches_that_a_sinks_log_no_longer_tells_apart_are_not_offered(house: House) -> None:
    run = house.ran("a")
    log = house.face.layout.output(run.job) / "counts" / "_spark_metadata"
    for old in range(9):
        (log / str(old)).unlink()
    assert [retained.batch for retained in house.face.ask(ListRetained("a"))] == list(range(9, NEWEST + 1))
    for retained in house.face.ask(ListRetained("a")):
        assert take(house, retained.batch).batch == retained.batch
    with refusal(NotFound, "savepoint.not_retained"):
        take(house, 8)


# a moved workspace


def moved(house: House) -> House:
    house.face.close()
    new = house.root.with_name("elsewhere")
    shutil.move(house.root, new)
    house.root = new
    house.open()
    return house


def test_a_fork_in_a_moved_workspace_finds_its_history(house: House) -> None:
    house.ran("a")
    saved = take(house)
    here = moved(house)
    run = do(here.face, Fork(saved.id, name="b"))
    log = Path(here.face.context.files.spec(run.job, run.id).sink_logs["counts"])
    home = here.face.layout.output(job("a")) / "counts"
    assert (log / "root").read_text() == str(home)
    assert entries(log) and all(path.is_relative_to(home) and path.is_file() for path in entries(log))


def test_a_job_in_a_moved_workspace_is_saved_diagnosed_and_resumed(house: House) -> None:
    first = house.ran("a")
    here = moved(house)
    assert len(here.face.ask(ListRetained("a"))) == NEWEST + 1
    assert do(here.face, Diagnose("a"))[0].sound
    run = do(here.face, Resume("a"))
    assert run.checkpoints.startswith(str(here.root)) and run.checkpoints != first.checkpoints
    assert newest(run.checkpoints) == NEWEST
    saved = here.face.ask(ListSavepoints("a"))[0]
    assert (saved.reason, saved.batch, run.from_savepoint) == (Reason.BEFORE_RESUME, NEWEST, saved.id)


def test_output_of_another_workspace_is_no_history(house: House, tmp_path: Path) -> None:
    """An imported savepoint: the job it is of is not here, nor are its files."""
    run = house.ran("a")
    saved = take(house)
    shutil.rmtree(house.face.layout.output(run.job))
    assert [sink.action for sink in house.face.plan(Fork(saved.id, name="b")).sinks] == ["refuse"]
    lay_output("rocksdb_format2", house.face.layout.output(run.job) / "counts")
    assert [sink.action for sink in house.face.plan(Fork(saved.id, name="b")).sinks] == ["continue"]


@pytest.mark.parametrize("sink", ["delta", "iceberg"])
def test_a_table_that_remembers_its_batches_is_gone_back_on_only_by_who_has_restored_it(house: House, sink: str) -> None:
    run = house.begin("a")
    checkpoint = Path(run.checkpoints) / "counts"
    lay_checkpoint("rocksdb_format2", checkpoint)
    line = json.loads(query_line(str(checkpoint), ""))
    house.append(run, QUERIES_FILE, json.dumps({**line, "sink": sink, "sink_path": "", "sink_table": "db.counts"}) + "\n")
    house.see(run, RunState.STOPPED)
    taken = take(house, 7)
    for change in (Resume("a", batch=7), Resume("a", from_savepoint=taken.id)):
        refused = house.face.plan(change).refusal
        assert refused is not None and refused.code == "sink.remembers" and "db.counts" in refused.message and "--force" in refused.hint
        assert house.face.plan(replace(change, force=True)).refusal is None
    assert house.face.plan(Resume("a")).refusal is None
