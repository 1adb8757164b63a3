"""Verdicts on state of every kind of type: what is computed otherwise of arrays, maps, structs, variants, intervals, times of the day,
collated texts and decimals is never *the same*; code that did not change is, or its reason says what could not be compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.checkpoint import contracts
from pipelines.domain import judging, verdicts
from pipelines.domain.contracts import value_names
from pipelines.domain.judging import Known
from pipelines.domain.plannings import NEW, OLD, Planned, PlannedQuery, Planning
from pipelines.domain.savepoints import QueryImage, SourceOffset
from pipelines.domain.verdicts import Outcome, Part
from pipelines.driver.planning.planner import Planner
from pipelines.sandbox.reading import NEW_TYPES
from pipelines.storage.addresses import open_storage
from tests.driver.planning.codes import spec
from tests.driver.planning.test_truth import QUERY, words

HEAD = """
from pyspark.sql import functions as F
kinds = "k string, v int, a array<int>, m map<string, int>, s struct<x: int, y: array<string>>, d decimal(10, 2)"
events = spark.readStream.schema(f"{kinds}, c string collate UTF8_LCASE").json("{input}")
"""
COMPUTED = (
    HEAD
    + """
df = events.groupBy(
    F.expr("cast(d as decimal(20, 3))").alias("d"), F.expr("transform(a, x -> x + 1)").alias("a"), "s.y",
    F.expr("make_dt_interval(v, 0, 0)").alias("days"), F.expr("make_ym_interval(v, 0)").alias("months"),
).agg(
    F.first(F.expr("map_concat(m, map(k, v))")).alias("m"),
    F.max(F.expr("struct(v as x, k as y)")).alias("s"),
    F.last(F.expr("parse_json(k)")).alias("j"),
    F.last(F.expr("try_variant_get(parse_json(k), '$.a', 'int')")).alias("g"),
    F.first(F.expr("make_interval(0, v, 1)")).alias("i"),
    F.max(F.expr("make_time(v, 0, 0)")).alias("t"),
    F.max(F.expr("cast(make_time(v, 0, 0) as time(3))")).alias("t3"),
    F.max(F.expr("cast(k as string collate UNICODE_CI)")).alias("u"),
    F.max(F.expr("collate(k, 'UNICODE_CI')")).alias("w"),
    F.max("c").alias("c"),
    F.first(F.expr("array(cast(k as string collate UNICODE_CI))")).alias("uu"),
    F.max(F.expr("cast(make_dt_interval(v) as interval day to hour)")).alias("hours"),
    F.max(F.expr("cast(make_ym_interval(v) as interval year)")).alias("years"),
    F.sum("d").alias("total"),
    F.avg(F.expr("cast(d as decimal(12, 2))")).alias("mean"),
)
#end"""
)
CHANGES = {
    "a decimal of a key": ("as decimal(20, 3)", "as decimal(20, 4)"),
    "an array of a key": ("x -> x + 1", "x -> x + 2"),
    "a field of a struct in a key": ('"s.y"', '"s.x"'),
    "days of a key": ("make_dt_interval(v, 0, 0)", "make_dt_interval(0, v, 0)"),
    "months of a key": ("make_ym_interval(v, 0)", "make_ym_interval(0, v)"),
    "a map": ("map_concat(m, map(k, v))", "map_concat(map(k, v), m)"),
    "a struct": ("struct(v as x, k as y)", "struct(v + 1 as x, k as y)"),
    "a field's name": ("struct(v as x, k as y)", "struct(v as y, k as x)"),
    "a variant": ('last(F.expr("parse_json(k)', "last(F.expr(\"parse_json(concat(k, ' '))"),
    "a path in a variant": ("'$.a'", "'$.b'"),
    "a calendar interval": ("make_interval(0, v, 1)", "make_interval(0, v, 2)"),
    "a time": ('F.max(F.expr("make_time(v, 0, 0)', 'F.max(F.expr("make_time(0, v, 0)'),
    "a time's precision": ("as time(3)", "as time(4)"),
    "a collation that is cast to": ('as string collate UNICODE_CI)")).alias("u")', 'as string collate UTF8_LCASE)")).alias("u")'),
    "a collation": ("collate(k, 'UNICODE_CI')", "collate(k, 'UTF8_LCASE')"),
    "a collation of the source": ("c string collate UTF8_LCASE", "c string collate UNICODE_CI"),
    "a collation in an array": ("array(cast(k as string collate UNICODE_CI)", "array(cast(k as string collate UTF8_LCASE)"),
    "an interval's end": ("interval day to hour", "interval day to minute"),
    "an interval's beginning": ("interval day to hour", "interval hour"),
    "an interval of years": ("as interval year)", "as interval year to month)"),
    "a sum of decimals": ('F.sum("d")', 'F.sum(F.expr("d * 2"))'),
    "a mean of decimals": ("as decimal(12, 2)", "as decimal(13, 3)"),
}
"""What is changed -> a text and the one that takes its place."""
CONSTANTS = (
    HEAD
    + """
df = events.groupBy("k").agg(*(F.first(F.expr(f"coalesce({column}, {constant})")).alias(name) for name, column, constant in (
    ("a", "a", "array(1, 2)"),
    ("m", "m", "map('x', 1)"),
    ("s", "s", "named_struct('x', 1, 'y', array('z'))"),
    ("j", "try_parse_json(k)", "parse_json('1')"),
    ("i", "make_interval(v)", "make_interval(0, 1, 0, 2)"),
    ("t", "make_time(v, 0, 0)", "TIME'12:30:00'"),
    ("h", "make_dt_interval(v)", "interval '1' day"),
    ("y", "make_ym_interval(v)", "interval '1' month"),
    ("d", "d", "1.25BD"),
    ("c", "c", "'x' collate UTF8_LCASE"),
)))
#end"""
)
OTHER_CONSTANTS = {
    "an array": ("array(1, 2)", "array(1, 3)"),
    "a map": ("map('x', 1)", "map('x', 2)"),
    "a struct": ("array('z')", "array('zz')"),
    "a variant": ("parse_json('1')", "parse_json('2')"),
    "a calendar interval": ("make_interval(0, 1, 0, 2)", "make_interval(0, 2, 0, 1)"),
    "a time": ("TIME'12:30:00'", "TIME'12:30:01'"),
    "days": ("interval '1' day", "interval '2' day"),
    "months": ("interval '1' month", "interval '2' month"),
    "a decimal": ("1.25BD", "1.26BD"),
    "a text": ("'x' collate", "'y' collate"),
}


