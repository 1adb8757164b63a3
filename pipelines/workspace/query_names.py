"""The names of the queries that a run should start, because their state is there: a renamed one would silently begin anew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pipelines.checkpoint import metadata
from pipelines.domain.jobs import Run
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version
from pipelines.workspace import versions
from pipelines.workspace.context import Context


@dataclass(frozen=True)
class QueryNames:
    """`RunSpec.expected` and `RunSpec.new_queries`."""

    expected: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


ANY = QueryNames()
"""Nothing is expected: every query may start."""


def restored(manifest: Manifest, new: Iterable[str]) -> QueryNames:
    """The names for a run that begins with a savepoint: the queries that it holds."""
    return QueryNames(tuple(sorted(image.query for image in manifest.queries)), tuple(new))


def continued(context: Context, newest: Run, version: Version, new: Iterable[str]) -> QueryNames:
    """The names for a run that goes on with the checkpoints of `newest`.

    With other code or arguments these are the queries that have a checkpoint, else those of the run before: if that was refused for a
    renamed query, the next one is refused too.
    """
    before, spec = versions.get(context, newest.version), context.files.spec(newest.job, newest.id)
    if (version.code, version.args) == (before.code, before.args):
        return QueryNames(spec.expected, (*spec.new_queries, *new))
    return QueryNames(tuple(sorted(_begun(Path(newest.checkpoints)))), tuple(new))


def _begun(checkpoints: Path) -> list[str]:
    return [folder.name for folder in checkpoints.iterdir() if (folder / metadata.FILE).is_file()] if checkpoints.is_dir() else []
