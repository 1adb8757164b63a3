"""How a job goes on with what it was not begun with: as which version, with what changes, and how it is watched."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.verbs.migrating import Migrating
from pipelines.verbs.probation import OnProbation
from pipelines.verbs.resources import Taking
from pipelines.verbs.revision import FORCE, NEW_QUERY, Revision
from pipelines.verbs.verb import option


@dataclass(frozen=True, kw_only=True)
class GoingOn(OnProbation, Migrating, Taking, Revision):
    """What a resume and an upgrade share."""

    version: str = option("Go on as this version, one that the job ran before; as the last one if not given.", "", metavar="VERSION")
    new_queries: tuple[str, ...] = option(NEW_QUERY, (), flag="--new-query", metavar="QUERY")
    force: bool = option(FORCE, False, flag="--force")

    def needs(self) -> Role:
        """Whoever changes what runs is its author; going on with what ran before takes an operator."""
        return Role.AUTHOR if self.is_revised or self.is_migrated else Role.OPERATOR

    def left_to_server(self) -> str:
        return "the new code's probation is watched" if self.probation_batches is not None or self.probation_ms is not None else ""