@pytest.mark.spark
def test_what_is_computed_otherwise_is_never_the_same_whatever_its_type(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    for name, value in NEW_TYPES:
        spark.conf.set(name, value)
    for at, (code, changes) in enumerate(((COMPUTED, CHANGES), (CONSTANTS, OTHER_CONSTANTS))):
        plans = {"nothing": planned(spark, code, tmp_path / f"{at}-nothing")}
        for name, (text, other) in changes.items():
            assert text in code, name
            plans[name] = planned(spark, code.replace(text, other), tmp_path / f"{at}-{name}")
        old = plans["nothing"]
        told = {name: judged(old, plan) for name, plan in {**plans, "again": planned(spark, code, tmp_path / f"{at}-again")}.items()}
        outcomes = {name: verdicts.worst(part.outcome for part in parts) for name, parts in told.items()}
        unchanged = {outcomes.pop(name) for name in ("nothing", "again")}
        assert unchanged == {Outcome.SAME if code is COMPUTED else Outcome.CANNOT_TELL}, words(told["again"])
        assert {name: outcome for name, outcome in outcomes.items() if outcome is Outcome.SAME} == {}


WORDS = {
    'F.sum("v").alias("total"), F.sum("d"), F.avg("v").alias("mean"), (F.sum("v") / F.count("*")).alias("each")': (
        "sum(v) AS total",
        "sum(d), sum",
        "sum(d), isEmpty",
        "avg(v) AS mean, sum",
        "avg(v) AS mean, count",
        "count(1)",
    ),
    'F.max_by("k", "v").alias("most"), F.count("v")': (
        "max_by(k, v) AS most, valueWithExtremumOrdering",
        "max_by(k, v) AS most, extremumOrdering",
        "count(v)",
    ),
}
"""Aggregates -> what the columns of their state are called, in its order: a sum that stands there twice is kept once."""


@pytest.mark.spark
def test_columns_of_state_have_the_codes_own_words(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    by = ('events.groupBy("k")', 'events.withColumn("at", F.expr("timestamp_seconds(v)")).groupBy(F.session_window("at", "5 s"), "k")')
    for at, (aggregates, told) in enumerate(WORDS.items()):
        for frame in by:
            plan, contract = planned(spark, f"{HEAD}df = {frame}.agg({aggregates})", tmp_path / f"{at}-{by.index(frame)}")
            kept = contracts.read(open_storage(str(contract)), 0)[0]
            assert len(plan.operators[0].columns) <= len(value_names(kept))
            assert plan.operators[0].columns == told, value_names(kept)
    plan, _ = planned(spark, f'{HEAD}df = events.dropDuplicates(["k"])', tmp_path / "no-aggregation", "Append")
    assert [operator.columns for operator in plan.operators] == [()]


def planned(spark: Any, code: str, folder: Path, mode: str = "Complete") -> tuple[PlannedQuery, Path]:
    """What Spark plans of the code, and where its contract is."""
    scope = {"spark": spark, "__name__": "__main__"}
    exec(compile(code.replace("{input}", str(folder.parent / "input")), "script.py", "exec"), scope)
    plan = Planner(spec(), folder, {}, False, 1_234_567_890).plan(spark, scope["df"], QUERY, mode)
    assert plan.failure is None, plan.failure
    return plan, folder / "contract" / QUERY


def judged(old: tuple[PlannedQuery, Path], new: tuple[PlannedQuery, Path]) -> tuple[Part, ...]:
    then, now = (contracts.read(open_storage(str(folder)), 0) for _, folder in (old, new))
    image = QueryImage(QUERY, "id", 1, 0, 0, (SourceOffset("0", "{}"),), "hdfs", 1, (), {}, "noop", "", 0, 0, sources=("json",))
    return judging.judge(Known(image, then, then, now), Planning("", "", "", {OLD: Planned((old[0],)), NEW: Planned((new[0],))}))
