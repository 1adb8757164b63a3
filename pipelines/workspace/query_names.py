"""The names of the queries that a run should start, because their state is there: a renamed one would silently begin anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pipelines.checkpoint import metadata
from pipelines.domain.ids import folder_of
from pipelines.domain.jobs import Run
from pipelines.domain.runs import QueryStarted
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version
from pipelines.storage import folders
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from pipelines.workspace import versions
from pipelines.workspace.context import Context


@dataclass(frozen=True)
class QueryNames:
    """`RunSpec.expected`, `RunSpec.new_queries` and `RunSpec.locations`."""

    expected: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    locations: Mapping[str, str] = field(default_factory=dict)


ANY = QueryNames()
"""Nothing is expected: every query may start."""


def restored(manifest: Manifest, new: Iterable[str]) -> QueryNames:
    """The names for a run that begins with a savepoint: the queries that it holds."""
    locations: dict[str, str] = {image.query: image.location for image in manifest.queries}
    return QueryNames(tuple(sorted(locations)), tuple(new), locations)


def continued(context: Context, newest: Run, version: Version, new: Iterable[str], started: Iterable[QueryStarted]) -> QueryNames:
    """The names for a run that goes on with the checkpoints of `newest`, on which `started` have been at work, oldest first.

    With other code or arguments these are the queries that have a checkpoint, else those of the run before: if that was refused for a
    renamed query, the next one is refused too.
    """
    before, spec = versions.get(context, newest.version), context.files.spec(newest.job, newest.id)
    locations: dict[str, str] = {**spec.locations, **{query.query: query.location for query in started}}
    if (version.code, version.files, version.args) == (before.code, before.files, before.args):
        return QueryNames(spec.expected, (*spec.new_queries, *new), locations)
    names = {folder_of(name): name for name in (*spec.expected, *locations)}
    begun = (names.get(folder, folder) for folder in _begun(open_storage(newest.checkpoints)))
    return QueryNames(tuple(sorted(begun)), tuple(new), locations)


def _begun(checkpoints: Storage) -> list[str]:
    return [folder for folder in folders.children(checkpoints) if folders.taken(checkpoints, f"{folder}/{metadata.FILE}")]
