"""What Prometheus scrapes is what the overview shows, under stable names; the rules and the dashboard that are shipped ask for no other."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.routing import Route

from dashboard import server
from pipelines.api.app import create_api
from pipelines.api.metrics import documented
from pipelines.domain.errors import Unavailable
from pipelines.domain.findings import Problem
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import JobSummary
from pipelines.domain.observed import ObservedNow
from pipelines.domain.runs import RunState
from pipelines.verbs.jobs import ListJobs, ListQueries
from pipelines.words.figures import OF_JOBS
from pipelines.words.query_figures import OF_OPERATORS, OF_QUERIES, OF_SOURCES
from tests.contracts.documents import ROOT
from tests.faces import FakeFace

MONITORING = ROOT / "data" / "monitoring"
SHIPPED = MONITORING / "prometheus-rules.yml"
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scraped(client: httpx.Client) -> Samples:
    answer = client.get("/metrics")
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, "text/plain"), answer.text
    return samples(answer.text)


def samples(text: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def of(scrape: Samples, name: str, /, **labels: str) -> float | None:
    return scrape.get((f"tidemark_{name}", frozenset(labels.items())))


def test_each_figure_is_the_overviews(client: httpx.Client, face: FakeFace) -> None:
    scrape = scraped(client)
    jobs = face.ask(ListJobs())
    assert jobs
    for job in jobs:
        for figure in OF_JOBS:
            assert of(scrape, figure.name, job=job.job.name) == figure.of(job), (job.job.name, figure.name)
        for state in RunState:
            assert of(scrape, "job_state", job=job.job.name, tidemark_job_state=state) == float(job.state is state)
    assert of(scrape, "jobs") == len(jobs)
    assert of(scrape, "jobs_failed") == sum(job.state is RunState.FAILED for job in jobs)
    assert any(name.startswith("process_") for name, _ in scrape)


def test_queries_operators_and_sources_have_figures_of_their_own(client: httpx.Client, face: FakeFace) -> None:
    """A label holds a place and a kind, never what a source reads."""
    (query,) = [query for query in face.ask(ListQueries()) if query.job == "post_engagement"]
    scrape = scraped(client)
    whole = {"job": "post_engagement", "query": "counts"}
    save, kafka = whole | {"operator": "0", "name": "stateStoreSave"}, whole | {"source": "1", "name": "KafkaV2"}
    assert {figure.name: of(scrape, figure.name, **whole) for figure in OF_QUERIES} == {
        figure.name: figure.of(query) for figure in OF_QUERIES
    }
    assert [of(scrape, figure.name, **save) for figure in OF_OPERATORS] == [116, 1_200_000, 24, 3, 2, 0.055]
    assert [of(scrape, figure.name, **kafka) for figure in OF_SOURCES] == [47, 15.7, 58.0]
    assert of(scrape, "source_backlog", **kafka, unit="rows") == 1_250
    face.answers(ListQueries(), [replace(query, output_rate=None, watermark_lag_ms=None, operators=(), sources=())])
    again = scraped(client)
    gone = ["query_output_rows_per_second", "query_watermark_lag_seconds"]
    assert [of(again, name, **whole) for name in (*gone, "query_batch")] == [None, None, 9]
    assert not any(name.startswith(("tidemark_operator_", "tidemark_source_")) for name, _ in again)


def test_what_is_not_known_has_no_sample(client: httpx.Client, face: FakeFace) -> None:
    job = replace(face.ask(ListJobs())[0], lag_ms=None, batch=None, state=RunState.WATCHED)
    face.answers(ListJobs(), [job])
    scrape = scraped(client)
    assert [of(scrape, name, job=job.job.name) for name in ("job_event_time_lag_seconds", "job_batch", "job_up")] == [None] * 3


@pytest.mark.parametrize("name", ['say "hi"', "back\\slash", "two\nlines", "größe"])
def test_a_job_of_any_name_is_a_label(client: httpx.Client, face: FakeFace, name: str) -> None:
    job: JobSummary = face.ask(ListJobs())[0]
    face.answers(ListJobs(), [replace(job, job=replace(job.job, name=JobName(name)))])
    assert of(scraped(client), "job_queries", job=name) == job.queries


@pytest.mark.parametrize("name", ["checks.bad_rows", "checks.count((k > 5))", 'a "b"\\c', "größe.n"])
def test_what_a_job_observes_has_its_query_and_name_as_labels(client: httpx.Client, face: FakeFace, name: str) -> None:
    job: JobSummary = face.ask(ListJobs())[0]
    numbers = (ObservedNow("counts", name, 2.5), ObservedNow("more", name, -1e38))
    face.answers(ListJobs(), [replace(job, observed=numbers)])
    scrape = scraped(client)
    values = [of(scrape, "job_observed", job=job.job.name, query=query, metric=name) for query in ("counts", "more", "no")]
    assert values == [2.5, -1e38, None]
    assert sum(metric == "tidemark_job_observed" for metric, _ in scrape) == 2


def test_who_accepts_openmetrics_gets_it(client: httpx.Client) -> None:
    answer = client.get("/metrics", headers={"accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert {family.name for family in openmetrics.text_string_to_metric_families(answer.text)} >= {"tidemark_job_state", "tidemark_build"}


def test_a_scrape_that_cannot_be_answered_fails(client: httpx.Client, face: FakeFace) -> None:
    face.refuses(ListJobs, Unavailable("catalog.busy", "The catalog does not answer", "Try again."))
    answer = client.get("/metrics")
    assert answer.status_code == 503
    assert "catalog.busy" in answer.text


def test_prometheus_finds_it_where_it_looks(face: FakeFace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's own route: no prefix."""
    monkeypatch.setattr(server.api, "app", create_api(face))
    own = [route for route in server.app._user_routes if isinstance(route, Route) and route.path == "/metrics"]
    transport = httpx.ASGITransport(Starlette(routes=own))

    async def ask() -> tuple[str, httpx.Response]:
        async with httpx.AsyncClient(transport=transport, base_url="http://tests") as client:
            return (await client.get("/metrics")).text, await client.post("/metrics")

    text, posted = asyncio.run(ask())
    assert "tidemark_job_state" in text
    assert (posted.status_code, posted.headers["content-type"]) == (405, "application/problem+json")


