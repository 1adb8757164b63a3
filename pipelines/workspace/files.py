"""The workspace's own documents: typed values in, whole files out. Files are the truth; the catalog only indexes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from pipelines.domain.alerts import AlertSettings, AlertStates
from pipelines.domain.bisections import Bisection
from pipelines.domain.edges import EDGE_FILE, Edge
from pipelines.domain.errors import NotFound, TidemarkError
from pipelines.domain.experiments import Experiment
from pipelines.domain.homes import Home, HomeSettings
from pipelines.domain.ids import BisectionId, ExperimentId, JobName, ReplayId, RunId, SavepointId, VersionId
from pipelines.domain.installed import INSTALLED_FILE, Installed
from pipelines.domain.jobs import Job, Wanted
from pipelines.domain.masters import CLUSTER_FILE, Cluster
from pipelines.domain.processes import PROCESS_FILE, Process
from pipelines.domain.replays import Replay
from pipelines.domain.run_specs import SPEC_FILE, RunSpec
from pipelines.domain.runs import EXIT_FILE, Exit
from pipelines.domain.schedules import Schedule
from pipelines.domain.versions import Version
from pipelines.domain.what_ifs import WhatIf
from pipelines.storage import documents
from pipelines.storage.addresses import open_storage
from pipelines.storage.chain import ChainFile
from pipelines.storage.layout import Layout
from pipelines.workspace import life

K = TypeVar("K")
T = TypeVar("T")
AUDIT_VARIABLE, AUDIT_BYTES = "TIDEMARK_AUDIT_BYTES", 16 * 2**20
"""From how large on the audit's file is sealed; 0 for never."""


