"""Bisections without Spark: judged from the log of a file sink, by SQL and by a script; and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import pytest

from pipelines.catalog.judging import Rows
from pipelines.cli.nouns import bisections as bisection_lines
from pipelines.domain.bisections import Answer, Over, Step, Way, answer_of, at_most, middle
from pipelines.domain.errors import Conflict, Invalid, NotFound, TidemarkError
from pipelines.domain.ids import JobName
from pipelines.domain.runs import QUERIES_FILE, RunState
from pipelines.verbs.bisect import Bisect, ListBisections, ShowBisection
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.take import Take
from pipelines.words import bisections as bisection_words
from pipelines.workspace.bisections import changes, named_rows
from pipelines.workspace.compare import batches
from tests.savepoint.golden import lay_checkpoint, lay_output
from tests.workspace.conftest import NEWEST, House, query_line
from tests.workspace.killed_replay import DRIVER, cleaned, goes_on, killed

GOOD = 9
NUMBER = "import os, sys\nsys.exit({})\n"


@pytest.fixture
def ends(house: House) -> dict[str, Any]:
    """A job `a` that writes csv, with one savepoint at batch 9 and one at its newest batch."""
    run = house.begin("a")
    checkpoint, sink = Path(run.checkpoints) / "counts", house.face.layout.output(run.job) / "counts"
    lay_checkpoint("rocksdb_format2", checkpoint)
    lay_output("rocksdb_format2", sink)
    house.append(run, QUERIES_FILE, as_csv(query_line(str(checkpoint), str(sink)), sink))
    house.see(run, RunState.STOPPED)
    return {"job": "a", "good": do(house.face, Take("a", GOOD)).id, "bad": do(house.face, Take("a", NEWEST)).id}


def as_csv(line: str, sink: Path) -> str:
    """A query's line as of one that writes csv, and rows in its files of the sizes that they have."""
    for path in sink.rglob("*.parquet"):
        path.write_text("7\n" * (path.stat().st_size // 2) + "7" * (path.stat().st_size % 2))
    return line.replace('"parquet"', '"csv"')


def refused(house: House, change: Bisect, error: type[TidemarkError], code: str, does: str = "plan") -> None:
    with pytest.raises(error, check=lambda raised: raised.code == code):
        do(house.face, change) if does == "do" else house.face.plan(change)


def as_of(output: str, batch: int) -> int:
    """How many rows the output has as of a batch."""
    paths = [Path(urlsplit(file).path) for file in batches.files_until(output, batch)]
    return sum(len(path.read_text().split()) for path in paths)


@pytest.mark.parametrize("wrong", range(GOOD + 1, NEWEST + 1))
def test_a_script_finds_the_batch_in_the_sinks_log(house: House, ends: dict[str, Any], wrong: int) -> None:
    script = NUMBER.format(f"int(os.environ['TIDEMARK_BATCH']) >= {wrong}")
    bisection = do(house.face, Bisect(script=script, **ends))
    assert (bisection.right, bisection.wrong) == (wrong - 1, wrong)
    assert {step.way for step in bisection.steps} <= {Way.LOG, Way.SAVEPOINT} and len(bisection.steps) <= 2 + at_most(GOOD, NEWEST)
    assert bisection.inputs and house.face.ask(ListBisections()) == [bisection] and house.face.ask(ShowBisection(bisection.id)) == bisection
    assert not list(house.face.layout.sandbox.glob("*"))


def test_sql_sees_the_rows_as_of_each_batch(house: House, ends: dict[str, Any]) -> None:
    plan = house.face.plan(Bisect(sql="SELECT 1 FROM output", **ends))
    assert (plan.good_batch, plan.bad_batch, plan.at_most) == (GOOD, NEWEST, 2) and "nothing runs" in plan.ways
    out = house.face.layout.output(JobName("a")) / "counts"
    rows = {batch: as_of(str(out), batch) for batch in range(GOOD, NEWEST + 1)}
    assert len(set(rows.values())) > 2, rows
    most = sorted(set(rows.values()))[1]
    sql = f"SELECT count(*) AS n, TIMESTAMP '2026-11-28 08:00:40' AS at FROM output HAVING n >= {most}"
    begun = house.face.begin(Bisect(sql=sql, **ends))
    assert begun.operation is not None and begun.operation.kind == "bisect"
    bisection = house.face.answer(begun)
    assert bisection.wrong == next(batch for batch in rows if rows[batch] >= most)
    assert (bisection.columns, bisection.rows) == (("n", "at"), ((rows[bisection.wrong], "2026-11-28 08:00:40"),)), "a moment has its date"
    assert bisection.changes is not None and (bisection.changes.only_a, bisection.changes.changed) == (0, 0)
    assert bisection.changes.only_b == rows[bisection.wrong] - rows[bisection.right] > 0 and bisection.changes.examples["only_b"]


def test_keys_of_state_that_became_otherwise_have_both_values(tmp_path: Path) -> None:
    read = {}
    for side, counts in (("right", {"k0": 1, "k1": 2, "gone": 3}), ("wrong", {"k0": 1, "k1": 5, "new": 4})):
        file = str(tmp_path / f"{side}.parquet")
        rows = ", ".join(f"({{'k': '{key}'}}, {{'count': {count}}}, 0)" for key, count in counts.items())
        duckdb.sql(f"COPY (SELECT * FROM (VALUES {rows}) AS t(key, value, partition_id)) TO '{file}' (FORMAT parquet)")
        read[side] = Rows(Over.STATE.value, "parquet", (file,))
    changed = changes.between(read["right"], read["wrong"], 5)
    assert changed is not None and (changed.keys, changed.equal, changed.note) == (("key",), 1, "")
    assert changed.examples["changed"] == ({"key.k": "k1", "a.value.count": 2, "b.value.count": 5},)
    assert [[row["key.k"] for row in changed.examples[kind]] for kind in ("only_a", "only_b")] == [["gone"], ["new"]]
    Path(read["right"].files[0]).unlink()
    assert changes.between(read["right"], read["wrong"], 5) is None


def test_a_script_that_cannot_say_is_passed_over(house: House, ends: dict[str, Any]) -> None:
    script = NUMBER.format("125 if os.environ['TIDEMARK_BATCH'] in ('11', '12') else int(os.environ['TIDEMARK_BATCH']) > 12")
    bisection = do(house.face, Bisect(script=script, **ends))
    assert (bisection.right, bisection.wrong) == (10, 13)
    assert [step.answer for step in bisection.steps].count(Answer.SKIPPED) == 2


NAMING = """
import json, os, sys
if int(os.environ["TIDEMARK_BATCH"]) < {wrong}:
    sys.exit(0)
with open(os.path.join(sys.argv[-1], "wrong.jsonl"), "w") as file:
    for at in range(3):
        file.write(json.dumps({{"post": f"p{{at}}", "views": at, "at": {{"minute": 7}}}} if at else {{"post": "only", "of": 5.5}}) + "\\n")
sys.exit(1)
"""


def test_a_script_names_what_is_wrong(house: House, ends: dict[str, Any]) -> None:
    script = NAMING.format(wrong=12)
    bisection = do(house.face, Bisect(script=script, **ends))
    assert (bisection.right, bisection.wrong, bisection.columns, bisection.more) == (11, 12, ("post", "of", "views", "at"), False)
    assert bisection.rows == (("only", 5.5, None, None), ("p1", None, 1, {"minute": 7}), ("p2", None, 2, {"minute": 7}))
    assert {step.rows for step in bisection.steps if step.answer is Answer.WRONG} == {3}
    fewer = do(house.face, Bisect(script=script, examples=2, **ends))
    assert (len(fewer.rows), fewer.more) == (2, True)
    no_rows = do(house.face, Bisect(script=script.replace("range(3)", "range(0)"), **ends))
    assert (no_rows.wrong, no_rows.columns, no_rows.rows, no_rows.words) == (12, (), (), "")
    refused(house, Bisect(script=script.replace("json.dumps(", "str("), **ends), Conflict, "bisect.script", "do")


def test_an_error_of_the_scripts_own_is_told_with_its_answer(house: House, ends: dict[str, Any]) -> None:
    """It ends with the exit code that means wrong."""
    fails = NUMBER.format("{}['views'] if int(os.environ['TIDEMARK_BATCH']) >= 12 else 0")
    bisection = do(house.face, Bisect(script=fails, **ends))
    assert bisection.wrong == 12 and bisection.words.endswith("KeyError: 'views'")
    assert f"The script's last words:\n{bisection.words}" in bisection_lines.text_of(bisection)
    for script, told in (
        ("1 / 0", "is wrong already. The script's last words:\nTraceback"),
        ("raise SystemExit(125)", "cannot be judged by the script."),
        ("import os; os.kill(os.getpid(), 9)", "The script was ended by signal 9, which is no answer."),
    ):
        with pytest.raises(Conflict) as refusal:
            do(house.face, Bisect(script=script, **ends))
        assert told in str(refusal.value), refusal.value


def test_rows_that_a_script_names_have_no_secret_and_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / named_rows.FILE
    file.write_text('{"key": "hunter22", "n": NaN}\n\n{"key": "b"}\n')
    assert named_rows.read(tmp_path, 5, (b"hunter22",)) == (("key", "n"), (("*" * 8, "NaN"), ("b", None)), False)
    monkeypatch.setattr(named_rows, "MOST_BYTES", 40)
    assert named_rows.read(tmp_path, 5, ()) == (("key", "n"), (("hunter22", "NaN"),), True), "the line that is cut is not read"
    file.write_text(json.dumps({str(column): 1 for column in range(101)}))
    monkeypatch.undo()
    with pytest.raises(Conflict, match="101 columns"):
        named_rows.read(tmp_path, 5, ())


def test_both_ends_are_judged_first(house: House, ends: dict[str, Any]) -> None:
    refused(house, Bisect(sql="SELECT 1", **ends), Conflict, "bisect.not_good", "do")
    refused(house, Bisect(sql="SELECT 1 WHERE false", **ends), Conflict, "bisect.not_bad", "do")
    refused(house, Bisect(script=NUMBER.format("200"), **ends), Conflict, "bisect.script", "do")
    refused(house, Bisect(sql="SELECT nothing FROM output", **ends), Invalid, "state.sql", "do")
    refused(house, Bisect(sql="SELECT * FROM read_csv('/etc/passwd')", **ends), Invalid, "state.outside", "do")
    assert house.face.ask(ListBisections()) == []


def test_what_makes_no_sense_is_refused(house: House, ends: dict[str, Any]) -> None:
    house.ran("other")
    other = do(house.face, Take("other")).id
    turned = {"job": "a", "good": ends["bad"], "bad": ends["good"]}
    refused(house, Bisect(sql="SELECT 1", **turned), Conflict, "bisect.order")
    refused(house, Bisect(sql="SELECT 1", job="a", good=ends["good"], bad=other), Invalid, "bisect.other_job")
    refused(house, Bisect(**ends), Invalid, "bisect.judge")
    refused(house, Bisect(sql="SELECT 1", script="x = 1", **ends), Invalid, "bisect.judge")
    refused(house, Bisect(script="x = (", **ends), Invalid, "bisect.syntax")
    refused(house, Bisect(sql="SELEKT 1", **ends), Invalid, "state.sql")
    refused(house, Bisect(sql="COPY output TO '/tmp/x'", **ends), Invalid, "state.only_select")
    refused(house, Bisect(sql="DROP VIEW output; SELECT 1", **ends), Invalid, "state.only_select")
    refused(house, Bisect(sql="SELECT 1", query="none", **ends), NotFound, "bisect.query")
    refused(house, Bisect(sql="SELECT 1", over=Over.STATE, operator=7, **ends), NotFound, "state.not_found")
    with pytest.raises(NotFound, check=lambda raised: raised.code == "bisection.not_found"):
        house.face.ask(ShowBisection("../jobs/a/job"))


def test_files_that_are_gone_are_named(house: House, ends: dict[str, Any]) -> None:
    for path in Path(house.face.layout.output(JobName("a"))).rglob("*.parquet"):
        path.unlink()
    refused(house, Bisect(sql="SELECT 1", **ends), Conflict, "output.history_gone")


def test_a_bisection_whose_server_is_killed_leaves_no_fork(house: House, ends: dict[str, Any]) -> None:
    counts = Path(house.face.ask(ShowJob("a")).runs[0].checkpoints) / "counts"
    (counts / "sources").rename(counts / "without")
    shutil.rmtree(house.face.layout.output(JobName("a")) / "counts" / "_spark_metadata")
    pid = killed(house, "bisect", ends["good"], ends["bad"], DRIVER)
    assert house.face.context.files.job_names() == ["a"] and not goes_on(pid)
    assert len(list(house.face.layout.trash.glob("*-bisect-*"))) == 1 and "bi-" in cleaned(house)[0]
    assert house.face.ask(ListBisections()) == [] and not list(house.face.layout.sandbox.glob("*"))


def test_the_middle_and_the_answers() -> None:
    assert [middle(0, 1), middle(0, 2), middle(0, 4), middle(-1, 1)] == [None, 1, 2, 0] and middle(0, 4, [2]) == 1
    assert [at_most(0, batch) for batch in (1, 2, 3, 4, 5, 9)] == [0, 1, 2, 2, 3, 4]
    assert [answer_of(code) for code in (0, 1, 125, 127, 128, -9)] == [
        Answer.RIGHT,
        Answer.WRONG,
        Answer.SKIPPED,
        Answer.WRONG,
        None,
        None,
    ]
    told = [bisection_words.step(Step(3, Answer.WRONG, Way.LOG, rows, 1.0))[1] for rows in (0, 1, 2)]
    assert told == ["wrong", "wrong, 1 row", "wrong, 2 rows"]
