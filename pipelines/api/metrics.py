"""`/metrics`: what Prometheus scrapes, and `push` sends. The figures are those of the overview, asked for anew; names and labels stay.

A job is a label, and so are its queries, their stateful operators and their sources by place and kind, at most `MOST` of each; what is not
known yet has no sample, and is never zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import GaugeMetricFamily, InfoMetricFamily, Metric, StateSetMetricFamily
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from starlette.concurrency import run_in_threadpool

from pipelines import __version__
from pipelines.domain.about import ServerRole
from pipelines.domain.alert_rules import METRIC, OBSERVED
from pipelines.domain.experiments import Health
from pipelines.domain.findings import Problem
from pipelines.domain.query_figures import QueryNow
from pipelines.domain.runs import RunState
from pipelines.verbs.face import Face
from pipelines.verbs.jobs import ListJobs, ListQueries
from pipelines.verbs.system import ShowHealth
from pipelines.words.figures import OF_JOBS, Figure
from pipelines.words.query_figures import OF_OPERATORS, OF_QUERIES, OF_SOURCES

T = TypeVar("T")
PREFIX = "tidemark_"
router = APIRouter()
OF_WORKSPACE: tuple[Figure[Health], ...] = (
    Figure("jobs", "Jobs that the workspace knows", lambda health: health.jobs),
    Figure("jobs_running", "Jobs whose driver runs", lambda health: health.running),
    Figure("jobs_failed", "Jobs whose newest run failed", lambda health: health.failed),
    Figure("savepoints", "Savepoints of all jobs", lambda health: health.savepoints),
    Figure("savepoint_bytes", "Bytes that all savepoints refer to", lambda health: health.savepoint_bytes),
    Figure("disk_free_bytes", "Free bytes of the workspace's disk", lambda health: health.free_bytes),
    Figure("disk_bytes", "Size of the workspace's disk", lambda health: health.total_bytes),
)
STATE = "job_state", "1 for the state of the job's newest run, 0 for every other one"
FINDING = "job_finding", "1 for each kind of finding that the job has now, 0 for every other one"
BACKLOG = "job_backlog", "What the job's sources have not read yet, by unit"
OBSERVED_OF_JOBS = "job_observed", "A number that the job observes itself (df.observe), of the newest batch of its query; at most 50 a job"
SOURCE_BACKLOG = "source_backlog", "What the source had left to read after the newest batch, by unit"
QUERY_LABELS = ("job", "query")
OPERATOR_LABELS, SOURCE_LABELS = (*QUERY_LABELS, "operator", "name"), (*QUERY_LABELS, "source", "name")
"""An operator and a source by its place in Spark's progress, from 0, and what it is."""
INFO = "build", "The server's version"
ACTIVE = "server_active", "1 for the server that has the workspace, 0 for a standby"


@dataclass(frozen=True)
class Documented:
    """A metric beside those of the server's process (`process_…`): its name in an exposition, its name in the threshold of an alert (empty
    where it has none), its labels and its meaning."""

    name: str
    figure: str
    labels: str
    says: str


def documented() -> Iterator[Documented]:
    """Every metric, in the order of an exposition."""
    for figure in OF_JOBS:
        name = PREFIX + figure.name
        yield Documented(name, name.removeprefix(METRIC), "job", figure.says)
    yield Documented(PREFIX + STATE[0], "", f"job, {PREFIX}{STATE[0]}", STATE[1])
    yield Documented(PREFIX + FINDING[0], "", f"job, {PREFIX}{FINDING[0]}", FINDING[1])
    yield Documented(PREFIX + BACKLOG[0], "backlog_UNIT", "job, unit", BACKLOG[1])
    yield Documented(PREFIX + OBSERVED_OF_JOBS[0], f"{OBSERVED}NAME.COLUMN", "job, query, metric", OBSERVED_OF_JOBS[1])
    for labels, figures in ((QUERY_LABELS, OF_QUERIES), (OPERATOR_LABELS, OF_OPERATORS), (SOURCE_LABELS, OF_SOURCES)):
        yield from (Documented(PREFIX + part.name, "", ", ".join(labels), part.says) for part in figures)
    yield Documented(PREFIX + SOURCE_BACKLOG[0], "", ", ".join((*SOURCE_LABELS, "unit")), SOURCE_BACKLOG[1])
    yield from (Documented(PREFIX + of_all.name, "", "", of_all.says) for of_all in OF_WORKSPACE)
    yield Documented(PREFIX + ACTIVE[0], "", "", ACTIVE[1])
    yield Documented(f"{PREFIX}{INFO[0]}_info", "", "version", INFO[1])