def expressions(of: Any) -> list[str]:
    """Every `expr` within a document."""
    match of:
        case dict():
            return [*([of["expr"]] if "expr" in of else []), *(expression for value in of.values() for expression in expressions(value))]
        case list():
            return [expression for value in of for expression in expressions(value)]
    return []


def asked(path: Path) -> str:
    """All that a file asks for."""
    text = path.read_text()
    queries = expressions(json.loads(text)) if path.suffix == ".json" else re.findall(r"expr: (.*)", text)
    assert queries, f"{path} asks for nothing"
    return "\n".join(queries)


def named(expressions: str, label: str) -> set[str]:
    """The values of a label that are asked for; a dashboard's variables are none."""
    matches = re.findall(rf'\b{label}=~?"([^"$]*)"', expressions)
    return {value for values in matches for value in values.split("|")}


OF_THE_DISK = {"tidemark_disk_free_bytes", "tidemark_disk_bytes"}
"""The fake has none."""
UNASKED = {"tidemark_job_savepoint_usable"}
"""No source of the fake's savepoints was asked."""


def test_all_that_is_documented_is_there(client: httpx.Client) -> None:
    assert {name for name, _ in scraped(client) if name.startswith("tidemark_")} == {
        metric.name for metric in documented()
    } - OF_THE_DISK - UNASKED


@pytest.mark.parametrize("name", ["grafana-dashboard.json", "prometheus-rules.yml"])
def test_what_is_shipped_asks_for_metrics_that_there_are(name: str) -> None:
    expressions = asked(MONITORING / name)
    assert set(re.findall(r"tidemark_\w+", expressions)) <= {metric.name for metric in documented()}
    assert named(expressions, "tidemark_job_finding") <= set(Problem) and named(expressions, "tidemark_job_state") <= set(RunState)


def test_prometheus_parses_what_is_shipped_and_what_it_scrapes(client: httpx.Client, tmp_path: Path) -> None:
    promtool = shutil.which("promtool") or pytest.skip("Prometheus's promtool is not on this machine: apt install prometheus")
    board = json.loads((MONITORING / "grafana-dashboard.json").read_text())
    asked = [expr.replace("$job", "clicks|views") for expr in expressions(board)]
    rules = [{"record": f"panel:{number}", "expr": expr} for number, expr in enumerate(asked)]
    panels, wrong = tmp_path / "panels.json", tmp_path / "wrong.json"
    panels.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    wrong.write_text(panels.read_text().replace("sum by (", "sum by ", 1))
    checks = [subprocess.run([promtool, "check", "rules", str(path)], check=False) for path in (SHIPPED, panels, wrong)]
    assert [check.returncode == 0 for check in checks] == [True, True, False]
    linted = subprocess.run([promtool, "check", "metrics"], input=client.get("/metrics").text, text=True, capture_output=True, check=False)
    assert (linted.returncode, linted.stderr) == (0, "")


def test_the_rules_ask_for_what_needs_somebody_at_once() -> None:
    urgent = {Problem.POISON, Problem.NO_PROGRESS, Problem.LAGGING, Problem.FALLING_BEHIND, Problem.RESTARTING, Problem.SCHEDULE}
    expressions = asked(SHIPPED)
    assert urgent <= named(expressions, "tidemark_job_finding") and "failed" in named(expressions, "tidemark_job_state")
