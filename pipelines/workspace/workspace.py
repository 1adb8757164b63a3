"""The workspace as its users see it (`Face`): one method a use case, each done by the module of its noun."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from pipelines.domain.about import About
from pipelines.domain.decisions import DropPlan, PromotePlan, UndropPlan
from pipelines.domain.differences import Differences
from pipelines.domain.events import EVERY, EventFilter
from pipelines.domain.experiments import BatchRow, Comparison, Experiment, Health, Series, Tree
from pipelines.domain.intervals import Interval
from pipelines.domain.jobs import Event, JobDetail, JobSummary, LogChunk, Run
from pipelines.domain.operations import Operation
from pipelines.domain.operators import QueryOperators
from pipelines.domain.plans import QueryPlan
from pipelines.domain.requests import (
    AttachRequest,
    CompareRequest,
    DropRequest,
    ExperimentRequest,
    PromoteRequest,
    ResumeRequest,
    RunRequest,
    StopRequest,
    UndropRequest,
)
from pipelines.domain.savepoints import RestorePlan, RetainedBatch
from pipelines.domain.versions import Version
from pipelines.storage.layout import Layout
from pipelines.workspace import (
    about,
    attachments,
    checksums,
    compare,
    decisions,
    differences,
    events,
    example,
    experiments,
    intervals,
    jobs,
    logs,
    operations,
    operators,
    promotions,
    rebuild,
    resumes,
    runs,
    savepoints,
    stops,
    versions,
)
from pipelines.workspace.context import Context
from pipelines.workspace.savepoint_verbs import SavepointVerbs


class Workspace(SavepointVerbs):
    """An opened workspace; `opening.open_workspace` makes one. Safe to use from several threads."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._sealer = checksums.Sealer(context)

    @property
    def layout(self) -> Layout:
        """Where its files are."""
        return self.context.layout

    @property
    def changed(self) -> threading.Event:
        """Set when somebody asked for something that the supervisor should look at now."""
        return self.context.changed

    @property
    def background(self) -> bool:
        """Whether new savepoints are sealed (their checksums computed) by a thread beside the call; a server sets it."""
        return self._sealer.running

    @background.setter
    def background(self, wanted: bool) -> None:
        if wanted:
            self._sealer.start()
        else:
            self._sealer.stop()

    def acting(self, actor: str) -> Workspace:
        """The same workspace; events of what is done through this one name `actor`."""
        same = copy(self)
        same.context = replace(self.context, actor=actor)
        return same

    def close(self) -> None:
        """Gives the catalog back; drivers run on."""
        self._sealer.stop()
        operations.end_all(self.context)
        self.context.catalog.close()

    # jobs

    def jobs(self) -> Sequence[JobSummary]:
        return jobs.summaries(self.context)

    def health(self, *, span_ms: int = 900_000) -> Health:
        return jobs.health(self.context, span_ms)

    def job(self, job: str) -> JobDetail:
        return jobs.detail(self.context, job)

    def run(self, request: RunRequest) -> Run:
        return runs.begin(self.context, request)

    def stop(self, job: str, request: StopRequest) -> Operation:
        return stops.stop(self.context, job, request)

    def resume(self, job: str, request: ResumeRequest) -> Run | RestorePlan:
        return resumes.resume(self.context, job, request)

    def attach(self, request: AttachRequest) -> Run:
        return attachments.attach(self.context, request)

    def forget(self, job: str) -> None:
        jobs.forget(self.context, job)

    def logs(self, job: str, *, run: str = "", offset: int = -20_000, limit: int = 200_000) -> LogChunk:
        return logs.chunk(self.context, job, run=run, offset=offset, limit=limit)

    def retained(self, job: str) -> Sequence[RetainedBatch]:
        return savepoints.retained(self.context, job)

    def batches(self, job: str, *, limit: int = 100) -> Sequence[BatchRow]:
        return jobs.batches(self.context, job, limit)

    def series(self, job: str, *, from_ms: int, to_ms: int, points: int = 600) -> Series:
        return jobs.series(self.context, job, from_ms, to_ms, points)

    def event_series(self, job: str, *, points: int = 600) -> Series:
        return jobs.event_series(self.context, job, points)

    def operators(self, job: str) -> Sequence[QueryOperators]:
        return operators.newest(self.context, job)

    def plan(self, job: str, *, query: str = "") -> Sequence[QueryPlan]:
        return operators.plans(self.context, job, query)

    def events(self, job: str = "", *, limit: int = 200, wanted: EventFilter = EVERY) -> Sequence[Event]:
        return events.newest(self.context, replace(wanted, job=job or wanted.job), limit)

    def operation(self, operation: str) -> Operation:
        return operations.get(self.context, operation)

    def operations(self, *, running: bool = False) -> Sequence[Operation]:
        return operations.newest_first(self.context, running=running)

    def cancel(self, operation: str) -> Operation:
        return operations.cancel(self.context, operation)

    # versions

    def version(self, version: str) -> Version:
        return versions.get(self.context, version)

    def tree(self) -> Tree:
        return experiments.tree(self.context)

    def differences(self, a: str, b: str) -> Differences:
        return differences.differences(self.context, a, b)

    # experiments

    def experiments(self) -> Sequence[Experiment]:
        return experiments.newest_first(self.context)

    def experiment(self, experiment: str) -> Experiment:
        return experiments.get(self.context, experiment)

    def start_experiment(self, request: ExperimentRequest) -> Experiment:
        return experiments.start(self.context, request)

    def compare(self, request: CompareRequest) -> Comparison:
        return compare.compare(self.context, request)

    def intervals(self, a: str, b: str, query: str = "") -> Sequence[Interval]:
        return intervals.intervals(self.context, a, b, query)

    def promote(self, job: str, request: PromoteRequest) -> Operation | PromotePlan:
        return promotions.promote(self.context, job, request)

    def drop(self, job: str, request: DropRequest) -> Operation | DropPlan:
        return decisions.drop(self.context, job, request)

    def undrop(self, job: str, request: UndropRequest) -> UndropPlan:
        return decisions.undrop(self.context, job, request)

    # the workspace itself

    def start_example(self) -> Sequence[Run]:
        return example.start(self.context)

    def about(self) -> About:
        return about.about(self.context)

    def rebuild_catalog(self) -> dict[str, int]:
        return rebuild.rebuild(self.context)
