"""Restores of a savepoint into a new run's checkpoint: the engine's target for a fork and for a resume."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from pipelines.domain import masters, secrets
from pipelines.domain.conversions import ConversionPlan, StateStore
from pipelines.domain.ids import JobName, QueryName, RunId
from pipelines.domain.job_places import is_remote
from pipelines.domain.migrations import Migration, MigrationPlan
from pipelines.domain.operators import PARTITIONS_CONF
from pipelines.domain.pinned_confs import PROVIDER_CONF, ignored
from pipelines.domain.restores import RestorePlan
from pipelines.domain.rewrites import RewritePlan
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version
from pipelines.savepoint import conversion, rescaling, restore
from pipelines.savepoint.adoptions import Adopting
from pipelines.savepoint.passing import Passing
from pipelines.savepoint.rescaling import Held
from pipelines.verbs.fork import Variant
from pipelines.workspace import cluster_copies, conversions, job_places, migrations, rewrites, snapshot_versions
from pipelines.workspace.aggregations import Asked
from pipelines.workspace.context import Context
from pipelines.workspace.migrations import Judged
from pipelines.workspace.tickets import Ticket


@dataclass(frozen=True)
class Restoring:
    """One restore: look at its plan, or carry it out."""

    context: Context
    manifest: Manifest
    target: restore.Target
    version: Version
    """What the run will execute."""
    partitions: int | None = None
    """Of the state, where that is to be rescaled."""
    store: StateStore | None = None
    """Of the state, where that is to be converted."""
    migrate: Asked | None = None
    """How the state is to be rewritten for changed code, where it is."""

    def plan(self) -> RestorePlan:
        plan = restore.plan(self.context.shelf(self.manifest.id), self.manifest, self.target, self._open)
        migrated, convert, rewrite = self._rewriting()
        refusal = next((step.refusal for step in (migrated, convert, rewrite) if step and step.refusal), None)
        warnings = (*plan.warnings, *self._ignored(), *self._remarks())
        plan = replace(plan, master=self.version.master, master_before=self.manifest.version.master, warnings=warnings)
        return replace(plan, migration=migrated, conversion=convert, rewrite=rewrite, refusal=plan.refusal or refusal)

    def apply(
        self, ticket: Ticket, note: Callable[[Migration], None] = lambda migration: None, judged: Judged | None = None
    ) -> dict[str, str]:
        """Makes the checkpoints, fits them to another Spark, migrates their state, converts it, and rescales it; answers with the sink logs
        to carry (query -> directory). `note` is told what was migrated; `judged` is the migration's."""
        migrated, convert, rewrite = self._rewriting()
        shelf, now_ms = self.context.shelf(self.manifest.id), self.context.now_ms()
        restored = restore.restore(shelf, self.manifest.id, self.target, now_ms, self._open, watch=ticket)
        logs = {str(query): folder for query, folder in restored.sink_logs.items()}
        manifest = self.manifest
        snapshot_versions.fit(self.context, manifest, self.version, restored.checkpoints)
        if migrated or convert or rewrite:
            job_places.hand_over(job_places.of_job(self.context, self.target.job), restored.checkpoints)
        if migrated is not None and self.migrate is not None:
            note(migrations.migrate(self.context, manifest, self.version, self.migrate, migrated, self.target, ticket, judged))
        if convert is not None:
            manifest = conversions.convert(self.context, manifest, self.version, convert, restored.checkpoints, ticket)
        if rewrite is not None:
            rewrites.rewrite(self.context, manifest, self.version, rewrite, restored.checkpoints, logs, ticket)
        return logs

    @property
    def _open(self) -> restore.Open:
        return cluster_copies.opening(self.context, self.version)

    def _remarks(self) -> tuple[str, ...]:
        placed = masters.remarks(self.version.master, self.version.conf, at_home=is_remote(self.target.checkpoints))
        return (*placed, *secrets.literals(self.version.conf))

    def _rewriting(self) -> tuple[MigrationPlan | None, ConversionPlan | None, RewritePlan | None]:
        """What is done with the copy's state, in this order."""
        if self.migrate is None and self.store is None and self.partitions is None:
            return None, None, None
        held = rescaling.of_savepoint(self.context.shelf(self.manifest.id), self.manifest)
        migrated = migrations.plan(held, self.migrate, self._spark_version) if self.migrate is not None else None
        convert = conversion.plan(held, self.store, self._spark_version) if self.store is not None else None
        return migrated, convert, self._rescaling(conversion.converted(held, convert) if convert else held)

    def _ignored(self) -> Iterator[str]:
        """What the confs ask for, and Spark would ignore without a word."""
        asked = {PROVIDER_CONF: self.store, PARTITIONS_CONF: self.partitions}
        moved = [conf for conf, value in asked.items() if value is not None]
        return ignored(self.manifest.queries, self.manifest.version.conf, self.version.conf, moved)

    def _rescaling(self, held: Held) -> RewritePlan | None:
        return rescaling.plan(held, self.partitions, self._spark_version) if self.partitions is not None else None

    @property
    def _spark_version(self) -> str:
        """That of the Spark that will do it, empty where that is not known yet."""
        return self.manifest.spark_version if self.version.python == self.manifest.version.python else ""


def of_fork(
    context: Context,
    manifest: Manifest,
    job: JobName,
    run: RunId,
    version: Version,
    variant: Variant,
    place: str = "",
    replaced: Mapping[QueryName, Mapping[str, bytes]] | None = None,
) -> Restoring:
    """The restore of `manifest` into the checkpoints that `run` of the new `job` begins, whose folder at a home is `place`, with what is
    `replaced` in them; Invalid for a migration that cannot be read."""
    checkpoints, given = job_places.checkpoints(context, job, run, place), job_places.parent_output(context, manifest)
    output = job_places.output(context, job, place)
    warehouse = str(context.layout.warehouse(job))
    target = restore.Fork(job, checkpoints, version, given, context.new_query_id, variant.sinks, output, warehouse, replaced or {})
    migrate = migrations.asked(variant, variant.new_queries, is_last=variant.partitions is None and variant.store is None)
    return Restoring(context, manifest, target, version, variant.partitions, variant.store, migrate)


def of_resume(
    context: Context,
    manifest: Manifest,
    job: JobName,
    run: RunId,
    version: Version,
    partitions: int | None = None,
    migrate: Asked | None = None,
    passing: Passing | None = None,
) -> Restoring:
    """The restore of `manifest`, one of `job`'s own, into the checkpoints that its `run` of `version` begins."""
    replaced = {passing.query: passing.written} if passing is not None else {}
    target = restore.Resume(job, job_places.next_checkpoints(context, job, run), replaced)
    return Restoring(context, manifest, target, version, partitions, migrate=migrate)


def of_adoption(
    context: Context, manifest: Manifest, job: JobName, run: RunId, version: Version, queries: Mapping[QueryName, Adopting]
) -> Restoring:
    """The restore of `manifest`, one of a variant of `job`, into the checkpoints that its `run` of `version` begins."""
    target = restore.Adopt(job, job_places.next_checkpoints(context, job, run), queries)
    return Restoring(context, manifest, target, version)
