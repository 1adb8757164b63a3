"""Every declaration with a word is a command; `--dry-run` of every change shows its plan and changes nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipelines import verbs
from pipelines.cli.app import app
from pipelines.domain.errors import Conflict, refusal
from pipelines.domain.ids import ExperimentId, JobName, SavepointId
from pipelines.verbs.declaration import parts, summary
from pipelines.verbs.experiment import ExperimentPlan, StartExperiment
from pipelines.verbs.fork import Fork
from pipelines.verbs.resume import Resume
from pipelines.verbs.upgrade import Upgrade
from pipelines.verbs.verb import Asked, Change, Shell, spelling
from tests import samples
from tests.cli.doors import Door
from tests.cli.test_help import COMMANDS
from tests.faces import FakeFace

FIRST = "sp-000000000002"
JOB, SPLIT = "post_engagement", "post_engagement_split"
ARCHIVE = "s3://lake/archive/clicks.tar.zst"
DECLARED = {kind.command: kind for kind in verbs.every() if kind.command}
CHANGES = {
    "run": ["{script}", "--name", "c", "--", "--rate", "5"],
    "stop": [JOB],
    "cancel": [JOB],
    "resume": ["post_events", "--from", FIRST, "--conf", "k=v"],
    "attach": ["far", "s3://lake/far"],
    "rename-query": [JOB, "query-0", "counts"],
    "limits": [JOB, "--lag", "5m"],
    "resources": [JOB, "--memory", "2g"],
    "restart-strategy": [JOB, "--strategy", "none"],
    "log-level": [JOB, "debug"],
    "history": [JOB],
    "input-rows": [JOB],
    "schedule": [JOB, "--every", "30m", "--keep", "24"],
    "alert set": ["lag", "--when", "event_time_lag_seconds > 5m", "--for", "5m"],
    "alert channel": ["oncall", "--env", "TIDEMARK_ONCALL_URL"],
    "alert test": ["oncall"],
    "home set": ["s3://b/f"],
    "home check": ["s3://b/f"],
    "alert acknowledge": [JOB, "lag"],
    "alert silence": [JOB, "--for", "2h"],
    "prune": [JOB],
    "audit prune": ["--through", "5"],
    "rescale": [JOB, "--partitions", "8"],
    "upgrade": [JOB, "--code", "{script}"],
    "forget": ["post_events"],
    "savepoint": [JOB, "--batch", "8"],
    "holdings": [FIRST],
    "annotate": [FIRST, "--label", "kept"],
    "dispose": [FIRST],
    "export": [FIRST, "s3://lake/one"],
    "import": [ARCHIVE],
    "check": [FIRST],
    "verify": [FIRST, "--level", "proved"],
    "try": [FIRST],
    "state": [FIRST],
    "replay": [FIRST, "sp-000000000003", "--code", "{script}"],
    "bisect": [JOB, "--good", FIRST, "--bad", "sp-000000000003", "--sql", "SELECT 1"],
    "state-difference": [FIRST, JOB],
    "state-key": [JOB, "--key", "post=p1"],
    "fork": [FIRST, "--name", "c", "--conf", "k=v"],
    "experiment": [FIRST, "--name", "e", "--variant", "c={script}", "--variant", "d"],
    "promote": [SPLIT],
    "drop": [SPLIT],
    "undrop": [SPLIT],
    "cancel-operation": ["op-exporting"],
    "token create": ["ci", "--role", "operator", "--expires", "30d"],
    "token revoke": ["nightly"],
    "backup create": ["s3://lake/backups"],
    "backup check": ["s3://lake/backups"],
    "backup restore": ["s3://lake/backups"],
    "example": [],
    "catalog rebuild": [],
}
"""Command -> words that make sense."""


def options(words: str) -> set[str]:
    return {option for parameter in COMMANDS[tuple(words.split())].params for option in (*parameter.opts, *parameter.secondary_opts)}


@pytest.mark.parametrize(("word", "kind"), DECLARED.items(), ids=DECLARED)
def test_it_is_a_command_whose_help_says_what_is_declared(word: str, kind: type[Asked[object]]) -> None:
    assert tuple(word.split()) in COMMANDS
    shown = " ".join(CliRunner().invoke(app, [*word.split(), "--help"], env={"COLUMNS": "4000"}).stdout.split())
    assert summary(kind) in shown and kind.shell in shown
    for part in parts(kind):
        if spelling(part).shell is not Shell.ABSENT:
            assert spelling(part).help in shown, part.name


@pytest.mark.parametrize("word", DECLARED)
def test_the_list_of_commands_has_it_with_its_summary(word: str) -> None:
    first, *rest = word.split()
    listed = CliRunner().invoke(app, [first, "--help"] if rest else ["--help"], env={"COLUMNS": "200"}).stdout
    assert re.search(rf"^  {(rest or [first])[-1]}  +{re.escape(summary(DECLARED[word])[:40])}", listed, re.MULTILINE), listed


def test_every_change_has_a_dry_run() -> None:
    declared = {word for word, kind in DECLARED.items() if issubclass(kind, Change)}
    assert declared <= CHANGES.keys()
    assert {" ".join(words) for words in COMMANDS if "--dry-run" in options(" ".join(words))} == CHANGES.keys()


@pytest.fixture
def busy() -> Door:
    return Door(FakeFace.busy())


@pytest.mark.parametrize("word", CHANGES)
def test_a_dry_run_shows_the_plan_and_changes_nothing(busy: Door, script: Path, word: str) -> None:
    words = [*word.split(), "--dry-run", *(text.format(script=script) for text in CHANGES[word])]
    shown = busy(*words)
    assert (shown.exit_code, shown.stdout != "") == (0, True), shown.output
    assert not re.search(r"  (yes|no)$", shown.stdout, re.MULTILINE), "a plan says in words what will be done"
    as_json = busy(*word.split(), "--json", *words[len(word.split()) :])
    assert as_json.exit_code == 0 and isinstance(json.loads(as_json.stdout), dict)
    assert busy.face.begun == [] and busy.ticks == 0


@pytest.mark.parametrize("word", ["fork", "experiment", "resume", "upgrade"])
def test_a_dry_run_of_what_is_refused_ends_as_the_real_one(busy: Door, script: Path, word: str) -> None:
    shared = Conflict("restore.sink_shared", "two jobs on one sink", "Say --sink fresh.")
    plan = replace(samples.restore_plan(FIRST, "c", keeps_query_id=False), refusal=refusal(shared))
    for kind in (Fork, Resume):
        busy.face.plans_as(kind, plan)
    busy.face.plans_as(Upgrade, samples.upgrade_plan(JOB, plan))
    busy.face.plans_as(StartExperiment, ExperimentPlan(ExperimentId("ex-1"), "e", SavepointId(FIRST), (JobName("c"),), (plan,)))
    shown = busy(word, "--dry-run", *(text.format(script=script) for text in CHANGES[word]))
    assert shown.exit_code == 5 and shown.stdout, "the plan is shown all the same"
    assert "two jobs on one sink" in shown.stderr and "--sink fresh" in shown.stderr


def test_what_no_field_is_is_no_option() -> None:
    assert not options("stop") & {"--at-once"} and not options("cancel") & {"--savepoint", "--label"}
    assert "--wait" in options("fork") and "--wait" not in options("attach")


OPTIONAL = sorted(
    " ".join(words)
    for words, command in COMMANDS.items()
    if [part for part in command.params if part.param_type_name == "argument" and not part.required and part.nargs == 1]
)


@pytest.mark.parametrize("word", [word for word in OPTIONAL if word != "attach"])
def test_an_empty_argument_that_may_be_left_out_does_not_mean_all(tidemark: Door, word: str) -> None:
    """The variable of a script that was never set: `prune "$JOB"`."""
    refused = tidemark(*word.split(), "")
    assert refused.exit_code == 2 and "it is empty" in refused.stderr and tidemark.face.begun == []
