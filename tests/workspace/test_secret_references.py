"""Secrets that a job refers to: put in where its code runs, and nowhere else."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from pipelines.domain import references, secrets
from pipelines.domain.errors import TidemarkError, Unavailable
from pipelines.domain.runs import LOG_FILE
from pipelines.verbs.check import Check
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.export import Export
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog
from pipelines.verbs.replay import RunReplay
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from pipelines.verbs.try_code import TryCode
from tests.workspace.conftest import CODE, House
from tests.workspace.serving import serving

VARIABLE, OF_VARIABLE, OF_FILE = "TIDEMARK_TEST_SECRET", "of-variable-7301", "of-file-8412"
CONF = {"spark.mine.key": f"{{env:{VARIABLE}}}"}
JOB = """
import hashlib, sys
from pyspark.sql import SparkSession, functions as F

events, output, given = sys.argv[1:4]
spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
words = given, spark.conf.get("spark.mine.key"), spark._jsc.hadoopConfiguration().get("mine.password")
told = "/".join(hashlib.sha256(word.encode()).hexdigest() for word in words)
rows = spark.readStream.schema("word STRING").option("maxFilesPerTrigger", 1).json(events)
counts = rows.groupBy("word").count().withColumn("told", F.lit(told))
query = counts.writeStream.queryName("counts").outputMode("update")
query.foreachBatch(lambda frame, batch: frame.write.mode("overwrite").json(f"{output}/{batch}")).start().awaitTermination()
"""


@pytest.mark.parametrize(
    ("args", "conf", "master", "code"),
    [
        (("{env:}",), {}, "", "secret.reference"),
        (("{env:A-B}",), {}, "", "secret.reference"),
        (("--x={file:relative}",), {}, "", "secret.reference"),
        (("{env:TIDEMARK_NOT_SET}",), {}, "", "secret.missing"),
        (("{file:/tmp/not/there}",), {}, "", "secret.missing"),
        (("{file:/dev/null}",), {}, "", "secret.missing"),
        (("{file:/dev/zero}",), {}, "", "secret.unreadable"),
        (("{file:/tmp}",), {}, "", "secret.unreadable"),
        ((), {"spark.driver.extraJavaOptions": "-Dx={env:HOME}"}, "", "secret.conf"),
        (("{env:HOME}",), {"spark.submit.deployMode": "cluster"}, "yarn", "master.cluster_mode"),
    ],
)
def test_what_no_driver_could_have_is_refused_before_it_starts(
    house: House, args: tuple[str, ...], conf: dict[str, str], master: str, code: str
) -> None:
    with pytest.raises(TidemarkError) as refused:
        house.face.plan(RunScript(name="a", script="job.py", code=CODE, args=args, conf=conf, master=master or "local[2]"))
    assert refused.value.code == code and refused.value.hint


def test_code_that_is_only_tried_needs_them_too(house: House) -> None:
    run = house.ran("a")
    first, last = do(house.face, Take("a", 3)), do(house.face, Take("a", 9))
    args = (*house.face.context.files.spec(run.job, run.id).args, "{env:TIDEMARK_NOT_SET}")
    changes = (Check(first.id, args=args), TryCode(first.id, args=args), RunReplay(savepoint=first.id, end=last.id, args=args))
    for change in changes:
        with pytest.raises(TidemarkError, match="TIDEMARK_NOT_SET") as refused:
            house.face.plan(change)
        assert refused.value.code == "secret.missing"


def test_arguments_of_a_sql_file_are_no_place_for_them(house: House) -> None:
    with pytest.raises(TidemarkError) as refused:
        references.check("local[2]", ("key={env:HOME}",), {}, is_sql=True)
    assert refused.value.code == "secret.sql"


def test_braces_that_are_no_reference_stay_and_references_are_shown(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, OF_VARIABLE)
    place = tmp_path / "secret"
    place.write_text(OF_FILE + "\n")
    args = ("{environment:X}", "{", '{"env": 1}', "--password", f"{{file:{place}}}", f"--token=a{{env:{VARIABLE}}}")
    conf = {"spark.my.password": f"{{file:{place}}}"}
    run = do(house.face, RunScript(name="a", script="job.py", code=CODE, args=args, conf=conf))
    spec = house.face.context.files.spec(run.job, run.id)
    assert (spec.args, dict(spec.conf)) == (args, conf)
    shown = house.face.ask(ShowVersion(run.version))
    assert (shown.args, shown.conf) == ((*args[:5], f"--token={secrets.MASK}"), conf)
    values = [references.resolved(text, os.environ, lambda path: Path(path).read_bytes()) for text in args]
    assert values == [*args[:4], OF_FILE, f"--token=a{OF_VARIABLE}"]
    (house.folder(run) / LOG_FILE).write_text(f"{OF_FILE} and {OF_VARIABLE}\n")
    assert house.face.ask(ReadLog("a")).text == f"{'*' * len(OF_FILE)} and {'*' * len(OF_VARIABLE)}\n"


def test_a_plan_warns_of_a_literal(house: House) -> None:
    plan = house.face.plan(RunScript(name="a", script="job.py", code=CODE, conf={"spark.my.password": "hunter2hunter2", "spark.x": "1"}))
    (remark,) = plan.remarks
    assert "spark.my.password" in remark and "{env:NAME}" in remark and "hunter2" not in remark


FAILING = """
import os, sys
print(*sys.argv, flush=True)
if "--dies" in sys.argv:
    os._exit(1)
