"""Checks of the workspace: what becomes of a savepoint's state under other code, planned by real Spark, and what a fork makes of it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain import read_variables, verdicts
from pipelines.domain.changed_meanings import KeyExample
from pipelines.domain.edges import EDGE_FILE, Edge
from pipelines.domain.errors import Incompatible, Invalid
from pipelines.domain.ids import JobName, VersionId
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.verdicts import Outcome, Part, Verdict
from pipelines.sandbox import installed
from pipelines.verbs.check import Check
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.experiments import ShowTree
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork, Variant
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest
from pipelines.verbs.system import ListEvents, RebuildCatalog
from pipelines.verbs.take import Take
from pipelines.verbs.try_code import TryCode
from pipelines.verbs.verb import Change
from pipelines.workspace import resumes, versions
from pipelines.workspace import verdicts as known
from tests.savepoint.golden import lay_checkpoint, lay_output
from tests.warm import USUAL
from tests.workspace.conftest import NEWEST, House, query_line

CODE = """
import sys
from pyspark.sql import SparkSession, functions as F
import rates
spark = SparkSession.builder.getOrCreate()
events = spark.readStream.schema("post STRING, ts TIMESTAMP, n INT").json(sys.argv[1]).withWatermark("ts", "5 minutes")
counted = events.groupBy(F.window("ts", "10 minutes"), "post").agg(F.sum("n").alias("total"))
query = counted.writeStream.queryName("counts").format("parquet").start(sys.argv[2])
query.awaitTermination()
spark.stop()
"""
THIRDS = """
from pyspark.sql import functions as F


def thirds(rows, schema):
    return rows.select("key", F.struct((F.col("value.sum") / 3).cast("bigint").alias("count")).alias("value"))
"""
RATES = {"rates.py": "RATE = 1\n"}


def saved(
    house: House, tmp_path: Path, files: Mapping[str, str] | None = None, variables: Mapping[str, str] | None = None, **others: str
) -> Savepoint:
    """A savepoint of that code on a golden checkpoint, which the same query wrote on what is installed here, but for `others`, once it
    had read `files` and `variables`."""
    (tmp_path / "input").mkdir(exist_ok=True)
    run = do(house.face, RunScript(name="a", script="job.py", code=CODE, args=(str(tmp_path / "input"), "{output}/counts"), files=RATES))
    checkpoint, sink = Path(run.checkpoints) / "counts", house.face.layout.output(JobName("a")) / "counts"
    lay_checkpoint("rocksdb_format2", checkpoint)
    lay_output("rocksdb_format2", sink)
    house.append(run, "queries.jsonl", query_line(str(checkpoint), str(sink)))
    house.stands(run, files, variables, **others)
    house.see(run, RunState.STOPPED)
    return do(house.face, Take("a"))


def keep(
    house: House,
    savepoint: Savepoint,
    code: str,
    verdict: Verdict,
    files: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
) -> None:
    """As a check does that has found it."""
    manifest = house.face.ask(ReadManifest(savepoint.id))
    version = versions.of_fork(manifest, Fork(savepoint.id, name="b", code=code), 1)
    known.keep(house.face.context, manifest, version, (), verdict, files or {}, variables or {})


def rules(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A file that a script reads, and what a run notes of it."""
    path = tmp_path / "rules.json"
    path.write_text("2")
    return path, {str(path): hashlib.sha256(b"2").hexdigest()}


def files(folder: str) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()}


