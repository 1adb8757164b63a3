"""SQL files as jobs, before any Spark: their statements, their sources and values, and what is refused with the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.client import scripts
from pipelines.domain import sql_jobs
from pipelines.domain.errors import Conflict, Invalid
from pipelines.domain.sql_jobs import Does
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListJobs
from pipelines.verbs.run import RunScript
from tests.jobs.loading import JOBS
from tests.workspace.conftest import House
from tests.workspace.test_jobs import refusal, spec, take

CODE = (JOBS / "views_by_author_sql.sql").read_text()
SINK = "CREATE STREAMING TABLE a AS SELECT * FROM STREAM v"
QUOTED = r"""/* a; /* b */ ' */ SET a = 'it''s; \'x\' -- no';
-- ' never closed; "
CREATE TEMP VIEW `v;w` AS SELECT r'\' AS a, ";" AS b, $$;'$$ AS c;
create streaming table if not exists `a` USING json AS SELECT /*+ a hint */ * FROM STREAM(`v;w`);
"""


def test_the_statements_of_a_job_with_their_lines() -> None:
    job = sql_jobs.check(CODE)
    assert [(it.does, it.name, it.line) for it in job] == [
        (Does.SOURCE, "views", 7),
        (Does.SOURCE, "pages", 10),
        (Does.STREAMS, "reading_time", 13),
    ]
    assert sql_jobs.streamed(job) == {"views"}, "pages is read whole"
    assert sql_jobs.variables(CODE) == {"views": 8, "pages": 11}, "not those of comments"
    assert sql_jobs.title(CODE).startswith("How long each author is read, minute by minute, in SQL")


def test_a_view_with_columns_is_a_step_whatever_it_joins() -> None:
    view = "CREATE TEMP VIEW w (a, b) AS SELECT * FROM STREAM v JOIN (SELECT 1 AS a) USING (a)"
    typed = "CREATE TEMP VIEW v (a DECIMAL(2, 1), b STRUCT<c: INT>) USING json"
    assert [it.does for it in sql_jobs.check(f"{typed};{view};{SINK}")] == [Does.SOURCE, Does.STEP, Does.STREAMS]


def test_quotes_and_comments_hide_what_is_in_them() -> None:
    sets, view, sink = sql_jobs.check(QUOTED)
    assert (sets.line, view.name, sink.name) == (1, "v;w", "a")
    assert "/*+ a hint */" in sink.text, "Spark reads the comments itself"


def test_a_value_is_an_argument_or_is_set_above() -> None:
    assert sql_jobs.values(("--a", "1", "--b=2=3", "--c", "--d")) == {"a": "1", "b": "2=3", "c": "--d"}
    assert sql_jobs.variables("SET a = 1; SET b = ${a}${spark.app.name}${hivevar:c};" + SINK) == {"c": 1}
    for args in (("a",), ("--a",), ("--", "a")):
        with pytest.raises(ValueError, match="no --name value"):
            sql_jobs.values(args)


def test_pasted_code_is_sql_where_it_begins_as_such() -> None:
    assert sql_jobs.looks_like(CODE) and sql_jobs.looks_like("\n/* a */ set x = 1;")
    assert not sql_jobs.looks_like('"""CREATE STREAMING TABLE"""\nset = 1\n') and not sql_jobs.looks_like("")


REFUSED = {
    "Python": ("# a\nimport os\n", 1, "begins no statement"),
    "Python without a comment": ("import os\n", 1, "'import' is Python's"),
    "a query for nobody": (f"{SINK};\n\nSELECT 1", 3, "'SELECT 1' begins no statement"),
    "no sink": (CODE.partition("CREATE STREAMING")[0], 11, "no sink"),
    "nothing": ("\n-- nothing\n", 2, "no sink"),
    "two sinks of one name": (f"{SINK};\n{SINK.replace(' a ', ' `A` ')}", 2, "line 1 has a sink"),
    "a sink without rows": ("CREATE STREAMING TABLE a USING json", 1, "no AS SELECT"),
    "a text without an end": ("SET a = 1;\nSET b = 'x;", 2, "this ' is not closed"),
    "a comment without an end": (f"{SINK}; /* /* */", 1, "this /* is not closed"),
    "a bracket without an end": (f"{SINK}\nWHERE (a > 1;", 2, "this ( is not closed"),
    "a bracket without a beginning": (f"{SINK}\nWHERE a) > 1;", 2, "this ) closes nothing"),
    "too many statements": ("SET a = 1;\n" * 1_001, 1_001, "at most 1,000 statements"),
    "Latin-1 read as UTF-8": (b"SET a = '\xe9';".decode(errors="replace"), 1, "not UTF-8"),
    "a source read both ways": (CODE.replace("JOIN pages", "\nJOIN `views`"), 16, "with STREAM and without"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_sql_job_is_refused_with_its_line(house: House, case: str) -> None:
    code, line, says = REFUSED[case]
    with pytest.raises(SyntaxError, match=says.replace("(", r"\(").replace(")", r"\)").replace("*", r"\*")) as raised:
        sql_jobs.check(code)
    assert raised.value.lineno == line
    with refusal(Invalid, "code.syntax") as refused:
        do(house.face, RunScript(name="a", script="a.sql", code=code))
    assert refused.value.message.startswith(f"a.sql, line {line}: ") and says in refused.value.message
    assert house.face.ask(ListJobs()) == []


def test_a_sql_job_is_a_job_with_its_values(house: House) -> None:
    with refusal(Invalid, "code.arguments") as refused:
        do(house.face, RunScript(name="a", script="a.sql", code=CODE, args=("--views", "{output}/in")))
    assert refused.value.message == "a.sql, line 11: ${pages} has no value"
    run = do(house.face, RunScript(name="a", script="a.sql", code=CODE, args=("--views", "{output}/in", "--pages=p")))
    begun = spec(house, run)
    assert begun.script.endswith("/a.sql") and Path(begun.script).read_text() == CODE
    assert begun.args == ("--views", f"{begun.output}/in", "--pages=p")


def test_a_fork_of_a_sql_job_has_an_output_of_its_own(house: House) -> None:
    run = do(house.face, RunScript(name="a", script="a.sql", code=SINK))
    house.lay(run)
    taken = take(house)
    assert [sink.action for sink in house.face.plan(Fork(taken.id, name="b")).sinks] == ["continue"]
    with refusal(Conflict, "restore.sink_shared"):
        do(house.face, Fork(taken.id, name="b", script="a.py", code="a = 1\n"))


def test_a_file_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_bytes(b"SET a = 1;\nSET b = '\xe9';\n")
    with pytest.raises(Invalid, match=r"a\.sql, line 2: it is not UTF-8 text"):
        scripts.read(tmp_path / "a.sql")
