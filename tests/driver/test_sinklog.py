"""What to do with a sink's log: the decisions as tables, the carrying against crashes at every step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.domain.errors import Conflict, Unsupported
from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.run_specs import SPEC_FORMAT, RunSpec
from pipelines.driver import sinks
from pipelines.driver.records import Records
from pipelines.driver.sinklog import Carry, CheckpointFacts, Mend, checkpoint_facts, decide_carry, decide_mend


@pytest.mark.parametrize(
    ("case", "brought", "planned", "in_sink", "decision"),
    [
        ("nothing to bring", -1, 5, None, Carry.NOTHING),
        ("not begun, on the old output", -1, -1, 9, Carry.REPLACE),
        ("not begun, set aside already", -1, -1, -1, Carry.NOTHING),
        ("not begun, batches have run since", -1, 0, 0, Carry.NOTHING),
        ("a fork's new output", 5, 5, None, Carry.PUT),
        ("a crash before the rename", 5, 6, None, Carry.PUT),
        ("a resume on the old output", 5, 5, 9, Carry.REPLACE),
        ("a resume whose log was carried", 5, 5, 5, Carry.REPLACE),
        ("batches have run since", 5, 6, 6, Carry.NOTHING),
    ],
)
def test_carry(case: str, brought: int, planned: int, in_sink: int | None, decision: Carry) -> None:
    assert decide_carry(brought, planned, in_sink) is decision, case


@pytest.mark.parametrize(
    ("case", "planned", "committed", "in_sink", "decision"),
    [
        ("a new query", -1, -1, -1, Mend.NOTHING),
        ("a clean stop", 7, 7, 7, Mend.NOTHING),
        ("killed before the sink's commit", 8, 7, 7, Mend.NOTHING),
        ("killed between the commits", 8, 7, 8, Mend.REDO),
        ("the same in the first batch", 0, -1, 0, Mend.REDO),
        ("another query's output", -1, -1, 4, Mend.REFUSE),
        ("an older checkpoint", 7, 7, 9, Mend.REFUSE),
    ],
)
def test_mend(case: str, planned: int, committed: int, in_sink: int, decision: Mend) -> None:
    assert decide_mend(CheckpointFacts(planned, committed), in_sink) is decision, case


def records(folder: Path) -> Records:
    return Records(folder, lambda: 1)


def entries(log: Path, *names: str, text: str = "v1\n") -> Path:
    log.mkdir(parents=True, exist_ok=True)
    for name in names:
        (log / name).write_text(text)
        (log / f".{name}.crc").write_text("crc")
    return log


def checkpoint(folder: Path, planned: int, committed: int) -> Path:
    entries(folder / "offsets", *map(str, range(planned + 1)), text='v1\n{"batchWatermarkMs":0}\n{}\n')
    entries(folder / "commits", *map(str, range(committed + 1)), text="v1\n{}\n")
    return folder


def names(log: Path) -> set[str]:
    return {path.name for path in log.iterdir() if not path.name.startswith(".")}


def test_the_checkpoint_tells_how_far_it_came(tmp_path: Path) -> None:
    assert checkpoint_facts(tmp_path) == CheckpointFacts(-1, -1)
    assert checkpoint_facts(checkpoint(tmp_path / "two", 3, 2)) == CheckpointFacts(3, 2)


def test_a_carried_log_is_exactly_the_savepoints(tmp_path: Path) -> None:
    source = entries(tmp_path / "source", "2.compact", "3", "4")
    (source / "notes.txt").write_text("not the log's")
    (source / "root").write_text(str(tmp_path / "sink"))
    sinks.carry(records(tmp_path), "q", source, tmp_path / "sink", checkpoint(tmp_path / "c", 4, 4), "run-1")
    assert names(tmp_path / "sink" / "_spark_metadata") == {"2.compact", "3", "4"}
    assert (tmp_path / "sink" / "_spark_metadata" / ".2.compact.crc").exists()
    event = json.loads((tmp_path / "events.jsonl").read_text())
    assert (event["kind"], event["message"]) == ("sink.carried", f"The output in {tmp_path / 'sink'} was cut back to batch 4.")


def test_a_fresh_log_brings_nothing_along_and_says_so(tmp_path: Path) -> None:
    source = entries(tmp_path / "source", "2.compact", "3", "4")
    sinks.carry(records(tmp_path), "q", source, tmp_path / "sink", checkpoint(tmp_path / "c", 4, 4), "run-1")
    assert names(tmp_path / "sink" / "_spark_metadata") == {"2.compact", "3", "4"}
    event = json.loads((tmp_path / "events.jsonl").read_text())
    assert event["kind"] == "sink.fresh" and "none of the rows" in event["message"]


def test_a_fork_whose_history_went_away_meanwhile_does_not_start(tmp_path: Path) -> None:
    gone = json.dumps({"path": (tmp_path / "parent" / "part-0").as_uri(), "action": "add"})
    source = entries(tmp_path / "source", "4", text=f"v1\n{gone}")
    (source / "root").write_text(str(tmp_path / "parent"))
    with pytest.raises(Conflict) as refused:
        sinks.carry(records(tmp_path), "q", source, tmp_path / "sink", checkpoint(tmp_path / "c", 4, 4), "run-1")
    assert refused.value.code == "sink.history_gone"
    assert not (tmp_path / "sink" / "_spark_metadata").exists()


@pytest.mark.parametrize("crashed_after", ["nothing", "half a copy", "the old log set aside", "all of it"])
def test_a_resume_ends_the_same_after_any_crash(tmp_path: Path, crashed_after: str) -> None:
    source, sink, live = entries(tmp_path / "source", "3", "4"), tmp_path / "sink", checkpoint(tmp_path / "c", 4, 4)
    entries(sink / "_spark_metadata", "3", "4", "5", "6")
    if crashed_after in ("half a copy", "the old log set aside"):
        entries(sink / "_spark_metadata.tmp-run-1", "3")
    if crashed_after == "the old log set aside":
        (sink / "_spark_metadata").rename(sink / "_spark_metadata.before-run-1")
    if crashed_after == "all of it":
        sinks.carry(records(tmp_path), "q", source, sink, live, "run-1")
    sinks.carry(records(tmp_path), "q", source, sink, live, "run-1")
    assert names(sink / "_spark_metadata") == {"3", "4"}
    assert names(sink / "_spark_metadata.before-run-1") == {"3", "4", "5", "6"}
    assert not (sink / "_spark_metadata.tmp-run-1").exists()


def test_a_log_that_goes_back_is_there_before_a_query_begins(tmp_path: Path) -> None:
    source, sink = entries(tmp_path / "source", "3", "4"), tmp_path / "sink"
    entries(sink / "_spark_metadata", "3", "4", "5")
    checkpoint(tmp_path / "q", 4, 4)
    (source / "root").write_text(str(sink))
    here = str(tmp_path)
    spec = RunSpec(SPEC_FORMAT, RunId("r"), JobName("j"), VersionId("v"), "s.py", (), {}, "local[2]", here, here, {"q": str(source)})
    sinks.go_back(spec, records(tmp_path))
    assert names(sink / "_spark_metadata") == {"3", "4", "5"}, "a fork's, whose root is its parent's"
    (source / "own").touch()
    for _ in range(2):
        sinks.go_back(spec, records(tmp_path))
        assert names(sink / "_spark_metadata") == {"3", "4"} and not source.exists()
    sinks.prepare(spec, records(tmp_path), "q", str(sink), str(tmp_path / "q"), None)
    assert names(sink / "_spark_metadata") == {"3", "4"}


def test_a_log_that_grew_since_the_carry_stays(tmp_path: Path) -> None:
    source, sink = entries(tmp_path / "source", "3", "4"), tmp_path / "sink"
    entries(sink / "_spark_metadata", "3", "4", "5")
    sinks.carry(records(tmp_path), "q", source, sink, checkpoint(tmp_path / "c", 5, 5), "run-2")
    assert names(sink / "_spark_metadata") == {"3", "4", "5"}


def test_a_sink_that_another_query_wrote_is_refused(tmp_path: Path) -> None:
    entries(tmp_path / "sink" / "_spark_metadata", "0", "1")
    with pytest.raises(Conflict, match="silently drop"):
        sinks.refuse_ahead("q", tmp_path / "sink", tmp_path / "no-checkpoint")


@pytest.mark.parametrize(
    ("path", "taken", "refused"),
    [
        ("/data/a/out", "/data/a/out", True),
        ("/data/a/out/deeper", "/data/a/out/", True),
        ("file:///data/a/out", "/data/a/out", True),
        ("/data/a/output", "/data/a/out", False),
        ("s3a://bucket/out", "s3a://bucket/out/", True),
        ("s3a://bucket/other", "s3a://bucket/out", False),
    ],
)
def test_taken_paths(path: str, taken: str, refused: bool) -> None:
    if refused:
        with pytest.raises(Conflict) as error:
            sinks.refuse_taken("q", path, [taken])
        assert error.value.code == "sink.taken"
    else:
        sinks.refuse_taken("q", path, [taken])


def test_a_file_sink_in_a_folder_of_this_run_alone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Conflict, match="the job's next run would have another one"):
        sinks.refuse_fleeting("q", f"file:{tmp_path}/counts", "s3://bucket/jobs/a/output")
    for path, output in [(f"{tmp_path}/counts", str(tmp_path)), ("/data/counts", "/w/output"), ("s3a://bucket/counts", "/w/output")]:
        sinks.refuse_fleeting("q", path, output)


def test_a_log_cannot_be_carried_where_no_suite_ran(tmp_path: Path) -> None:
    here = str(tmp_path)
    spec = RunSpec(SPEC_FORMAT, RunId("r"), JobName("j"), VersionId("v"), "s.py", (), {}, "local[2]", here, here, {"q": here})
    with pytest.raises(Unsupported) as error:
        sinks.prepare(spec, records(tmp_path), "q", "gs://there/out", str(tmp_path / "q"), None)
    assert error.value.code == "sink.remote"


def test_where_a_path_lies() -> None:
    assert sinks.local_path("file:/a/b c") == Path("/a/b c")
    assert sinks.local_path("file:///a/../b") == Path("/b")
    assert sinks.local_path("/a%20b/") == Path("/a%20b")
    assert sinks.local_path("/a", "hdfs://name:8020") is None
    assert sinks.local_path("hdfs://name/a") is None
