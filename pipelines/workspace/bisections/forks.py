"""Forks that run batches of a bisection again, where their rows are to be had in no other way."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import BisectionId, JobName
from pipelines.domain.lockstep import GONE
from pipelines.domain.savepoints import Manifest
from pipelines.domain.what_ifs import WhatIf
from pipelines.verbs.fork import Variant
from pipelines.workspace import forks, what_ifs
from pipelines.workspace.bisections.stretches import Stretch
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket

KEEPS = {"spark.sql.streaming.fileSink.log.deletion": "false"}
"""So that the sink's log of a fork tells its batches apart for as long as it is asked."""


@dataclass
class Forks:
    """The forks of one bisection."""

    context: Context
    bisection: BisectionId
    stretch: Stretch
    begun: list[JobName] = field(default_factory=list)

    def run(self, base: Manifest, until: int, ticket: Ticket) -> JobName:
        """A fork of `base` that ran the job's own code up to batch `until`. Raises Conflict where the code changed in between
        (`bisect.versions`) or failed (`bisect.failed`), or the batches are gone (`lockstep.gone`)."""
        stretch = self.stretch
        _require_one_version(stretch, base, until)
        if stretch.line is None or until not in stretch.line.times_ms:
            message = f"Batch {until} of query {stretch.query} can be neither looked up nor run again: its offsets are gone."
            raise Conflict(GONE, message, "Choose savepoints that are newer, or nearer to each other.")
        name = JobName(self.context.new_id("bisect"))
        conf = {**base.version.conf, **KEEPS}
        variant = Variant(name=name, sinks={"*": "fresh"}, conf=conf, until_ms=stretch.line.times_ms[until])
        fork = forks.plan_variant(self.context, base, variant)
        self.begun.append(name)
        what_ifs.begin(self.context, fork, WhatIf(self.bisection), ticket)
        following = fork.plan.lock_step
        failure = what_ifs.ended(self.context, name, following.ready if following else {}, ticket, "running batches again")
        if failure:
            raise Conflict("bisect.failed", f"The job's code failed when its batches were run again: {failure}", f"See its log: {name}.")
        return name

    def close(self) -> None:
        """Removes them."""
        for job in self.begun:
            what_ifs.remove(self.context, job)


def _require_one_version(stretch: Stretch, base: Manifest, until: int) -> None:
    after = min((manifest for manifest in stretch.every if stretch.batch(manifest) >= until), key=stretch.batch)
    if after.version.id != base.version.id:
        message = f"The code of {stretch.job} changed between batches {stretch.batch(base)} and {stretch.batch(after)}"
        hint = "Its batches cannot be run again as they were. Bisect between savepoints of one version."
        raise Conflict("bisect.versions", message, hint)