@pytest.mark.spark
def test_changed_code_is_judged_in_the_sandbox_and_the_forks_plan_says_it(
    kept_jvms: None, house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, noted = rules(tmp_path)
    savepoint = saved(house, tmp_path, noted, read_variables.noted(["THRESHOLD"], {"THRESHOLD": "10"}, "salt"), numpy="0.1")
    reason = "The script read the environment variable THRESHOLD, which is not set now."
    assert do(house.face, Check(savepoint.id)).parts[0].reasons == (reason,)
    monkeypatch.setenv("THRESHOLD", "10")
    before = files(savepoint.path)
    counts = CODE.replace('F.sum("n")', 'F.count("n")')
    verdict = do(house.face, Check(savepoint.id, code=counts))
    assert verdict.outcome is Outcome.CHANGED_MEANING, verdict
    assert [(part.operator, part.name) for part in verdict.parts] == [(0, "stateStoreSave")]
    assert verdict.parts[0].reasons == ("computes: sum(n) AS total before, count(n) AS total now",)
    assert verdict.spark_version == savepoint.spark_version
    assert files(savepoint.path) == before and not any(house.face.layout.sandbox.iterdir())
    assert house.face.plan(Fork(savepoint.id, name="b", code=counts)).verdict == verdict
    told = {"counts.0": "counts.0"}
    assert house.face.plan(Fork(savepoint.id, name="b", code=counts, map=told)).verdict == verdict, "before it is checked with that"
    mapped = do(house.face, Check(savepoint.id, code=counts, map=told))
    assert (mapped.outcome, mapped.told) == (Outcome.CHANGED_MEANING, told)
    assert house.face.plan(Fork(savepoint.id, name="b", code=counts, map=told)).verdict == mapped
    house.reopen()
    assert not house.face.plan(Check(savepoint.id, code=counts)).starts_spark, "kept, with the workspace closed meanwhile"
    assert house.face.plan(Fork(savepoint.id, name="b", code=counts)).verdict == verdict
    shows_a_key(house, savepoint, counts, tmp_path / "input")
    house.face.context.sparks.open(house.face.layout.warm, USUAL)  # from here on by processes that have done something before
    assert do(house.face, Check(savepoint.id)).outcome is Outcome.SAME, "of another version is only a package that it does not use"
    times = CODE.replace('F.sum("n")', f'F.sum(F.col("n") * int(open({str(path)!r}).read()))')
    assert do(house.face, Check(savepoint.id, code=times)).parts[0].reasons == (
        "computes: sum(n) AS total before, sum((n * 2)) AS total now",
    )
    assert not house.face.plan(Check(savepoint.id, code=times)).starts_spark
    path.write_text("3")
    reason = f"The script read {path}, which is another now."
    assert house.face.plan(Check(savepoint.id, code=times)).starts_spark, "the changed code reads it, too"
    unchanged = do(house.face, Check(savepoint.id))
    assert (unchanged.outcome, unchanged.parts[0].reasons) == (Outcome.CANNOT_TELL, (reason,))
    assert reason in do(house.face, Check(savepoint.id, code=counts)).parts[0].reasons
    path.write_text("2")
    least = CODE.replace('F.sum("n")', 'F.sum(F.col("n") * int(os.environ["THRESHOLD"]))').replace("import sys", "import os, sys")
    assert "(n * 10)" in do(house.face, Check(savepoint.id, code=least)).parts[0].reasons[0]
    assert not house.face.plan(Check(savepoint.id, code=least)).starts_spark
    monkeypatch.setenv("THRESHOLD", "20")
    assert house.face.plan(Check(savepoint.id, code=least)).starts_spark
    told = do(house.face, Check(savepoint.id, code=least)).parts[0].reasons
    assert "(n * 20)" in told[0] and "The script read the environment variable THRESHOLD, which is another now." in told
    monkeypatch.setenv("THRESHOLD", "10")
    uses = do(house.face, Check(savepoint.id, code=f"import numpy\n{CODE}"))
    assert uses.outcome is Outcome.CANNOT_TELL and "numpy, which was 0.1 and is" in uses.parts[0].reasons[0]
    greatest = do(house.face, Check(savepoint.id, code=CODE.replace('F.sum("n")', 'F.max("n")')))
    assert greatest.outcome is Outcome.NEEDS_REWRITING
    assert greatest.parts[0].reasons == ("default value: sum long before, max integer now",)
    start = 'counted.writeStream.queryName("more").format("parquet").start(sys.argv[2] + "2")\nquery.awaitTermination()'
    more = Check(savepoint.id, code=CODE.replace("query.awaitTermination()", start))
    refused = do(house.face, more)
    assert refused.outcome is Outcome.CANNOT_START and [part.query for part in refused.parts] == ["counts", "more"]
    assert do(house.face, replace(more, new_queries=("more",))).outcome is Outcome.SAME
    starts_in_a_thread(house, savepoint)
    begins_once_it_is_checked(house, savepoint)


def starts_in_a_thread(house: House, savepoint: Savepoint) -> None:
    """The code itself ends before its query is built; what is raised there is told, where nothing else would be seen of the query."""
    counted = next(line for line in CODE.splitlines() if line.startswith("counted"))
    started = counted + ".writeStream.queryName('counts').format('parquet').start(sys.argv[2])"
    for code, outcome, reason in (
        (started.replace("sum", "count"), Outcome.CHANGED_MEANING, "computes: sum(n) AS total before, count(n) AS total now"),
        (started.replace('"n"', '"typo"'), Outcome.CANNOT_START, "with name `typo` cannot be resolved"),
    ):
        beginning = CODE[: CODE.index("counted")] + "import threading, time\ndef start():\n    time.sleep(1)\n    "
        verdict = do(house.face, Check(savepoint.id, code=f"{beginning}{code}\nthreading.Thread(target=start).start()\n"))
        assert verdict.outcome is outcome and reason in verdict.parts[0].reasons[0], verdict


def begins_once_it_is_checked(house: House, savepoint: Savepoint) -> None:
    """Who asks for a check begins nothing on state that it does not fit, and is told where it means something else."""
    least, twice = (CODE.replace('F.sum("n")', other) for other in ('F.min("n")', 'F.sum(F.col("n") * 2)'))
    args = house.face.ask(ReadManifest(savepoint.id)).version.args
    changes: list[Change[Any, Any]] = [
        Fork(savepoint.id, name="least", code=least),
        RunScript(name="least", script="job.py", code=f"{least}\n2\n", args=args, files=RATES, from_savepoint=savepoint.id),
        Resume("a", code=least.replace("10 minutes", "10 minute")),
        StartExperiment("e", savepoint.id, (Variant(name="least"), Variant(name="f", code=f"{least}\n1\n"))),
    ]
    for change in changes:
        with pytest.raises(Incompatible, match="min integer now"):
            do(house.face, change)
    assert [summary.job.name for summary in house.face.ask(ListJobs())] == ["a"] and len(house.face.ask(ListSavepoints("a"))) == 1
    assert do(house.face, Fork(savepoint.id, name="same", code=f"{CODE}\n# but for a word\n")).job == "same"
    assert do(house.face, Fork(savepoint.id, name="unasked", code=CODE.replace("F.sum", "F.first"), check=False)).job == "unasked"
    run = do(house.face, Fork(savepoint.id, name="twice", code=twice))
    (event,) = house.face.ask(ListEvents(kind="code.checked"))
    assert (event.job, event.subject) == ("twice", run.id)
    assert "the verdict on its code is 'changed meaning'. counts, operator 0 (aggregation): computes: sum(n)" in event.message
    began = {job: [edge.outcome if edge is not None else None for edge in of_job] for job, of_job in edges_of(house).items()}
    assert began == {"a": [None], "same": [Outcome.SAME], "unasked": [None], "twice": [Outcome.CHANGED_MEANING]}
    assert run.edge is not None and run.edge.parts[0].reasons[0].startswith("computes: sum(n)")
    assert not any(house.face.layout.sandbox.iterdir())


def shows_a_key(house: House, savepoint: Savepoint, counts: str, into: Path) -> None:
    """A trial of that code has a key with what both codes make of the same batch, which was planned once."""
    events = [{"post": post, "ts": "2026-01-01T00:35:00Z", "n": 10} for post in ("p1", "unheard")]
    (into / "1.json").write_text("\n".join(map(json.dumps, events)))
    trial = do(house.face, TryCode(savepoint.id, code=counts))
    assert (trial.note, trial.failed) == ("", False)
    (meaning,) = trial.meanings
    assert meaning.reasons == ("computes: sum(n) AS total before, count(n) AS total now",)
    assert (meaning.query, meaning.operator, meaning.batch) == ("counts", 0, NEWEST + 1)
    window = {"window.start": "2026-01-01T00:30:00.000000Z", "window.end": "2026-01-01T00:40:00.000000Z"}
    key = {**window, "post": "p1"}
    total, counted = "sum(n) AS total", "count(n) AS total"
    assert meaning.example == KeyExample(key, ({total: 333},), ({total: 343},), ({total: 334},), {total: counted}), "in the user's words"
    assert meaning.sentence.endswith(
        f"post=p1: `{total}` is 333 in the savepoint; after the same batch the old code has 343, the new code, for which that is "
        f"`{counted}`, has 334."
    )
    rewritten = do(house.face, TryCode(savepoint.id, code=counts, migrate={"thirds": THIRDS}))
    (meaning,) = rewritten.meanings
    assert meaning.example == KeyExample(key, ({total: 333},), ({total: 343},), ({counted: 112},)), "its state was rewritten first"
    assert not any(house.face.layout.sandbox.iterdir())
    (into / "1.json").unlink()


def test_what_is_told_is_part_of_what_a_verdict_rests_on(house: House, tmp_path: Path) -> None:
    savepoint = saved(house, tmp_path)
    code, told = f"{CODE}# changed\n", {"counts.0": "counts.1"}
    verdict = verdicts.of(savepoint.id, VersionId("v-1"), ())
    keep(house, savepoint, code, replace(verdict, told=told))
    assert house.face.plan(Check(savepoint.id, code=code)).starts_spark, "known with that alone"
    assert not house.face.plan(Check(savepoint.id, code=code, map=told)).starts_spark
    with pytest.raises(Invalid, match="is no operator"):
        house.face.plan(Check(savepoint.id, code=code, map={"0": "1"}))


def test_a_savepoints_own_version_is_the_same_without_any_spark(house: House, tmp_path: Path) -> None:
    savepoint = saved(house, tmp_path)
    assert not house.face.plan(Check(savepoint.id)).starts_spark
    assert do(house.face, Check(savepoint.id, code=CODE)).outcome is Outcome.SAME
    verdict = house.face.plan(Fork(savepoint.id, name="b")).verdict
    assert verdict is not None and verdict.parts[0].reasons == (verdicts.UNCHANGED,)
    assert house.face.plan(Fork(savepoint.id, name="b", code="print(1)\n")).verdict is None
    manifest = house.face.ask(ReadManifest(savepoint.id))
    of_a_jar = replace(manifest, version=replace(manifest.version, conf={"spark.driver.extraClassPath": "/a.jar"}))
    assert known.known(house.face.context, manifest, manifest.version) == verdict
    assert known.known(house.face.context, of_a_jar, of_a_jar.version) is None, "nobody noted what was in it"


def test_going_on_from_the_present_state_has_the_verdict_on_the_savepoint_that_stands_for_it(house: House, tmp_path: Path) -> None:
    savepoint, counts = saved(house, tmp_path), CODE.replace('F.sum("n")', 'F.count("n")')
    plain = house.face.plan(Resume("a"))
    assert plain.verdict is not None and plain.verdict.outcome is Outcome.SAME and plain.judged == savepoint.id
    changed = house.face.plan(Resume("a", code=counts))
    assert (changed.savepoint, changed.verdict, changed.judged) == ("", None, savepoint.id)
    part = Part("counts", 0, "stateStoreSave", Outcome.CHANGED_MEANING, ("sum before, count now",))
    verdict = verdicts.of(savepoint.id, changed.version or savepoint.version, (part,))
    keep(house, savepoint, counts, verdict)
    assert house.face.plan(Resume("a", code=counts)).verdict == verdict
    run = do(house.face, Resume("a", code=counts))
    assert run.edge == Edge(Outcome.CHANGED_MEANING, savepoint.id, (replace(part, hint=""),))
    house.append(run, "queries.jsonl", query_line(f"{run.checkpoints}/counts", ""))
    house.see(run, RunState.STOPPED)
    assert house.face.plan(Resume("a", code=CODE)).judged is None, "nothing was saved of the version that it runs now"
    assert house.face.plan(Resume("a", version=savepoint.version)).verdict is None


def test_the_verdict_stays_with_the_run_that_began_under_it(house: House, tmp_path: Path) -> None:
    savepoint, counts = saved(house, tmp_path), CODE.replace('F.sum("n")', 'F.count("n")')
    part = Part("counts", 0, "stateStoreSave", Outcome.CHANGED_MEANING, ("sum before, count now",))
    other = Part("counts", None, "", Outcome.SAME, ("so is all else",))
    keep(house, savepoint, counts, verdicts.of(savepoint.id, savepoint.version, (part, other)))
    changed = Variant(name="changed", code=counts)
    do(house.face, Fork(savepoint.id, name="unchanged"))
    do(house.face, Fork(savepoint.id, name="unknown", code=f"{CODE}# changed\n", check=False))
    do(house.face, StartExperiment("e", savepoint.id, (changed,), with_parent=True))
    back = do(house.face, Resume("a", from_savepoint=savepoint.id))
    house.see(back, RunState.FAILED)
    again = resumes.restart(house.face.context, JobName("a"), 1)
    told = Edge(Outcome.CHANGED_MEANING, savepoint.id, (part,))
    same = Edge(Outcome.SAME, savepoint.id)
    by_job = {"a": [None, same, None], "changed": [told], "unchanged": [same], "unknown": [Edge()]}
    assert edges_of(house) == by_job and again.edge is None
    do(house.face, RebuildCatalog())
    assert edges_of(house) == by_job, "the files say it"
    (house.face.layout.run(JobName("unknown"), house.face.ask(ShowJob("unknown")).runs[0].id) / EDGE_FILE).unlink()
    do(house.face, RebuildCatalog())
    assert edges_of(house) == {**by_job, "unknown": [None]}, "of a workspace that has not noted it"


def edges_of(house: House) -> dict[str, list[Edge | None]]:
    """Of each job's runs in the tree, oldest first."""
    return {lane.job: [run.edge for run in lane.runs] for lane in house.face.ask(ShowTree()).lanes}


@pytest.mark.parametrize("others", [{"numpy": "0.1"}, {"gone": "1.0"}])
def test_unchanged_code_on_other_packages_is_not_called_the_same_unseen(house: House, tmp_path: Path, others: dict[str, str]) -> None:
    savepoint = saved(house, tmp_path, None, None, **others)
    assert house.face.plan(Check(savepoint.id)).starts_spark
    assert house.face.plan(Fork(savepoint.id, name="b")).verdict is None


def test_unchanged_code_is_the_same_only_while_the_files_that_its_script_read_are(house: House, tmp_path: Path) -> None:
    path, noted = rules(tmp_path)
    savepoint = saved(house, tmp_path, noted)
    assert not house.face.plan(Check(savepoint.id)).starts_spark
    path.write_text("3")
    assert house.face.plan(Check(savepoint.id)).starts_spark
    path.write_text("2")
    assert not house.face.plan(Check(savepoint.id)).starts_spark
    path.unlink()
    assert house.face.plan(Check(savepoint.id)).starts_spark


def test_unchanged_code_is_the_same_only_while_the_variables_that_its_script_read_are(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THRESHOLD", "10")
    monkeypatch.delenv("UNSET", raising=False)
    savepoint = saved(house, tmp_path, None, read_variables.noted(["THRESHOLD", "UNSET"], os.environ, "salt"))
    keep(house, savepoint, f"{CODE}# kept\n", verdicts.of(savepoint.id, VersionId("v-1"), ()), variables={"THRESHOLD": ""})
    assert not house.face.plan(Check(savepoint.id)).starts_spark
    assert house.face.plan(Check(savepoint.id, code=f"{CODE}# kept\n")).starts_spark, "it was not set when that was judged"
    for name, value in (("THRESHOLD", "20"), ("UNSET", "")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert house.face.plan(Check(savepoint.id)).starts_spark
    monkeypatch.delenv("THRESHOLD")
    assert house.face.plan(Check(savepoint.id)).starts_spark
    assert not house.face.plan(Check(savepoint.id, code=f"{CODE}# kept\n")).starts_spark


def test_unchanged_code_that_asked_elsewhere_is_not_called_the_same_unseen(house: House, tmp_path: Path) -> None:
    savepoint = saved(house, tmp_path)
    manifest = house.face.ask(ReadManifest(savepoint.id))
    assert known.known(house.face.context, manifest, manifest.version) is not None and manifest.installed is not None
    asked = replace(manifest, installed=replace(manifest.installed, asked=("the service at rates:80",)))
    assert known.known(house.face.context, asked, asked.version) is None
    assert known.doubted(asked, asked.version) == (
        "The script asked the service at rates:80, and that it answers as it did cannot be proved.",
    )


def test_of_a_private_file_that_the_script_read_it_counts_when_it_was_changed(house: House, tmp_path: Path) -> None:
    (path := tmp_path / "password").write_text("secret")
    savepoint = saved(house, tmp_path, {str(path): f"6 bytes of {path.stat().st_ctime_ns}"})
    assert not house.face.plan(Check(savepoint.id)).starts_spark
    path.write_text("sECRET")
    assert house.face.plan(Check(savepoint.id)).starts_spark


def test_unchanged_code_of_which_nothing_was_noted_is_not_called_the_same_unseen(house: House) -> None:
    house.ran()
    savepoint = do(house.face, Take("a"))
    assert house.face.ask(ReadManifest(savepoint.id)).installed is None
    assert house.face.plan(Check(savepoint.id)).starts_spark


def test_a_kept_verdict_holds_as_long_as_what_it_rests_on(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    savepoint, module = saved(house, tmp_path), tmp_path / "shared.py"
    module.write_text("RATE = 1\n")
    fork = Fork(savepoint.id, name="b", code="print(1)\n")
    verdict = verdicts.of(savepoint.id, house.face.plan(fork).version or savepoint.version, ())
    keep(house, savepoint, "print(1)\n", verdict, {str(module): hashlib.sha256(b"RATE = 1\n").hexdigest()})
    assert house.face.plan(fork).verdict == verdict
    assert house.face.plan(replace(fork, new_queries=("other",))).verdict is None, "other queries are another question"
    module.write_text("RATE = 2\n")
    assert house.face.plan(fork).verdict is None, "a file that it rests on is another"
    module.write_text("RATE = 1\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "numpy-0.1.dist-info").mkdir()
    monkeypatch.setattr(installed, "_ANSWERS", {})
    assert house.face.plan(fork).verdict is None, "another package is installed"


def test_only_so_many_verdicts_are_kept_and_a_damaged_one_is_none(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    savepoint = saved(house, tmp_path)
    monkeypatch.setattr(known, "MOST", 2)
    codes = [f"print({number})\n" for number in range(3)]
    for code in codes:
        keep(house, savepoint, code, verdicts.of(savepoint.id, savepoint.version, ()))
    plans = [house.face.plan(Fork(savepoint.id, name="b", code=code)).verdict for code in codes]
    assert [plan is not None for plan in plans] == [False, True, True]
    for path in house.face.layout.verdicts.iterdir():
        path.write_text("{")
    assert house.face.plan(Fork(savepoint.id, name="b", code=codes[2])).verdict is None


def test_a_fork_whose_code_is_known_not_to_start_is_refused_unless_it_is_forced(house: House, tmp_path: Path) -> None:
    savepoint = saved(house, tmp_path)
    fork = Fork(savepoint.id, name="b", code="print(1)\n")
    plan = house.face.plan(Check(savepoint.id, code=fork.code))
    part = Part("counts", 0, "stateStoreSave", Outcome.NEEDS_REWRITING, ("default value: sum before, sum and count now",), "Keep it.")
    keep(house, savepoint, fork.code or "", verdicts.of(savepoint.id, plan.version, (part,)))
    refusal = house.face.plan(fork).refusal
    assert refusal is not None and (refusal.code, refusal.hint) == ("code.cannot_start", "Keep it. To begin it all the same: --force.")
    with pytest.raises(Incompatible, match="sum and count now"):
        do(house.face, fork)
    forced = Fork(savepoint.id, name="b", code=fork.code, force=True)
    assert house.face.plan(forced).refusal is None
    assert do(house.face, forced).job == "b"


@pytest.mark.parametrize("named", [True, False])
def test_a_resume_whose_code_is_known_not_to_start_is_refused_as_a_fork_is(house: House, tmp_path: Path, named: bool) -> None:
    savepoint, code = saved(house, tmp_path), "print(1)\n"
    upgrade = Resume("a", from_savepoint=savepoint.id if named else "", code=code)
    version = house.face.plan(upgrade).version or savepoint.version
    part = Part("counts", 0, "stateStoreSave", Outcome.CANNOT_START, ("Spark refuses it.",), "Keep it.")
    keep(house, savepoint, code, verdicts.of(savepoint.id, version, (part,)))
    before, refusal = house.face.ask(ShowJob("a")).runs, house.face.plan(upgrade).refusal
    assert refusal is not None and (refusal.code, refusal.hint) == ("code.cannot_start", "Keep it. To begin it all the same: --force.")
    with pytest.raises(Incompatible, match="Spark refuses it"):
        do(house.face, upgrade)
    assert house.face.ask(ShowJob("a")).runs == before and len(house.face.ask(ListSavepoints("a"))) == 1, (
        "nothing was begun or saved for it"
    )
    run = do(house.face, replace(upgrade, force=True))
    house.see(run, RunState.FAILED)
    assert resumes.restart(house.face.context, JobName("a"), 1).version == version, "what was begun all the same is restarted all the same"
