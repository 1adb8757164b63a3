"""`state`: what a savepoint remembers, as a table or as JSON."""

from __future__ import annotations

import json

import pytest

from pipelines.verbs.state import ReadState
from tests.afterwards import follow
from tests.cli.doors import Door

SAVEPOINT = "sp-000000000002"


@pytest.fixture(autouse=True)
def what_was_read_is_there(tidemark: Door) -> None:
    follow(tidemark.face, ReadState)


def test_it_reads_once_and_prints_rows(tidemark: Door) -> None:
    done = tidemark("state", SAVEPOINT, "--sort", "-value.views", "--limit", "3")
    assert done.exit_code == 0, done.output
    head, *rows = done.stdout.splitlines()
    assert head.split()[:3] == ["key.window.start", "key.window.end", "key.post"]
    views = [int(row.split()[7]) for row in rows]
    assert len(views) == 3 and views == sorted(views, reverse=True)
    assert "the first 3 rows of 116 of counts / 0 / default" in done.stderr
    assert tidemark.face.begun == [ReadState(savepoint=SAVEPOINT, query="counts", operator=0, store="default")]


def test_sql_and_a_filter(tidemark: Door) -> None:
    answer = tidemark.json("state", SAVEPOINT, "--sql", "SELECT count(*) AS rows FROM state")
    assert (answer["columns"][0]["name"], answer["rows"]) == ("rows", [[116]])
    assert tidemark.json("state", SAVEPOINT, "--filter", "p62")["matches"] < 116


def test_tables_are_listed_without_reading(tidemark: Door) -> None:
    tidemark.face.memory.several = True
    done = tidemark("state", SAVEPOINT, "--tables")
    assert [line.split()[3] for line in done.stdout.splitlines()[1:]] == ["default", "left", "right", "left-keyToNumValues", "default"]
    assert "seen (map)" in done.stdout and tidemark.face.begun == []
    assert len(tidemark.json("state", SAVEPOINT, "--tables")) == 5


def test_which_table_has_to_be_said_where_there_are_several(tidemark: Door) -> None:
    tidemark.face.memory.several = True
    refused = tidemark("state", SAVEPOINT)
    assert refused.exit_code == 2 and "counts / 1 / right" in refused.stderr
    assert tidemark("state", SAVEPOINT, "--variable", "seen").exit_code == 0
    assert tidemark("state", SAVEPOINT, "--store", "middle").exit_code == 3


def test_rows_beyond_the_bound_are_told(tidemark: Door) -> None:
    done = tidemark("state", SAVEPOINT, "--read-rows", "50", "--json")
    assert "read 50 of 116 rows" in done.stderr and json.loads(done.stdout)["matches"] == 50


def test_wrong_sql_is_an_error_with_a_hint(tidemark: Door) -> None:
    refused = tidemark("state", SAVEPOINT, "--sql", "COPY state TO '/tmp/x'")
    assert refused.exit_code == 2 and "give one SELECT" in refused.stderr and "hint:" in refused.stderr
    assert tidemark("state", SAVEPOINT, "--sql", "SELECT 1", "--filter", "x").exit_code == 2
