"""Verdicts that are known without planning: of a savepoint's own version, and what checks have found."""

from __future__ import annotations

from pipelines.domain import verdicts
from pipelines.domain.savepoints import Manifest
from pipelines.domain.verdicts import Verdict
from pipelines.domain.versions import Version
from pipelines.workspace.context import Context


def known(context: Context, manifest: Manifest, version: Version) -> Verdict | None:
    """The verdict on `version` going on from the savepoint; None where it would have to be checked. No Spark is started."""
    if version.id == manifest.version.id:
        return verdicts.unchanged(manifest.id, version.id, [image.query for image in manifest.begun])
    return context.verdicts.get((manifest.id, version.id))


def keep(context: Context, verdict: Verdict) -> None:
    context.verdicts[verdict.savepoint, verdict.version] = verdict
