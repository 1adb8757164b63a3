"""Where things are in a workspace: every path of it is built here. `data/README.md` specifies the files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pipelines.domain.ids import BisectionId, ExperimentId, JobName, OperationId, ReplayId, RunId, SavepointId, VersionId
from pipelines.storage.cache_layout import CacheLayout

WORKSPACE_FORMAT = 1
OUTPUT, WAREHOUSE = "output", "warehouse"
"""Folders of a job that others may read, as far as the user's umask lets them: files, and tables."""
SIGN_OUTS = "sign-outs"
"""Sign-ins with a provider that were ended before their time."""


@dataclass(frozen=True)
class Layout(CacheLayout):
    """The paths of one workspace."""

    @property
    def workspace_file(self) -> Path:
        return self.root / "workspace.json"

    @property
    def schedule_file(self) -> Path:
        """When savepoints are taken by themselves, of every job that does not say otherwise."""
        return self.root / "schedule.json"

    @property
    def usual_home_file(self) -> Path:
        """Where new savepoints are kept, of every job that does not say otherwise."""
        return self.root / "home.json"

    @property
    def alerts_file(self) -> Path:
        """Alert rules of every job, the channels of their messages, and silences."""
        return self.root / "alerts.json"

    @property
    def alert_states_file(self) -> Path:
        """Alerts that hold, and what was said of them."""
        return self.root / "alert-states.json"

    @property
    def server_file(self) -> Path:
        """Where a running server says its URL and process, for the command line."""
        return self.root / "server.json"

    @property
    def lease(self) -> Path:
        """The lease of the workspace: a file for each renewal, named by a number; the highest counts."""
        return self.root / "lease"

    @property
    def key_file(self) -> Path:
        """The key of the workspace's owner."""
        return self.root / "access.key"

    @property
    def tokens_file(self) -> Path:
        """Digests of the named tokens."""
        return self.root / "tokens.json"

    @property
    def audit_file(self) -> Path:
        """Who did what: a chain of lines, each with the hash of the one before."""
        return self.root / "audit.jsonl"

    @property
    def sealed_audit(self) -> Path:
        """What it had before: compressed files, which never change."""
        return self.root / "audit"

    @property
    def idempotency(self) -> Path:
        return self.root / "idempotency"

    @property
    def catalog_file(self) -> Path:
        return self.root / "catalog.duckdb"

    @property
    def events_file(self) -> Path:
        """Events of the workspace, one JSON line each (what drivers report is in their runs)."""
        return self.root / "events.jsonl"

    @cached_property
    def jobs(self) -> Path:
        return self.root / "jobs"

    @property
    def versions(self) -> Path:
        return self.root / "versions"

    @property
    def large_files(self) -> Path:
        """Files that are too large for a version, each in a folder that is called by its SHA-256."""
        return self.root / "large"

    @property
    def savepoints(self) -> Path:
        return self.root / "savepoints"

    @property
    def experiments(self) -> Path:
        return self.root / "experiments"

    @property
    def replays(self) -> Path:
        return self.root / "replays"

    @property
    def bisections(self) -> Path:
        return self.root / "bisections"

    @property
    def homes(self) -> Path:
        """Where savepoints lie that are not in the workspace, a note for each."""
        return self.root / "homes"

    def home_file(self, savepoint: SavepointId) -> Path:
        return self.homes / f"{savepoint}.json"

    @property
    def untagging(self) -> Path:
        """The tags in Iceberg tables that go with savepoints which are being disposed of, a note for each savepoint."""
        return self.root / "untagging"

    def untagging_file(self, savepoint: SavepointId) -> Path:
        return self.untagging / f"{savepoint}.json"

    @property
    def exports(self) -> Path:
        """What exports leave if their process dies: where each of them writes to, and what is taken only to be exported."""
        return self.root / "exports"

    def export_file(self, operation: OperationId) -> Path:
        return self.exports / f"{operation}.json"

    def export_library(self, operation: OperationId) -> Path:
        """Holds the savepoint that is taken to another place, until it is there."""
        return self.exports / operation

    @property
    def restores(self) -> Path:
        """A backup that is restored: `copying` until it is whole, then `whole`, on its way to its places."""
        return self.root / "restores"

    @property
    def trash(self) -> Path:
        """What the opening cleaned away, for a week: `<epoch ms>-<name>`."""
        return self.root / "trash"

    @property
    def sandbox(self) -> Path:
        """Scratch folders of work with Spark under way: a restored checkpoint, and what Spark writes while it reads or tries it."""
        return self.root / "sandbox"

    @property
    def warm(self) -> Path:
        """Folders of Spark processes that are up before somebody needs one, and of those that have become drivers since."""
        return self.root / "warm"

    def sandbox_folder(self, operation: OperationId) -> Path:
        return self.sandbox / operation

    def job(self, job: JobName) -> Path:
        return self.jobs / job

    def job_file(self, job: JobName) -> Path:
        return self.job(job) / "job.json"

    def wanted_file(self, job: JobName) -> Path:
        return self.job(job) / "wanted.json"

    def changeover_file(self, job: JobName) -> Path:
        """How a job goes on that is stopped for a change."""
        return self.job(job) / "changeover.json"

    def what_if_file(self, job: JobName) -> Path:
        """What a fork is run for, where a piece of work began it for itself and goes on."""
        return self.job(job) / "what-if.json"

    def output(self, job: JobName) -> Path:
        return self.job(job) / OUTPUT

    def warehouse(self, job: JobName) -> Path:
        """Tables that the job's queries make where nobody says another place, and the catalog that knows them."""
        return self.job(job) / WAREHOUSE

    def checkpoints(self, job: JobName, begun_by: RunId) -> Path:
        """The checkpoints (one folder a query) that the run `begun_by` began and its resumes go on with."""
        return self.job(job) / "checkpoints" / begun_by

    def runs(self, job: JobName) -> Path:
        return self.job(job) / "runs"

    def run(self, job: JobName, run: RunId) -> Path:
        """The run's folder; the file names in it are `pipelines.domain.runs`'s."""
        return self.runs(job) / run

    def version(self, version: VersionId) -> Path:
        return self.versions / version

    def version_file(self, version: VersionId) -> Path:
        return self.version(version) / "version.json"

    def code(self, version: VersionId) -> Path:
        """The folder that holds a version's script, and the files it needs."""
        return self.version(version) / "code"

    def script(self, version: VersionId, script: str) -> Path:
        return self.code(version) / script

    def savepoint(self, savepoint: SavepointId) -> Path:
        return self.savepoints / savepoint

    def of_control(self) -> Iterator[Path]:
        """Everything in the workspace but its jobs, there or not."""
        yield from (self.workspace_file, self.schedule_file, self.usual_home_file, self.alerts_file, self.alert_states_file)
        yield from (self.server_file, self.key_file, self.tokens_file, self.audit_file, self.sealed_audit, self.events_file)
        yield from self.root.glob(f"{self.catalog_file.name}*")
        yield from (self.versions, self.large_files, self.savepoints, self.homes, self.untagging, self.experiments)
        yield from (self.replays, self.bisections)
        yield from (self.root / SIGN_OUTS, self.exports, self.restores, self.trash, self.sandbox, self.warm, self.lease)
        yield from (self.readings.parent, self.idempotency)

    def of_documents(self) -> Iterator[Path]:
        """The folders that the workspace's own documents are written into."""
        yield from (self.root, self.sealed_audit, self.homes, self.untagging, self.exports, self.experiments)
        yield from (self.replays, self.bisections, self.idempotency)
        yield from (path for pattern in ("*", "*/code", "*/code/**") for path in self.versions.glob(pattern))
        for pattern in ("*", "*/runs/*"):
            yield from self.jobs.glob(pattern)

    def experiment_file(self, experiment: ExperimentId) -> Path:
        return self.experiments / f"{experiment}.json"

    def replay_file(self, replay: ReplayId) -> Path:
        return self.replays / f"{replay}.json"

    def bisection_file(self, bisection: BisectionId) -> Path:
        return self.bisections / f"{bisection}.json"
