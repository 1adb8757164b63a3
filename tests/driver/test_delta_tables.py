"""A fork's Delta table: where its driver lets it write, and how the savepoint's table comes there, whatever crashes in between."""

from __future__ import annotations

import json
import shutil
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import Conflict, Unsupported
from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.run_specs import ANY_TABLE, SPEC_FORMAT, RunSpec
from pipelines.domain.runs import EVENTS_FILE
from pipelines.driver import delta_tables, shared_tables
from pipelines.driver.destinations import Destination
from pipelines.driver.intercept import Asked
from pipelines.driver.records import Records
from tests.delta import add, batch, commit

LOCAL = "file:///"


class Writer:
    """What is left of a writer's options."""

    def __init__(self) -> None:
        self.options: dict[str, str] = {}

    def option(self, name: str, value: str) -> None:
        self.options[name] = value


@pytest.fixture
def spec(tmp_path: Path) -> RunSpec:
    """A fork's, with a table of two versions among what was restored."""
    restored = tmp_path / "checkpoints" / ".sinks" / "sums"
    commit(restored / "table", 0, batch(0, add("first")))
    commit(restored / "table", 1, batch(1, add("second")))
    return RunSpec(
        SPEC_FORMAT, RunId("r-1"), JobName("b"), VersionId("v-1"), "job.py", (), {}, "local", str(tmp_path / "checkpoints"),
        str(tmp_path / "output"), {"sums": str(restored)}, own_tables={"sums": ANY_TABLE},
    )  # fmt: skip


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(tmp_path, lambda: 1)


def asked(path: Path | str, form: str = "delta", **more: Any) -> Asked:
    return Asked(format=form, options={"path": str(path)}, **more)


TAKEN = [
    (ANY_TABLE, "/lake/sums", True),
    ("/lake/sums", "file:/lake/sums", True),
    ("/lake/sums", "/lake/sums/", True),
    ("/lake/sums", "/lake/b", False),
]


@pytest.mark.parametrize(("taken", "path", "is_own"), TAKEN)
def test_a_table_of_the_parents_is_replaced(taken: str, path: str, is_own: bool, spec: RunSpec, records: Records, tmp_path: Path) -> None:
    writer = Writer()
    request = delta_tables.give_own(replace(spec, own_tables={"sums": taken}), records, "sums", writer, asked(path), LOCAL)
    own = str(tmp_path / "output" / "tables" / "sums")
    assert (request.path, writer.options) == ((own, {"path": own}) if is_own else (path, {}))
    assert (tmp_path / EVENTS_FILE).exists() == is_own


@pytest.mark.parametrize("request_", [asked("/lake/sums", "parquet"), asked("/lake/sums", table="t"), Asked(format="delta")])
def test_nothing_else_is(request_: Asked, spec: RunSpec, records: Records) -> None:
    assert delta_tables.give_own(spec, records, "sums", None, request_, LOCAL) is request_
    assert delta_tables.give_own(spec, records, "another", None, asked("/lake/a"), LOCAL).path == "/lake/a"


SHARED = [
    ("theirs", "default.theirs", True),
    ("theirs", "`theirs`", True),
    ("theirs", "their_own", False),
    ("theirs", "missing", False),
    ("lake.db.theirs", "theirs", False),
    ("{lake}/theirs", "theirs", True),
    ("s3a://lake/theirs", "s3a://lake/theirs/", True),
    ("s3a://lake/theirs", "s3a://lake/b", False),
    (ANY_TABLE, "theirs", False),
]


@pytest.mark.spark
def test_a_table_of_the_parents_by_a_name_or_a_url_is_not_written_to(spec: RunSpec, spark: Any, tmp_path: Path) -> None:
    for name in ("theirs", "their_own"):
        spark.sql(f"CREATE TABLE {name} (n INT) USING parquet LOCATION '{tmp_path}/lake/{name}'")
    try:
        for taken, table, is_refused in SHARED:
            forked = replace(spec, own_tables={"sums": taken.format(lake=tmp_path / "lake")})
            with pytest.raises(Conflict, match="where the job that it was forked from writes") if is_refused else nullcontext():
                shared_tables.refuse(forked, spark, "sums", Destination("delta", table=table), LOCAL)
        own = replace(spec, own_tables={"sums": "theirs"}, warehouse=str(tmp_path / "lake"))
        shared_tables.refuse(own, spark, "sums", Destination("delta", table="theirs"), LOCAL)
    finally:
        for name in ("theirs", "their_own"):
            spark.sql(f"DROP TABLE {name}")


def files(table: Path) -> set[str]:
    return {str(path.relative_to(table)) for path in table.rglob("*") if path.is_file()}


def kinds(events: Path) -> list[str]:
    return [json.loads(line)["kind"] for line in events.read_text().splitlines()] if events.exists() else []


@pytest.mark.parametrize("crashed", ["not", "in the log", "before the copy was deleted", "as the copy was deleted"])
def test_the_table_is_carried_whole_and_once(crashed: str, spec: RunSpec, records: Records, tmp_path: Path) -> None:
    sink, source = tmp_path / "output" / "t", Path(spec.sink_logs["sums"])
    whole = files(source / "table")
    if crashed == "in the log":
        (sink / "_delta_log.tmp").mkdir(parents=True)
        (sink / "_delta_log.tmp" / "half").touch()
    if crashed == "before the copy was deleted":
        shutil.copytree(source / "table", sink)
    if crashed == "as the copy was deleted":
        shutil.copytree(source / "table", sink)
        (source / "table").rename(source / "carried")
    if delta_tables.carries(spec, "sums", asked("/t")):
        delta_tables.carry(spec, records, "sums", asked(sink), LOCAL, None)
    assert files(sink) == whole and not delta_tables.carries(spec, "sums", asked("/t"))
    event_kinds = kinds(tmp_path / EVENTS_FILE)
    assert event_kinds == (["sink.carried"] if crashed in ("not", "in the log") else [])


def test_another_table_is_left_alone(spec: RunSpec, records: Records, tmp_path: Path) -> None:
    commit(tmp_path / "theirs", 1, batch(5, add("third")))
    before = files(tmp_path / "theirs")
    with pytest.raises(Conflict, match="another Delta table"):
        delta_tables.carry(spec, records, "sums", asked(tmp_path / "theirs"), LOCAL, None)
    assert files(tmp_path / "theirs") == before and delta_tables.carries(spec, "sums", asked("/t"))


@pytest.mark.parametrize("request_", [asked("/lake/sums", "parquet"), asked("/lake/sums", table="t"), asked("s3a://lake/sums")])
def test_a_sink_of_another_kind_is_refused(request_: Asked, spec: RunSpec, records: Records) -> None:
    with pytest.raises(Unsupported, match="would go on elsewhere"):
        delta_tables.carry(spec, records, "sums", request_, LOCAL, None)


def test_a_table_elsewhere_is_not_passed_over(spec: RunSpec) -> None:
    with pytest.raises(Unsupported, match="only one in a local folder"):
        delta_tables.carries(replace(spec, sink_logs={"sums": "s3://bucket/.sinks/sums"}), "sums", asked("/t"))