@dataclass(frozen=True)
class Reading:
    """A sample under the name that an exposition has it under; `grows` of what only ever grows while the process lives."""

    name: str
    says: str
    grows: bool
    labels: Mapping[str, str]
    value: float


class Figures(Collector):
    """All that a scrape finds, asked of `face` anew."""

    def __init__(self, face: Face, role: ServerRole) -> None:
        self._face, self._role = face, role

    def collect(self) -> Iterator[Metric]:
        jobs = self._face.ask(ListJobs())
        health = self._face.ask(ShowHealth()).as_of(jobs)
        for figure in OF_JOBS:
            yield _gauge(figure, [([job.job.name], job) for job in jobs], ["job"])
        yield _states(STATE, RunState, ((job.job.name, {job.state} if job.state else set()) for job in jobs))
        yield _states(FINDING, Problem, ((job.job.name, {finding.problem for finding in job.findings}) for job in jobs))
        waiting = (([job.job.name, amount.unit], amount.amount) for job in jobs for amount in job.backlog)
        yield _several(BACKLOG, ["job", "unit"], waiting)
        own = (([job.job.name, number.query, number.name], number.value) for job in jobs for number in job.observed)
        yield _several(OBSERVED_OF_JOBS, ["job", "query", "metric"], own)
        yield from _of_queries(self._face.ask(ListQueries()))
        for of_all in OF_WORKSPACE:
            yield _gauge(of_all, [([], health)], [])
        yield GaugeMetricFamily(PREFIX + ACTIVE[0], ACTIVE[1], float(self._role is ServerRole.ACTIVE))
        yield InfoMetricFamily(PREFIX + INFO[0], INFO[1], {"version": __version__})


def _of_queries(queries: Sequence[QueryNow]) -> Iterator[Metric]:
    """Of queries, of their operators, of their sources."""
    named = [((query.job, query.query), query) for query in queries]
    operators = [((*of, str(at), part.name), part) for of, query in named for at, part in enumerate(query.operators)]
    sources = [((*of, str(at), part.name), part) for of, query in named for at, part in enumerate(query.sources)]
    yield from (_gauge(figure, named, QUERY_LABELS) for figure in OF_QUERIES)
    yield from (_gauge(figure, operators, OPERATOR_LABELS) for figure in OF_OPERATORS)
    yield from (_gauge(figure, sources, SOURCE_LABELS) for figure in OF_SOURCES)
    waiting = (((*of, left.unit), left.amount) for of, source in sources for left in source.backlog)
    yield _several(SOURCE_BACKLOG, (*SOURCE_LABELS, "unit"), waiting)


def _gauge(figure: Figure[T], of: Iterable[tuple[Sequence[str], T]], labels: Sequence[str]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(PREFIX + figure.name, figure.says, labels=labels)
    for values, subject in of:
        amount = figure.of(subject)
        if amount is not None:
            family.add_metric(values, amount)
    return family


def _several(named: tuple[str, str], labels: Sequence[str], samples: Iterable[tuple[Sequence[str], float]]) -> GaugeMetricFamily:
    """A gauge with a sample for each of a job's labels."""
    family = GaugeMetricFamily(PREFIX + named[0], named[1], labels=labels)
    for values, amount in samples:
        family.add_metric(values, amount)
    return family


def _states(named: tuple[str, str], kinds: type[RunState] | type[Problem], of: Iterable[tuple[str, Iterable[str]]]) -> StateSetMetricFamily:
    """A sample of each job and kind, so that what is over is 0 and does not vanish."""
    family = StateSetMetricFamily(PREFIX + named[0], named[1], labels=["job"])
    for job, now in of:
        family.add_metric([job], {str(kind): kind in now for kind in kinds})
    return family


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """Prometheus' text, or OpenMetrics where the scraper accepts that."""
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    figures = Figures(request.app.state.face, request.app.state.role)
    return Response(await run_in_threadpool(_exposed, figures, encode), media_type=content_type)


def _exposed(figures: Figures, encode: Callable[[CollectorRegistry], bytes]) -> bytes:
    return encode(_registry(figures))


def _registry(figures: Figures) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(figures)
    ProcessCollector(registry=registry)
    return registry


def readings(face: Face) -> list[Reading]:
    """All that a scrape of the server that has the workspace would find now, sample by sample."""
    return [
        Reading(sample.name, family.documentation, family.type == "counter", sample.labels, sample.value)
        for family in _registry(Figures(face, ServerRole.ACTIVE)).collect()
        for sample in family.samples
    ]