raise ValueError(f"these were refused: {sys.argv[1:]}")
"""


def test_what_is_tried_tells_none_of_them(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, OF_VARIABLE)
    (tmp_path / "secret").write_text(OF_FILE)
    args = (f"{{env:{VARIABLE}}}", f"{{file:{tmp_path}/secret}}", "--password", "of-argument-5523")
    saved = do(house.face, Take(house.lay(house.begin(args=args)).job))
    verdict = do(house.face, Check(saved.id, code=FAILING, args=args))
    ((reason, *_),) = (part.reasons for part in verdict.parts)
    assert "ValueError: line 6: these were refused: ['*" in reason
    with pytest.raises(Unavailable) as dead:
        do(house.face, Check(saved.id, code=FAILING, args=(*args, "--dies")))
    assert dead.value.code == "sandbox.failed" and "--dies" in dead.value.message
    dies = do(house.face, TryCode(saved.id, code=FAILING, args=(*args, "--dies")))
    assert "Its last lines" in dies.note and "--dies" in dies.note
    kept = [path.read_text() for path in house.face.layout.verdicts.glob("*.json")]
    assert any("these were refused" in text for text in kept), "the verdict is kept"
    for text in (reason, dead.value.message, dies.note, *kept):
        assert not any(secret in text for secret in (OF_VARIABLE, OF_FILE, "of-argument-5523"))


def test_event_logs_hide_such_confs_by_their_names() -> None:
    conf = {**CONF, "spark.hadoop.mine.key": "{env:X}", "spark.x": "1"}
    assert references.redaction(conf, "a|b") == {"spark.redaction.regex": r"(?:a|b)|mine\.key|spark\.mine\.key"}
    assert references.redaction({"spark.x": "1"}, "a|b") == {}


@pytest.mark.spark
def test_a_job_and_its_fork_have_them_and_no_file_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, OF_VARIABLE)
    events, place, root, away = (tmp_path / name for name in ("events", "secret", "workspace", "away"))
    events.mkdir()
    place.write_text(OF_FILE + "\n")
    (events / "0.json").write_text('{"word": "a"}\n')
    conf = {**CONF, "spark.hadoop.mine.password": f"{{file:{place}}}", "spark.eventLog.enabled": "true", "spark.eventLog.compress": "false"}
    told = "/".join(hashlib.sha256(word.encode()).hexdigest() for word in (OF_FILE, OF_VARIABLE, OF_FILE))
    run = RunScript(name="a", script="job.py", code=JOB, args=(str(events), "{output}", f"{{file:{place}}}"), conf=conf)
    with serving(root) as server:
        do(server.face, run)
        server.await_batches("a", 1)
        server.stop("a", savepoint=False)
        saved = do(server.face, Take("a"))
        (events / "1.json").write_text('{"word": "a"}\n')
        verdict = do(server.face, Check(saved.id, code=JOB.replace('"told"', '"told_again"')))
        assert str(verdict.outcome) == "same", verdict
        kept = ".json(events).where(F.col('word') != given)"
        (reason,) = do(server.face, Check(saved.id, code=JOB.replace(".json(events)", kept))).parts[0].reasons
        assert reason == f"keeps rows where: nothing more before, (NOT (word = '{'*' * len(OF_FILE)}')) now"
        do(server.face, Fork(saved.id, name="b"))
        server.await_batches("b", 1)
        server.stop("b", savepoint=False)
        do(server.face, Export(saved.id, away.as_uri()))
        for job, count in (("a", 1), ("b", 2)):
            files = sorted(server.face.layout.output(server.newest(job).job).rglob("*.json"))
            assert [json.loads(line) for line in files[-1].read_text().splitlines()] == [{"word": "a", "count": count, "told": told}]
    texts = [path.read_bytes() for folder in (root, away) for path in folder.rglob("*") if path.is_file()]
    assert any(b"SparkListenerEnvironmentUpdate" in text for text in texts), "the event log is among them"
    assert not [text for text in texts if OF_FILE.encode() in text or OF_VARIABLE.encode() in text]
    assert any(f"{{file:{place}}}".encode() in text for text in texts)
