"""Secrets in confs: shown nowhere, kept where the driver needs them, and not lost by who sends back what was shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain import doubts, secrets
from pipelines.domain.errors import Invalid
from pipelines.domain.jobs import Run
from pipelines.domain.logs import LogLevel
from pipelines.domain.run_specs import SPEC_FILE
from pipelines.domain.runs import LOG_FILE
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.secrets import MASK
from pipelines.domain.versions import version
from pipelines.storage.documents import encode
from pipelines.verbs.attach import Attach
from pipelines.verbs.experiments import Diff, ShowVersion
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog, SearchLog
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ReadManifest
from pipelines.verbs.take import Take
from pipelines.workspace import savepoints, versions
from tests.savepoint.golden import lay_checkpoint
from tests.workspace.conftest import CODE, House

VALUE = "hunter2hunter2"
NAME = "spark.my.password"
CONF = {NAME: VALUE, "spark.x": "1"}
SHOWN = {NAME: MASK, "spark.x": "1"}


@pytest.fixture
def saved(house: House, monkeypatch: pytest.MonkeyPatch) -> Savepoint:
    """A savepoint of a job with a secret among its confs."""

    def begin(name: str) -> Run:
        return do(house.face, RunScript(name=name, script="job.py", code=CODE, args=("--output", "{output}"), conf=CONF))

    monkeypatch.setattr(house, "begin", begin)
    return do(house.face, Take(house.ran().job))


@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("spark.hadoop.fs.s3a.secret.key", "x", True),
        ("spark.hadoop.fs.s3a.access.key", "x", True),
        ("spark.hadoop.fs.s3a.accesskey", "x", True),
        ("spark.my.PassWord", "x", True),
        ("spark.a.b.token", "", True),
        ("spark.driver.extraJavaOptions", "-Djavax.net.ssl.keyStorePassword=x", True),
        ("spark.sql.shuffle.partitions", "8", False),
        ("spark.jars", "/opt/keys.jar", False),
    ],
)
def test_what_spark_calls_a_secret(name: str, value: str, is_secret: bool) -> None:
    assert secrets.masked({name: value}) == {name: MASK if is_secret else value}


def test_no_answer_shows_it_and_the_driver_gets_it(house: House) -> None:
    run = do(house.face, RunScript(name="a", script="job.py", code=CODE, conf=CONF))
    shown = house.face.ask(ShowVersion(run.version))
    assert (shown.id, shown.conf) == (run.version, SHOWN)
    assert json.loads(house.face.layout.version_file(run.version).read_text())["conf"] == CONF
    assert json.loads((house.folder(run) / SPEC_FILE).read_text())["conf"][NAME] == VALUE
    planned = house.face.plan(RunScript(name="b", script="job.py", code=CODE, conf=CONF))
    assert VALUE.encode() not in encode(planned) and NAME in planned.conf
    other = do(house.face, RunScript(name="b", script="job.py", code=CODE, conf={**CONF, NAME: "another one"}))
    (confs,) = [section for section in house.face.ask(Diff(run.version, other.version)).sections if section.name == "confs"]
    assert [(entry.outcome, entry.a, entry.b) for entry in confs.entries if entry.name == NAME] == [("changed", MASK, MASK)]


def test_a_fork_that_sends_back_what_was_shown_keeps_it(house: House, saved: Savepoint) -> None:
    shown = house.face.ask(ReadManifest(saved.id)).version
    kept = savepoints.manifest(house.face.context, saved.id)
    assert (shown.conf, kept.version.conf, shown.id) == (SHOWN, CONF, kept.version.id)
    fork = versions.of_fork(kept, Fork(saved.id, name="b", conf={**shown.conf, "spark.y": "2"}), 0)
    assert fork.conf == {**CONF, "spark.y": "2"}
    assert versions.of_fork(kept, Fork(saved.id, name="b", conf={NAME: "new"}), 0).conf == {NAME: "new"}
    with pytest.raises(Invalid) as refused:
        versions.of_fork(kept, Fork(saved.id, name="b", conf={"spark.other.token": MASK}), 0)
    assert refused.value.code == "conf.masked"


def test_a_new_job_takes_no_mask_for_a_value(house: House, tmp_path: Path) -> None:
    lay_checkpoint("rocksdb_format2", tmp_path / "far")
    attach = Attach(name="y", checkpoints={"counts": str(tmp_path / "far")}, script="job.py", code=CODE)
    for change in (RunScript(name="z", script="j.py", code=CODE), attach):
        house.face.plan(change)
        with pytest.raises(Invalid) as refused:
            house.face.plan(replace(change, conf=SHOWN))
        assert refused.value.code == "conf.masked"


def test_a_doubt_names_the_conf_not_its_value() -> None:
    old, new = (version("j.py", CODE, conf={"spark.executorEnv.API_TOKEN": value}) for value in ("one", "two"))
    (doubt,) = doubts.of(old, new)
    assert "API_TOKEN" in doubt and "one" not in doubt.split("API_TOKEN")[1] and "two" not in doubt


def test_no_log_shows_it_wherever_it_is_cut(house: House) -> None:
    run = do(house.face, RunScript(name="a", script="job.py", code=CODE, conf={**CONF, "spark.short.password": "true"}))
    text = f"26/11/22 08:27:29 INFO it is true: {VALUE}\n26/11/22 08:27:30 ERROR {VALUE}{VALUE} was refused\n"
    (house.folder(run) / LOG_FILE).write_text(text)
    starred = text.replace(VALUE, "*" * len(VALUE))
    assert house.face.ask(ReadLog("a", offset=0)).text == starred
    for offset in range(len(text)):
        for limit in (1, 5, len(VALUE) + 3):
            chunk = house.face.ask(ReadLog("a", offset=offset, limit=limit))
            assert (chunk.text, chunk.next_offset) == (starred[offset : offset + limit], min(len(text), offset + limit))
    assert [entry.text for entry in house.face.ask(SearchLog("a", level=LogLevel.ERROR)).entries] == [starred.splitlines()[1]]
    assert house.face.ask(SearchLog("a", text=VALUE)).fits == 0, "nor does it tell whether a guess is right"


ARGS = (
    "--user",
    "ann",
    "--password",
    VALUE,
    f"--api-token={VALUE}",
    f"https://ann:{VALUE}@host/x?y=1",
    f"db.secret={VALUE}",
    "--out",
    "{output}",
)
SHOWN_ARGS = (
    "--user",
    "ann",
    "--password",
    MASK,
    f"--api-token={MASK}",
    f"https://ann:{MASK}@host/x?y=1",
    f"db.secret={MASK}",
    "--out",
    "{output}",
)


def test_secrets_among_arguments_are_masked_and_come_back(house: House) -> None:
    assert secrets.masked_args(ARGS) == SHOWN_ARGS and secrets.masked_args(SHOWN_ARGS) == SHOWN_ARGS
    assert secrets.args_values(ARGS) == (VALUE.encode(),)
    several = (f"mongodb://ann:{VALUE}@one,mongodb://bob:{VALUE[::-1]}@two/x", "--password", MASK)
    assert secrets.args_values(several) == (VALUE[::-1].encode(), VALUE.encode())
    moved = ("--more", *SHOWN_ARGS[4:], *SHOWN_ARGS[:4])
    assert secrets.unmasked_args(moved, ARGS) == ("--more", *ARGS[4:], *ARGS[:4])
    for given in ((MASK,), ("--password", MASK, "--password", MASK), ("--other", MASK)):
        with pytest.raises(Invalid) as refused:
            secrets.unmasked_args(given, ARGS)
        assert refused.value.code == "args.masked"


def test_arguments_with_secrets_are_shown_nowhere_and_kept_for_the_driver(house: House) -> None:
    planned = house.face.plan(RunScript(name="a", script="job.py", code=CODE, args=ARGS))
    assert tuple(planned.args) == SHOWN_ARGS
    run = house.begin("a", ARGS)
    assert house.face.ask(ShowVersion(run.version)).args == SHOWN_ARGS
    assert VALUE in house.face.context.files.spec(run.job, run.id).args
    (house.folder(run) / LOG_FILE).write_text(f"connecting with {VALUE}\n")
    assert VALUE not in house.face.ask(ReadLog("a")).text
    other = house.begin("b", (*ARGS[:3], f"other{VALUE}", *ARGS[4:]))
    assert VALUE not in str(house.face.ask(Diff(run.version, other.version)))
    again = versions.changed(versions.get(house.face.context, run.version), Fork("sp-1", name="c", args=("--new", *SHOWN_ARGS)), 1)
    assert again.args == ("--new", *ARGS)
