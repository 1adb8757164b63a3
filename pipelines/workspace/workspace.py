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
    sealing,
    stops,
    versions,
)
from pipelines.workspace.parts import Parts
from pipelines.workspace.savepoint_verbs import SavepointVerbs


class Workspace(SavepointVerbs):
    """An opened workspace; `opening.open_workspace` makes one. Safe to use from several threads."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._sealer = sealing.Sealer(parts)

    @property
    def layout(self) -> Layout:
        """Where its files are."""
        return self.parts.layout

    @property
    def changed(self) -> threading.Event:
        """Set when somebody asked for something that the supervisor should look at now."""
        return self.parts.changed

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
        same.parts = replace(self.parts, actor=actor)
        return same

    def close(self) -> None:
        """Gives the catalog back; drivers run on."""
        self._sealer.stop()
        operations.end_all(self.parts)
        self.parts.catalog.close()

    # jobs

    def jobs(self) -> Sequence[JobSummary]:
        return jobs.summaries(self.parts)

    def health(self, *, span_ms: int = 900_000) -> Health:
        return jobs.health(self.parts, span_ms)

    def job(self, job: str) -> JobDetail:
        return jobs.detail(self.parts, job)

    def run(self, request: RunRequest) -> Run:
        return runs.begin(self.parts, request)

    def stop(self, job: str, request: StopRequest) -> Operation:
        return stops.stop(self.parts, job, request)

    def resume(self, job: str, request: ResumeRequest) -> Run | RestorePlan:
        return resumes.resume(self.parts, job, request)

    def attach(self, request: AttachRequest) -> Run:
        return attachments.attach(self.parts, request)

    def forget(self, job: str) -> None:
        jobs.forget(self.parts, job)

    def logs(self, job: str, *, run: str = "", offset: int = -20_000, limit: int = 200_000) -> LogChunk:
        return logs.chunk(self.parts, job, run=run, offset=offset, limit=limit)

    def retained(self, job: str) -> Sequence[RetainedBatch]:
        return savepoints.retained(self.parts, job)

    def batches(self, job: str, *, limit: int = 100) -> Sequence[BatchRow]:
        return jobs.batches(self.parts, job, limit)

    def series(self, job: str, *, from_ms: int, to_ms: int, points: int = 600) -> Series:
        return jobs.series(self.parts, job, from_ms, to_ms, points)

    def event_series(self, job: str, *, points: int = 600) -> Series:
        return jobs.event_series(self.parts, job, points)

    def operators(self, job: str) -> Sequence[QueryOperators]:
        return operators.newest(self.parts, job)

    def plan(self, job: str, *, query: str = "") -> Sequence[QueryPlan]:
        return operators.plans(self.parts, job, query)

    def events(self, job: str = "", *, limit: int = 200, wanted: EventFilter = EVERY) -> Sequence[Event]:
        return events.newest(self.parts, replace(wanted, job=job or wanted.job), limit)

    def operation(self, operation: str) -> Operation:
        return operations.get(self.parts, operation)

    def operations(self, *, running: bool = False) -> Sequence[Operation]:
        return operations.newest_first(self.parts, running=running)

    def cancel(self, operation: str) -> Operation:
        return operations.cancel(self.parts, operation)

    # versions

    def version(self, version: str) -> Version:
        return versions.get(self.parts, version)

    def tree(self) -> Tree:
        return experiments.tree(self.parts)

    def differences(self, a: str, b: str) -> Differences:
        return differences.differences(self.parts, a, b)

    # experiments

    def experiments(self) -> Sequence[Experiment]:
        return experiments.newest_first(self.parts)

    def experiment(self, experiment: str) -> Experiment:
        return experiments.get(self.parts, experiment)

    def start_experiment(self, request: ExperimentRequest) -> Experiment:
        return experiments.start(self.parts, request)

    def compare(self, request: CompareRequest) -> Comparison:
        return compare.compare(self.parts, request)

    def intervals(self, a: str, b: str, query: str = "") -> Sequence[Interval]:
        return intervals.intervals(self.parts, a, b, query)

    def promote(self, job: str, request: PromoteRequest) -> Operation | PromotePlan:
        return promotions.promote(self.parts, job, request)

    def drop(self, job: str, request: DropRequest) -> Operation | DropPlan:
        return decisions.drop(self.parts, job, request)

    def undrop(self, job: str, request: UndropRequest) -> UndropPlan:
        return decisions.undrop(self.parts, job, request)

    # the workspace itself

    def start_example(self) -> Sequence[Run]:
        return example.start(self.parts)

    def about(self) -> About:
        return about.about(self.parts)

    def rebuild_catalog(self) -> dict[str, int]:
        return rebuild.rebuild(self.parts)
