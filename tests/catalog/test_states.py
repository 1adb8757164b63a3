"""Questions to rows of state: pages, filters, order, SQL of one's own; and that SQL reaches nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.catalog import states
from pipelines.domain.errors import Invalid, NotFound, TidemarkError, Unavailable
from pipelines.domain.states import StateRows
from pipelines.verbs.state import QueryState
from tests.memory import write_rows


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("it's [1]") / "part-0.parquet"
    write_rows(path, 100)
    return str(path)


def ask(rows: str, **asked: Any) -> StateRows:
    return states.query({states.STATE: [rows]}, QueryState("sp-1", **asked))


def test_structs_are_columns_and_times_are_epoch_ms(rows: str) -> None:
    answer = ask(rows, limit=1)
    assert [(column.name, column.kind) for column in answer.columns] == [
        ("key.window.start", "time"),
        ("key.window.end", "time"),
        ("key.post", "text"),
        ("value.views", "number"),
        ("value.clicks", "number"),
        ("value.share", "number"),
        ("partition_id", "number"),
    ]
    start, end, *_ = answer.rows[0]
    assert end - start == 600_000
    assert (answer.matches, answer.more) == (100, True)


def test_pages_follow_each_other_in_order(rows: str) -> None:
    pages = [ask(rows, sort="value.views", descending=True, offset=at, limit=40) for at in (0, 40, 80)]
    views = [row[3] for page in pages for row in page.rows]
    assert views == sorted(views, reverse=True) and len(views) == 100
    assert [page.more for page in pages] == [True, True, False]


def test_a_filter_is_text_in_any_column_and_no_pattern(rows: str) -> None:
    answer = ask(rows, filter="P42")
    assert answer.matches == len(answer.rows) > 0 and {row[2] for row in answer.rows} == {"p42"}
    assert ask(rows, filter="%").matches == 0


@pytest.mark.parametrize(
    ("sql", "answer"),
    [
        ("SELECT count(*) FROM state", [(100,)]),
        ("FROM state SELECT count(DISTINCT key.window.start); -- ; done", [(7,)]),
        ("WITH a AS (SELECT value.views AS v FROM state) SELECT max(v) > 0 FROM a;;", [(True,)]),
        ("SELECT 1 AS x, 2 AS x, ';' AS y", [(1, 2, ";")]),
        (
            "SELECT [1, 2], MAP {'a': 1}, 'NaN'::DOUBLE, NULL, 12345678901234567890::HUGEINT",
            [([1, 2], {"a": 1}, "NaN", None, 12345678901234567890)],
        ),
        ("SELECT DATE '2026-01-01'", [(1_767_225_600_000,)]),
        ("SELECT TIMESTAMPTZ '2026-01-01 00:00:00.001001+00', TIMESTAMP '2026-01-01'", [(1_767_225_600_001.001, 1_767_225_600_000)]),
        (
            "SELECT 12345678901234567.123456789012345678::DECIMAL(38,18), 1.50::DECIMAL(5,2), [0.12345678901234567::DECIMAL(38,18)], 1e300",
            [("12345678901234567.123456789012345678", 1.5, ["0.123456789012345670"], 1e300)],
        ),
    ],
)
def test_sql_of_ones_own(rows: str, sql: str, answer: list[tuple[Any, ...]]) -> None:
    assert list(ask(rows, sql=sql).rows) == answer


def test_an_answer_is_bounded(rows: str) -> None:
    answer = ask(rows, sql="SELECT * FROM range(1000000)", limit=5)
    assert (len(answer.rows), answer.more, answer.matches) == (5, True, None)


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT * FROM read_csv('/etc/passwd')", "state.outside"),
        ("SELECT * FROM read_text('/etc/passwd')", "state.outside"),
        ("SELECT * FROM '/etc/passwd'", "state.sql"),
        ("SELECT * FROM glob('/etc/*')", "state.outside"),
        ("SELECT * FROM read_parquet('https://example.org/a.parquet')", "state.outside"),
        ("SELECT * FROM query('COPY state TO ''/tmp/x''')", "state.sql"),
        ("COPY state TO '/tmp/state.parquet'", "state.only_select"),
        ("COPY (SELECT 1 AS a) TO '{rows}' (USE_TMP_FILE false)", "state.only_select"),
        ("ATTACH '/tmp/other.duckdb'", "state.only_select"),
        ("INSTALL httpfs", "state.only_select"),
        ("LOAD httpfs", "state.only_select"),
        ("SET enable_external_access = true", "state.only_select"),
        ("RESET memory_limit", "state.only_select"),
        ("CREATE TABLE t AS SELECT 1", "state.only_select"),
        ("DROP VIEW state", "state.only_select"),
        ("SELECT 1; SELECT 2", "state.only_select"),
        ("SELECT 1) x, (SELECT 2", "state.sql"),
        ("", "state.only_select"),
        ("SELECT nothing FROM state", "state.sql"),
    ],
)
def test_sql_reaches_nothing_but_the_state(rows: str, sql: str, code: str) -> None:
    if not sql:
        sql = "-- nothing"
    with pytest.raises(Invalid) as refused:
        ask(rows, sql=sql.replace("{rows}", rows.replace("'", "''")))
    assert refused.value.code == code and refused.value.hint
    assert ask(rows).matches == 100


@pytest.mark.parametrize(
    ("asked", "code"),
    [({"sort": "nope"}, "state.sort"), ({"limit": 0}, "state.limit"), ({"limit": 10_001}, "state.limit"), ({"offset": -1}, "state.limit")],
)
def test_what_cannot_be_shown(rows: str, asked: dict[str, Any], code: str) -> None:
    with pytest.raises(Invalid) as refused:
        ask(rows, **asked)
    assert refused.value.code == code


def test_a_question_that_takes_too_long_is_ended(rows: str) -> None:
    endless = QueryState("sp-1", sql="SELECT (SELECT sum(sin(a.range + b.range)) FROM range(10000000000) a, range(1000) b)")
    with pytest.raises(Unavailable) as late:
        states.query({states.STATE: [rows]}, endless, seconds=0.3)
    assert late.value.code == "state.timeout"


def test_rows_that_are_gone_are_not_read(tmp_path: Path) -> None:
    with pytest.raises(TidemarkError) as gone:
        states.query({states.STATE: [str(tmp_path / "gone.parquet")]}, QueryState("sp-1"))
    assert isinstance(gone.value, NotFound) and gone.value.code == "state.not_read"