class Files:
    """Reads and writes the documents of one workspace; each write is whole or not at all, and on disk when it returns."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._storage = open_storage(str(layout.root))
        most_bytes = int(os.environ.get(AUDIT_VARIABLE, AUDIT_BYTES))
        self.audit = ChainFile(layout.audit_file, layout.sealed_audit, self._storage, most_bytes)
        self.check: Callable[[], object] = lambda: None
        """Called before each write and removal: raises Unavailable while the workspace may be another process's (`lease`)."""

    def read(self, kind: type[T], path: Path) -> T:
        """The `kind` in `path`; raises NotFound (`storage.not_found`) or Corrupt (`document.malformed`)."""
        name = self._name(path)
        return documents.decode(kind, self._storage.read(name), name)

    def find(self, kind: type[T], path: Path) -> T | None:
        """Like `read`, None for a file that is not there."""
        try:
            return self.read(kind, path)
        except NotFound:
            return None

    def write(self, path: Path, value: object) -> None:
        self.write_bytes(path, documents.encode(value))

    def write_bytes(self, path: Path, data: bytes) -> None:
        self.check()
        self._storage.write(self._name(path), data)

    def remove(self, path: Path) -> None:
        """Deletes a document; nothing where it is not there."""
        self.check()
        path.unlink(missing_ok=True)

    def _name(self, path: Path) -> str:
        return path.relative_to(self.layout.root).as_posix()

    # what there is

    def job_names(self) -> list[JobName]:
        """Jobs that were begun in full: `wanted.json` is the last file of a beginning. One that shows signs of life has only lost it."""
        return [JobName(name) for name in _folders(self.layout.jobs) if self.has_begun(JobName(name))]

    def has_begun(self, job: JobName) -> bool:
        """Whether `job` is listed: begun in full, whatever it has lost since."""
        return self.layout.wanted_file(job).exists() or life.in_job(self.layout.job(job))

    def run_ids(self, job: JobName) -> list[RunId]:
        runs = self.layout.runs(job)
        return [RunId(name) for name in _folders(runs) if os.path.isfile(f"{runs}/{name}/{SPEC_FILE}")]

    def lost_runs(self, job: JobName) -> list[RunId]:
        """Runs that were started and have lost their `run.json`, without which nothing else of them can be read."""
        runs = self.layout.runs(job)
        return [RunId(name) for name in _folders(runs) if not os.path.isfile(f"{runs}/{name}/{SPEC_FILE}") and life.in_run(runs / name)]

    def version_ids(self) -> list[VersionId]:
        return [VersionId(name) for name in _folders(self.layout.versions) if self.layout.version_file(VersionId(name)).is_file()]

    def home_ids(self) -> list[SavepointId]:
        return [SavepointId(path.stem) for path in sorted(self.layout.homes.glob("[!.]*.json"))]

    def experiment_ids(self) -> list[ExperimentId]:
        return [ExperimentId(path.stem) for path in sorted(self.layout.experiments.glob("[!.]*.json"))]

    def replay_ids(self) -> list[ReplayId]:
        return [ReplayId(path.stem) for path in sorted(self.layout.replays.glob("[!.]*.json"))]

    def bisection_ids(self) -> list[BisectionId]:
        return [BisectionId(path.stem) for path in sorted(self.layout.bisections.glob("[!.]*.json"))]

    def usual_schedule(self) -> Schedule:
        """The workspace's, which jobs lay theirs over."""
        return self.find(Schedule, self.layout.schedule_file) or Schedule()

    def usual_home(self) -> HomeSettings:
        """Where new savepoints are kept, of every job that does not say otherwise."""
        return self.find(HomeSettings, self.layout.usual_home_file) or HomeSettings()

    def alert_settings(self) -> AlertSettings:
        return self.find(AlertSettings, self.layout.alerts_file) or AlertSettings()

    def alert_states(self) -> AlertStates:
        return self.find(AlertStates, self.layout.alert_states_file) or AlertStates()

    # one of each

    def job(self, job: JobName) -> Job | None:
        return self.find(Job, self.layout.job_file(job))

    def wanted(self, job: JobName) -> Wanted:
        return self.find(Wanted, self.layout.wanted_file(job)) or Wanted(None)

    def what_if(self, job: JobName) -> WhatIf | None:
        return self.find(WhatIf, self.layout.what_if_file(job))

    def spec(self, job: JobName, run: RunId) -> RunSpec:
        return self.read(RunSpec, self.layout.run(job, run) / SPEC_FILE)

    def edge(self, job: JobName, run: RunId) -> Edge | None:
        """None of a run that began without state, of restarts, and of runs before it was noted."""
        return self.find(Edge, self.layout.run(job, run) / EDGE_FILE)

    def process(self, job: JobName, run: RunId) -> Process | None:
        return self.find(Process, self.layout.run(job, run) / PROCESS_FILE)

    def installed(self, job: JobName, run: RunId) -> Installed | None:
        """What the run stands on; None before its first query starts, and of a run that no driver of ours executes."""
        return self.find(Installed, self.layout.run(job, run) / INSTALLED_FILE)

    def cluster(self, job: JobName, run: RunId) -> Cluster | None:
        """Where the run's Spark is; None before its first query starts, and of a run that no driver of ours executes."""
        return self.find(Cluster, self.layout.run(job, run) / CLUSTER_FILE)

    def exit(self, job: JobName, run: RunId) -> Exit | None:
        return self.find(Exit, self.layout.run(job, run) / EXIT_FILE)

    def version(self, version: VersionId) -> Version | None:
        return self.find(Version, self.layout.version_file(version))

    def home(self, savepoint: SavepointId) -> Home | None:
        """Where the savepoint lies; None for one in the workspace."""
        return self.find(Home, self.layout.home_file(savepoint))

    def keeps(self, savepoint: SavepointId) -> bool:
        """Whether a savepoint is in the workspace, or noted to lie elsewhere."""
        return self.layout.savepoint(savepoint).is_dir() or self.layout.home_file(savepoint).exists()

    def experiment(self, experiment: ExperimentId) -> Experiment | None:
        return self.find(Experiment, self.layout.experiment_file(experiment))

    def replay(self, replay: ReplayId) -> Replay | None:
        return self.find(Replay, self.layout.replay_file(replay))

    def bisection(self, bisection: BisectionId) -> Bisection | None:
        return self.find(Bisection, self.layout.bisection_file(bisection))


def readable(find: Callable[[K], T | None], keys: Iterable[K], wrong: list[TidemarkError]) -> tuple[T, ...]:
    """The documents that `find` returns for `keys`; errors of those that cannot be read go to `wrong`, and the others are still read."""
    documents: list[T] = []
    for key in keys:
        try:
            document = find(key)
        except TidemarkError as error:
            wrong.append(error)
            continue
        if document is not None:
            documents.append(document)
    return tuple(documents)


def _folders(parent: Path) -> list[str]:
    """Names of the folders in `parent` that are not hidden (those are in the making, or half gone), in their order. An opening asks for all
    of them several times: no path is made of each."""
    try:
        with os.scandir(parent) as entries:
            return sorted(entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []
