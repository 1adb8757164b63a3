"""The judge: what follows from plans, a line for each verdict; it says `same` of nothing that was not compared whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pipelines.domain import contracts, doubts, judged_operators, judged_queries, judging, verdicts
from pipelines.domain.contracts import Keeps
from pipelines.domain.errors import Invalid
from pipelines.domain.ids import QueryName, SavepointId, VersionId
from pipelines.domain.installed import Installed
from pipelines.domain.judging import Known, judge
from pipelines.domain.plannings import NEW, OLD, Failure, Planned, PlannedOperator, PlannedQuery, PlannedSource, Planning
from pipelines.domain.savepoints import QueryImage, SourceOffset
from pipelines.domain.verdicts import Outcome
from pipelines.domain.versions import version
from pipelines.words import verdicts as words

SUM = PlannedOperator(0, "stateStoreSave", "a" * 64, (("computes", "sum(v)"),), {"price": "b" * 64, "price → RATE": "1"})
KEEPS = Keeps("stateStoreSave", {"default key": "k string", "default value": "sum bigint"})
FILES = PlannedSource("json", "/in", "c")
QUERY = PlannedQuery("counts", (SUM,), (FILES,), conf={"spark.sql.session.timeZone": "UTC"})
IMAGE = QueryImage(
    QueryName("counts"), "id", 7, 0, 0, (SourceOffset("0", '{"logOffset":7}'),), "hdfs", 1, (), {}, "noop", "", 0, 0, sources=("json",)
)
NUMPY = Installed("3.11", "17.0.1", {"numpy": "2.3", "module rates": "a" * 64})
KNOWN = Known(IMAGE, {0: KEEPS}, {0: KEEPS}, {0: KEEPS}, spark_version="4.3.0")
NOTED = replace(KNOWN, installed=NUMPY)


def judgement(known: Known, old: Planned, new: Planned, spark: str = "4.3.0", unsupported: str = "") -> tuple[Outcome, str]:
    parts = judge(known, Planning(spark, "3.11", "17.0.2", {OLD: old, NEW: new}, unsupported, "UTC"))
    return verdicts.worst(part.outcome for part in parts), " | ".join(reason for part in parts for reason in part.reasons)


def changed(known: Known = KNOWN, *, old: PlannedQuery = QUERY, **after: object) -> tuple[Outcome, str]:
    return judgement(known, Planned((old,)), Planned((replace(QUERY, **after),)))  # type: ignore[arg-type]


def at(batch_ms: int) -> Known:
    """A savepoint of a batch of that moment."""
    return replace(KNOWN, image=replace(IMAGE, batch_timestamp_ms=batch_ms))


def test_the_same_plan_is_the_same() -> None:
    assert changed()[0] is Outcome.SAME
    assert changed(replace(KNOWN, installed=replace(NUMPY, time_zone="UTC")))[0] is Outcome.SAME
    assert changed(at(6), operators=(replace(SUM, reads={"/dims": 5}),))[0] is Outcome.SAME


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("interval day to second", "interval hour to second"),
        ("interval year to month", "interval month"),
        ("string collate UNICODE_CI", "string"),
        ('{"pyClass": "a.A", "type": "udt"}', '{"pyClass": "a.B", "type": "udt"}'),
        ("array<interval day>", "array<interval day to hour>"),
        ("map<string, decimal(10,2)>", "map<string, decimal(10,3)>"),
    ],
)
def test_types_of_several_words_are_told_apart_and_names_of_several_are_names(before: str, after: str) -> None:
    was, now = (contracts.types(Keeps("agg", {"default value": f"(a < b) {kind}, c long"})) for kind in (before, after))
    assert was != now == contracts.types(Keeps("agg", {"default value": f"other {after}, (d + e) long"}))


def test_what_functions_stand_on_is_compared_by_version_and_what_they_do_not_use_is_not() -> None:
    uses = replace(SUM, packages={"numpy": "2.3", "module rates": "a" * 64}, has_functions=True)
    assert changed(NOTED, old=replace(QUERY, operators=(uses,)), operators=(uses,))[0] is Outcome.SAME
    assert changed(replace(KNOWN, installed=Installed("3.10", "17.0.1", {"numpy": "2.3"})))[0] is Outcome.SAME, "no function, no package"


@pytest.mark.parametrize(
    ("known", "after", "reason"),
    [
        (KNOWN, {"operators": (replace(SUM, gaps=("price → model: an object",)),)}, "price → model"),
        (KNOWN, {"operators": (replace(SUM, packages={"numpy": "2.4"}),)}, "numpy, whose version was not noted (now 2.4)"),
        (NOTED, {"operators": (replace(SUM, packages={"numpy": "2.4"}),)}, "numpy, which was 2.3 and is 2.4"),
        (NOTED, {"operators": (replace(SUM, packages={"numpy": ""}),)}, "numpy, whose version is not known"),
        (
            NOTED,
            {"operators": (replace(SUM, packages={"module rates": "b" * 64}),)},
            "module rates, which was aaaaaaaaaaaa and is bbbbbbbbbbbb",
        ),
        (replace(KNOWN, installed=Installed("3.10", "17.0.1")), {"operators": (replace(SUM, has_functions=True),)}, "Python 3.10, and"),
        (replace(KNOWN, installed=Installed("3.11", "21.0.1")), {}, "Java 21.0.1, and this is Java 17.0.2"),
        (replace(KNOWN, installed=replace(NUMPY, time_zone="Europe/Berlin")), {}, "the time zone Europe/Berlin, and this is UTC"),
        (KNOWN, {"operators": (replace(SUM, reads={"/dims": 5}),)}, "files at /dims that were changed after"),
        (at(5), {"operators": (replace(SUM, reads={"/dims": 5}),)}, "files at /dims that were changed after"),
        (at(5), {"operators": (replace(SUM, reads={"/dims": -1}),)}, "files at /dims that were changed after"),
        (KNOWN, {"conf": {"spark.sql.session.timeZone": "CET"}}, "session.timeZone was UTC, is CET"),
        (replace(KNOWN, spark_version="4.2.0"), {}, "written by Spark 4.2.0"),
        (replace(KNOWN, old={0: replace(KEEPS, columns={"default key": "k int"})}), {}, "does not keep what the savepoint holds"),
        (replace(KNOWN, doubts=("The file lookup.csv beside the script differs.",)), {}, "lookup.csv"),
    ],
)
def test_what_was_not_compared_whole_is_never_the_same(known: Known, after: Mapping[str, Any], reason: str) -> None:
    outcome, reasons = changed(known, **after)
    assert outcome is Outcome.CANNOT_TELL and reason in reasons, reasons


@pytest.mark.parametrize(
    ("after", "outcome", "reason"),
    [
        (
            {"operators": (replace(SUM, digest="d" * 64, facts=(("computes", "count(v)"),)),)},
            Outcome.CHANGED_MEANING,
            "computes: sum(v) before, count(v) now",
        ),
        (
            {"operators": (replace(SUM, digest="d" * 64, parts={**SUM.parts, "price → RATE": "2"}),)},
            Outcome.CHANGED_MEANING,
            "price → RATE was 1, is 2",
        ),
        ({"operators": (replace(SUM, digest="d" * 64),)}, Outcome.CHANGED_MEANING, "nothing proves that it is the same"),
        ({"operators": (replace(SUM, name="dedupe"),)}, Outcome.NEEDS_REWRITING, "state of a stateStoreSave here"),
        ({"operators": ()}, Outcome.NEEDS_REWRITING, "left behind"),
        ({"refusal": Failure("STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE", "no")}, Outcome.NEEDS_REWRITING, "no"),
        ({"refusal": Failure("AssertionError", "no")}, Outcome.CANNOT_START, "Spark refuses it: no"),
        ({"failure": Failure("AnalysisException", "no such column")}, Outcome.CANNOT_START, "no such column"),
        ({"query": "other"}, Outcome.CANNOT_START, "starts other, and not counts"),
        ({"sources": (FILES, FILES)}, Outcome.NEEDS_REWRITING, "Source 1 (json /in) is new."),
        ({"sources": (replace(FILES, kind="kafka", digest="e"),)}, Outcome.NEEDS_REWRITING, "Source 0 (json /in) is not read any more"),
        ({"sources": (replace(FILES, place="/else", digest="e"),)}, Outcome.NEEDS_REWRITING, "Source 0 (json /else) is new."),
        ({"sources": (replace(FILES, name="in"),)}, Outcome.NEEDS_REWRITING, "Source in goes on at the offset of source 0."),
        ({"sources": (FILES, replace(FILES, name="in"))}, Outcome.CANNOT_START, "have names, and some have none"),
        ({"sources": ()}, Outcome.PARTLY_KEPT, "Source 0 (json /in) is not read any more"),
        ({"sources": (replace(FILES, digest="e"),)}, Outcome.CHANGED_MEANING, "other options"),
    ],
)
def test_what_differs_is_said(after: Mapping[str, Any], outcome: Outcome, reason: str) -> None:
    told, reasons = changed(**after)
    assert told is outcome and reason in reasons, reasons


def test_a_state_variable_that_goes_is_dropped_by_name() -> None:
    keeps = replace(KEEPS, variables={"count": "value", "last": "value"})
    known = Known(IMAGE, {0: keeps}, {0: keeps}, {0: replace(keeps, variables={"count": "value"})})
    assert changed(known) == (Outcome.PARTLY_KEPT, "Its state variables last are dropped.")


def test_a_state_variable_that_is_told_to_go_on_under_another_name_is_not_dropped() -> None:
    then, now = ({"count": "value", last: "value"} for last in ("last", "newest"))
    kept, new = ({0: replace(KEEPS, variables=variables)} for variables in (then, now))
    known = Known(IMAGE, kept, kept, new)
    (part,) = judge(known, planned(QUERY, QUERY))
    assert (part.dropped, part.empty) == (("counts.0.last",), ("counts.0.newest",))
    (part,) = judge(replace(known, told={"counts.0.last": "counts.0.newest"}), planned(QUERY, QUERY))
    assert part.outcome is Outcome.NEEDS_REWRITING and part.reasons[0] == "Its state variable last goes on as newest."
    assert (part.dropped, part.empty) == ((), ())
    with pytest.raises(Invalid, match="no such state variable"):
        judge(replace(known, told={"counts.0.last": "counts.0.other"}), planned(QUERY, QUERY))


def test_operators_that_are_alike_go_on_as_the_verdict_is_told() -> None:
    """Two aggregations of the same columns became three, none computed as before."""
    was = tuple(replace(SUM, id=at, digest=str(at) * 64) for at in range(2))
    now = tuple(replace(SUM, id=at, digest=str(at + 5) * 64) for at in range(3))
    kept, new = (dict.fromkeys(range(count), KEEPS) for count in (2, 3))
    known, planning = Known(IMAGE, kept, kept, new), planned(replace(QUERY, operators=was), replace(QUERY, operators=now))
    unclear = list(judging.pairs(known, planning))
    assert all(pair.is_unclear for pair in unclear) and len(unclear) == 5
    told = replace(known, told={"counts.0": "counts.2", "counts.1": "counts.1"})
    assert pairs(told, planning) == [(1, 1), (0, 2), (None, 0)]
    moved = next(part for part in judge(told, planning) if part.operator == 2)
    assert moved.outcome is Outcome.NEEDS_REWRITING and moved.reasons[0] == "Its state is that of operator 0, and moves to 2."
    with pytest.raises(Invalid, match="no operator 7"):
        judge(replace(known, told={"counts.0": "counts.7"}), planning)


def planned(old: PlannedQuery, new: PlannedQuery) -> Planning:
    return Planning("4.3.0", "3.11", "17.0.2", {OLD: Planned((old,)), NEW: Planned((new,))})


def pairs(known: Known, planning: Planning) -> list[tuple[int | None, int | None]]:
    every = judging.pairs(known, planning)
    return [(pair.before.operator if pair.before else None, pair.after.operator if pair.after else None) for pair in every]


def test_the_plans_of_both_codes_stand_operator_by_operator() -> None:
    """Each beside the one that goes on with its state, with what differs of what they do."""
    once = PlannedOperator(0, "dedupe", "o", (("tells apart by", "k"),))
    total = replace(SUM, id=1, facts=(("computes", "count(v)"), ("by", "k")))
    was = replace(SUM, facts=(("computes", "sum(v)"), ("by", "k")))
    known = replace(KNOWN, new={0: Keeps("dedupe", {"default key": "k string", "default value": ""}), 1: KEEPS})
    planning = Planning(
        "4.3.0", sides={OLD: Planned((replace(QUERY, operators=(was,)),)), NEW: Planned((replace(QUERY, operators=(once, total)),))}
    )
    pairs = tuple(judging.pairs(known, planning))
    ids = [tuple(plan.operator if plan else None for plan in (pair.before, pair.after)) for pair in pairs]
    assert ids == [(0, 1), (None, 0)]
    told = words.plans(replace(verdicts.of(SavepointId("sp-1"), VersionId("v-1"), ()), operators=pairs))
    assert told == [
        "counts: operator 0 (aggregation) goes on as operator 1 (aggregation)",
        "  computes: sum(v) before, count(v) now",
        "counts: operator 0 (deduplication) begins empty",
        "  tells apart by: nothing more before, k now",
    ]
    gone = Planning("4.3.0", sides={OLD: Planned((QUERY,)), NEW: Planned()})
    assert [pair.after for pair in judging.pairs(KNOWN, gone)] == [None]


def test_lines_that_differ_below_the_same_state_are_of_what_is_put_out() -> None:
    """Spark keeps a sum once, however often it is put out, and an aggregate that nothing reads not at all."""
    now = replace(SUM, facts=(*SUM.facts, ("computes", "sum(v) + 1")))
    planning = planned(QUERY, replace(QUERY, operators=(now,)))
    parts, pairs = judge(KNOWN, planning), tuple(judging.pairs(KNOWN, planning))
    assert [part.reasons for part in parts] == [(judged_operators.ALIKE, judged_operators.WRITTEN)]
    verdict = replace(verdicts.of(SavepointId("sp-1"), VersionId("v-1"), parts), operators=pairs)
    heading, line = words.plans(verdict)
    assert verdict.outcome is Outcome.SAME and heading.endswith(words.SAME_STATE)
    assert line == "  computes: nothing more before, sum(v) + 1 now"
    doubted = replace(verdict, parts=judge(replace(KNOWN, doubts=("A jar differs.",)), planning))
    assert words.plans(doubted)[0] == "counts: operator 0 (aggregation) goes on as operator 0 (aggregation)"


def test_a_script_that_fails_is_held_against_the_code_only_where_the_old_one_ran() -> None:
    failed = Planned(failure=Failure("NameError", "line 3: name 'x' is not defined"))
    assert judgement(KNOWN, Planned((QUERY,)), failed)[0] is Outcome.CANNOT_START
    assert judgement(KNOWN, failed, failed)[0] is Outcome.CANNOT_TELL
    assert "line 3" in judgement(KNOWN, failed, Planned((QUERY,)))[1]
    assert judgement(KNOWN, failed, Planned((QUERY,)))[0] is Outcome.CANNOT_TELL


def test_a_query_that_is_not_started_any_more_is_left_behind() -> None:
    assert judgement(KNOWN, Planned((QUERY,)), Planned())[0] is Outcome.PARTLY_KEPT


def test_a_query_that_nobody_announced_is_refused_as_the_run_refuses_it() -> None:
    planning = Planning("4.3.0", sides={OLD: Planned((QUERY,)), NEW: Planned((QUERY, replace(QUERY, query="more")))})
    (part,) = judged_queries.unannounced(planning, ["counts"], ())
    assert (part.query, part.outcome) == ("more", Outcome.CANNOT_START) and "--new-query more" in part.hint
    assert not list(judged_queries.unannounced(planning, ["counts"], ("more",)))
    assert not list(judged_queries.unannounced(planning, ["counts", "more"], ())), "it had not begun"
    assert not list(judged_queries.unannounced(planning, [], ())), "every query may start"
    other = Planned((replace(QUERY, query="more"),))
    assert judgement(KNOWN, Planned((QUERY,)), other)[0] is Outcome.CANNOT_START
    assert judgement(replace(KNOWN, announced=("more",)), Planned((QUERY,)), other)[0] is Outcome.PARTLY_KEPT


def test_an_unknown_spark_is_never_judged_by() -> None:
    assert judgement(KNOWN, Planned(), Planned(), unsupported="Spark 5.0.0 was not measured")[0] is Outcome.CANNOT_TELL


def test_what_a_version_has_beside_its_script_is_doubted() -> None:
    old = version("a.py", "x", conf={"spark.jars": "/a.jar", "spark.jars.packages": "a:b:1"}, files={"lookup.csv": "1"})
    new = version("a.py", "y", conf={"spark.jars": "/a.jar", "spark.jars.packages": "a:b:2"}, files={"lookup.csv": "2"})
    told = " ".join(doubts.of(old, new))
    assert "/a.jar, whose bytes were not noted" in told and "a:b:1, is a:b:2" in told and "lookup.csv" in told
    for key, was, now in (
        ("spark.driver.extraClassPath", "/lib/*", "/lib/*"),
        ("spark.executor.extraClassPath", "/lib/b.jar:/lib/c.jar", "/lib/b.jar:/lib/c.jar"),
        ("spark.executor.extraClassPath", "/a.jar", "/b.jar"),
        ("spark.driver.extraJavaOptions", "-Duser.timezone=UTC", "-Duser.timezone=CET"),
        ("spark.executor.extraJavaOptions", "", "-Duser.language=tr"),
        ("spark.executor.defaultJavaOptions", "-Xss4m -javaagent:/a.jar=x", "-Xss4m -javaagent:/a.jar=x"),
        ("spark.driver.userClassPathFirst", "false", "true"),
        ("spark.hadoop.mapreduce.input.linerecordreader.line.maxlength", "100", "200"),
        ("spark.mongodb.read.connection.uri", "mongodb://a", "mongodb://b"),
        ("spark.es.nodes", "", "b"),
    ):
        both = [version("a.py", code, conf={key: value}, outside={"/lib/b.jar": "1"}) for code, value in (("x", was), ("y", now))]
        assert len(list(doubts.of(*both))) == 1, (key, was, now)
    for key in ("spark.executor.memory", "spark.task.cpus", "spark.app.name", "spark.sql.shuffle.partitions", "spark.eventLog.enabled"):
        assert not list(doubts.of(version("a.py", "x", conf={key: "1"}), version("a.py", "y", conf={key: "2"}))), key
    noted = [version("a.py", "x", conf={"spark.driver.extraClassPath": "/a.jar"}, outside={"/a.jar": digest}) for digest in "12"]
    assert list(doubts.of(*noted)) == ["spark.driver.extraClassPath names /a.jar, whose bytes are others."]
    same = version("a.py", "x", conf={"spark.driver.extraClassPath": "/a.jar:{code}/b.jar", "spark.driver.extraJavaOptions": "-Xss4m"})
    assert not list(doubts.of(*[replace(same, outside={"/a.jar": "1"})] * 2))
    assert doubts.unplannable(old, replace(new, python="/other"), is_noted=False) and not doubts.unplannable(old, new, is_noted=False)
    assert not doubts.unplannable(old, replace(new, python="/other"), is_noted=True), "what it stood on is compared afterwards"
