"""What the workspace tells of a job's queries, and which run's plan it shows."""

from __future__ import annotations

import json

import pytest

from pipelines.domain.errors import Corrupt, NotFound, Unsupported
from pipelines.domain.jobs import Run
from pipelines.domain.plans import Metric, PlanEdge, PlanNode, QueryPlan
from pipelines.driver.records import Records
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ListOperators, ListPlans
from pipelines.verbs.resume import Resume
from pipelines.workspace import ingestion
from tests.workspace.conftest import House


def plan(query: str, batch: int) -> QueryPlan:
    scan = PlanNode(1, "Scan", "Scan y", None, (Metric("number of output rows", 5, "rows"),))
    nodes = (PlanNode(0, "Filter", "Filter x", None, ()), scan)
    return QueryPlan(query, batch, 1, nodes, (PlanEdge(1, 0),))


def written(house: House, run: Run, *plans: QueryPlan) -> None:
    """As a driver writes them."""
    for query_plan in plans:
        Records(house.folder(run), house.clock).plan(query_plan)


def test_the_plan_of_each_query_is_read_as_the_driver_wrote_it(house: House) -> None:
    run = house.ran("a")
    assert house.face.ask(ListPlans("a")) == []
    written(house, run, plan("counts", 3), plan("counts", 4), plan("b", 1))
    assert house.face.ask(ListPlans("a")) == [plan("b", 1), plan("counts", 4)]
    assert house.face.ask(ListPlans("a", query="counts")) == [plan("counts", 4)]
    with pytest.raises(NotFound) as missing:
        house.face.ask(ListPlans("a", query="other"))
    assert missing.value.code == "plan.not_found" and "b, counts" in missing.value.hint


def test_a_run_without_a_plan_shows_that_of_the_same_version_before(house: House) -> None:
    written(house, house.ran("a"), plan("counts", 4))
    again = do(house.face, Resume("a"))
    assert house.face.ask(ListPlans("a")) == [plan("counts", 4)]
    written(house, again, plan("counts", 5))
    assert house.face.ask(ListPlans("a")) == [plan("counts", 5)]


def test_other_code_has_another_plan(house: House) -> None:
    written(house, house.ran("a"), plan("counts", 4))
    do(house.face, Resume("a", code="print()\n"))
    assert house.face.ask(ListPlans("a")) == []


def test_a_plan_that_cannot_be_read_is_said(house: House) -> None:
    run = house.ran("a")
    written(house, run, plan("counts", 4))
    file = house.folder(run) / "plans" / "counts.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 2}))
    with pytest.raises(Unsupported):
        house.face.ask(ListPlans("a"))
    file.write_text("{")
    with pytest.raises(Corrupt):
        house.face.ask(ListPlans("a"))


def test_operators_are_those_of_the_newest_batch(house: House) -> None:
    run = house.ran("a")
    for batch in (1, 2):
        house.progress(run, batch)
    ingestion.follow(house.face.context, ingestion.of_run(house.face.context, run.job, run.id))
    (operators,) = house.face.ask(ListOperators("a"))
    assert (operators.query, operators.batch, operators.sink) == ("counts", 2, "parquet")
    assert [(source.description, source.start, source.end, source.rows) for source in operators.sources] == [
        ("files", "", '{"logOffset":2}', 5)
    ]
    with pytest.raises(NotFound):
        house.face.ask(ListOperators("nobody"))
