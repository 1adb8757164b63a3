from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from pipelines.catalog import migrations
from pipelines.catalog.connection import Catalog
from pipelines.catalog.opening import open_catalog
from pipelines.domain.errors import Unsupported


def _bare(path: Path) -> Catalog:
    return Catalog(path, duckdb.connect(str(path)))


def _schema(catalog: Catalog) -> list[tuple[str, ...]]:
    with catalog.reading() as reader:
        return reader.execute("SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() ORDER BY ALL").fetchall()


@pytest.mark.parametrize("begun", range(len(migrations.steps()) + 1))
def test_every_earlier_format_becomes_todays(tmp_path: Path, begun: int) -> None:
    fresh = open_catalog(tmp_path / "fresh.duckdb")
    older = _bare(tmp_path / "older.duckdb")
    migrations.migrate(older, migrations.steps()[:begun])
    migrations.migrate(older)
    with older.reading() as reader:
        assert migrations.format_of(reader) == len(migrations.steps())
    assert _schema(older) == _schema(fresh)
    older.close()
    fresh.close()


def test_rows_stay_and_steps_run_once(tmp_path: Path) -> None:
    catalog = _bare(tmp_path / "c.duckdb")
    first = "CREATE TABLE t (a BIGINT); INSERT INTO t VALUES (1)"
    migrations.migrate(catalog, [first])
    migrations.migrate(catalog, [first])
    migrations.migrate(catalog, [first, "ALTER TABLE t ADD COLUMN b BIGINT DEFAULT 5"])
    with catalog.reading() as reader:
        assert reader.execute("SELECT * FROM t").fetchall() == [(1, 5)]
    catalog.close()


def test_a_step_that_fails_leaves_the_earlier_format(tmp_path: Path) -> None:
    catalog = _bare(tmp_path / "c.duckdb")
    migrations.migrate(catalog, ["CREATE TABLE t (a BIGINT)"])
    before = _schema(catalog)
    with pytest.raises(duckdb.CatalogException):
        migrations.migrate(catalog, ["", "CREATE TABLE u (a BIGINT); DROP TABLE t", "ALTER TABLE missing ADD COLUMN b BIGINT"])
    assert _schema(catalog) == before
    with catalog.reading() as reader:
        assert migrations.format_of(reader) == 1
    catalog.close()


def test_a_format_from_the_future_is_refused(tmp_path: Path) -> None:
    catalog = _bare(tmp_path / "c.duckdb")
    migrations.migrate(catalog, ["CREATE TABLE t (a BIGINT)", "CREATE TABLE u (a BIGINT)"])
    with pytest.raises(Unsupported):
        migrations.migrate(catalog, ["CREATE TABLE t (a BIGINT)"])
    catalog.close()
