"""Two readings of a table of state: which keys differ, and the examples that are shown of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines.catalog import state_differences
from pipelines.domain.errors import Unsupported
from pipelines.domain.state_differences import KeyChanges, StateExamples

COUNTS = "SELECT {{'k': k}} AS key, {{'count': n}} AS value, 0 AS partition_id FROM (VALUES {rows}) AS t(k, n)"
LISTS = "SELECT {{'k': k}} AS key, {{'v': v}} AS value, 0 AS partition_id FROM (VALUES {rows}) AS t(k, v)"
WHOLE = "SELECT {{'n': n}} AS value, 0 AS partition_id FROM (VALUES {rows}) AS t(n)"
NESTED = "SELECT {{'k': 'x'}} AS key, {{'at': {rows}}} AS value, 0 AS partition_id"
NULLS, NULL = "{'a': NULL::INTEGER, 'b': NULL::INTEGER}", "NULL::STRUCT(a INTEGER, b INTEGER)"


def compared(folder: Path, a: str, b: str, several: bool = False, limit: int = 5) -> tuple[dict[str, Any], StateExamples]:
    files = [str(folder / f"{name}.parquet") for name in ("a", "b", "difference")]
    with duckdb.connect() as db:
        for sql, file in zip((a, b), files, strict=False):
            db.execute(f"COPY ({sql}) TO '{file}' (FORMAT parquet)")
    return state_differences.compare(files[:1], files[1:2], several, files[2], lambda _: None, limit)


@pytest.mark.parametrize(
    ("table", "a", "b", "changes", "same"),
    [
        (COUNTS, "('x', 1), ('y', 2), ('z', 3)", "('z', 3), ('y', 2), ('x', 1)", KeyChanges(0, 0, 0), 3),
        (COUNTS, "('x', 1), ('y', 2), ('z', 3)", "('z', 4), ('y', 2), ('w', 1)", KeyChanges(1, 1, 1), 1),
        (COUNTS, "('x', 1), (NULL, 2)", "('x', NULL), (NULL, 2)", KeyChanges(0, 0, 1), 1),
        (COUNTS, "('x', 'nan'::DOUBLE), ('y', 1)", "('x', 'nan'::DOUBLE), ('y', 1.5)", KeyChanges(0, 0, 1), 1),
        (WHOLE, "(1)", "(1)", KeyChanges(0, 0, 0), 1),
        (WHOLE, "(1)", "(2)", KeyChanges(0, 0, 1), 0),
        (NESTED, NULL, NULL, KeyChanges(0, 0, 0), 1),
        (NESTED, NULLS, NULL, KeyChanges(0, 0, 1), 0),
    ],
    ids=[
        "in another order",
        "one of each",
        "null is a key and a value",
        "nan",
        "no key",
        "no key, other",
        "null struct",
        "struct of nulls",
    ],
)
def test_keys_that_differ_are_counted(tmp_path: Path, table: str, a: str, b: str, changes: KeyChanges, same: int) -> None:
    comparison, _ = compared(tmp_path, table.format(rows=a), table.format(rows=b))
    assert (comparison["changes"], comparison["keys_a"] - comparison["changes"].removed - comparison["changes"].changed) == (changes, same)


def test_of_several_rows_of_a_key_their_order_is_nothing_and_their_number_counts(tmp_path: Path) -> None:
    a, b = LISTS.format(rows="('x', 1), ('x', 2), ('y', 1), ('y', 1)"), LISTS.format(rows="('x', 2), ('x', 1), ('y', 1), ('z', 1)")
    comparison, shown = compared(tmp_path, a, b, several=True)
    assert (comparison["keys_a"], comparison["keys_b"], comparison["changes"]) == (2, 3, KeyChanges(1, 0, 1))
    assert shown.columns == ("rows",)
    (changed,) = shown.rows["changed"]
    assert (changed["key.k"], len(changed["a.rows"]), len(changed["b.rows"])) == ("y", 2, 1)


def test_rows_of_a_key_have_their_columns_and_no_mark_but_of_a_struct_that_is_null(tmp_path: Path) -> None:
    rows = "SELECT {{'k': k}} AS key, v AS element, 0 AS partition_id FROM (VALUES {rows}) AS t(k, v)"
    a, b = rows.format(rows="('x', {'n': 1}), ('x', {'n': 2})"), rows.format(rows="('x', {'n': 1}), ('x', NULL), ('x', {'n': NULL})")
    _, shown = compared(tmp_path, a, b, several=True)
    (changed,) = shown.rows["changed"]
    assert changed["a.rows"] == [{"element.n": 1}, {"element.n": 2}]
    assert changed["b.rows"][0] == {"element.n": 1}
    assert [len(row) for row in changed["b.rows"]].count(2) == 1, "one is null, and one of nulls"


def test_examples_are_the_first_keys_with_the_columns_that_differ(tmp_path: Path) -> None:
    value = "SELECT {{'k': i}} AS key, {{'same': 1, 'n': {n}}} AS value, 0 AS partition_id FROM range({keys}) AS t(i)"
    _, shown = compared(tmp_path, value.format(n="i", keys="0, 20"), value.format(n="i // 10", keys="5, 30"), limit=3)
    assert (shown.keys, shown.columns, shown.apart) == (("key.k",), ("value.same", "value.n"), ())
    assert shown.rows["only_a"] == tuple({"key.k": i, "value.same": 1, "value.n": i} for i in range(3))
    assert shown.rows["only_b"] == tuple({"key.k": i, "value.same": 1, "value.n": 2} for i in range(20, 23))
    assert shown.rows["changed"] == tuple({"key.k": i, "a.value.n": i, "b.value.n": 0} for i in range(5, 8))
    assert compared(tmp_path, value.format(n="i", keys="2"), value.format(n="1", keys="2"), limit=0)[1].rows["changed"] == ()


def test_times_in_examples_are_read_without_their_columns(tmp_path: Path) -> None:
    window = "SELECT {{'window': {{'start': '2026-01-01 00:06:00+00'::TIMESTAMPTZ}}}} AS key, {{'at': '{at}+00'::TIMESTAMPTZ}} AS value"
    a, b = (f"{window.format(at=at)}, 0 AS partition_id" for at in ("2026-01-01 00:07:00", "2026-01-01 00:08:00.5"))
    (row,) = compared(tmp_path, a, b)[1].rows["changed"]
    expected = {
        "key.window.start": "2026-01-01 00:06:00+00",
        "a.value.at": "2026-01-01 00:07:00+00",
        "b.value.at": "2026-01-01 00:08:00.5+00",
    }
    assert row == expected


def test_a_column_of_one_side_or_of_another_type_is_apart(tmp_path: Path) -> None:
    a = "SELECT {'k': 1} AS key, {'n': 1::INTEGER, 'old': 1, 't': 'x'} AS value, 0 AS partition_id"
    b = "SELECT {'k': 1} AS key, {'n': 1::BIGINT, 'new': 1, 't': 5} AS value, 0 AS partition_id"
    comparison, shown = compared(tmp_path, a, b)
    assert comparison["changes"] == KeyChanges(0, 0, 0) and shown.columns == ("value.n",)
    assert shown.apart == ("value.n", "value.new", "value.old", "value.t") and len(comparison["notes"]) == 3


def test_keys_of_other_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, check=lambda raised: raised.code == "state.keys_differ"):
        compared(tmp_path, COUNTS.format(rows="('x', 1)"), COUNTS.format(rows="(1, 1)"))
