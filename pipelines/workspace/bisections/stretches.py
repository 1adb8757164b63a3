"""What a bisection looks through: the batches of a query between two savepoints, and the savepoints in between."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.savepoints import Manifest, QueryImage
from pipelines.savepoint import leads
from pipelines.savepoint.leads import Line
from pipelines.workspace import homes, savepoints
from pipelines.workspace.context import Context


@dataclass(frozen=True)
class Stretch:
    """What is bisected: a query between two savepoints, and its savepoints in between, on the same line."""

    good: Manifest
    bad: Manifest
    query: QueryName
    line: Line | None
    """The batches that Spark still knows; None where their offsets are gone."""
    checkpoints: str
    between: tuple[Manifest, ...] = ()

    @property
    def job(self) -> JobName:
        return self.bad.job

    @property
    def every(self) -> tuple[Manifest, ...]:
        return (self.good, *self.between, self.bad)

    def image(self, manifest: Manifest) -> QueryImage:
        return next(image for image in manifest.queries if image.query == self.query)

    def batch(self, manifest: Manifest) -> int:
        return self.image(manifest).batch

    def of_batch(self, batch: int) -> Manifest | None:
        return next((manifest for manifest in self.every if self.batch(manifest) == batch), None)

    def before(self, batch: int) -> Manifest:
        """The newest savepoint of an earlier batch."""
        return max((manifest for manifest in self.every if self.batch(manifest) < batch), key=self.batch)


def stretch(context: Context, job: JobName, good: Manifest, bad: Manifest, query: QueryName, checkpoints: str) -> Stretch:
    """The stretch with the savepoints in between that are on its line: all of them where Spark still knows its batches, else none."""
    whole = Stretch(good, bad, query, None, checkpoints)
    try:
        line = leads.line(whole.image(good), checkpoints)
    except Conflict:
        return whole
    between = [
        savepoints.manifest(context, savepoint.id)
        for savepoint in homes.reachable(context, savepoints.newest_first(context, job))
        if any(_on(line, image) and _inside(whole, image) for image in savepoint.queries if image.query == query)
    ]
    return replace(whole, line=line, between=tuple({whole.batch(manifest): manifest for manifest in between}.values()))


def _on(line: Line, image: QueryImage) -> bool:
    return line.times_ms.get(image.batch) == image.batch_timestamp_ms


def _inside(whole: Stretch, image: QueryImage) -> bool:
    return whole.batch(whole.good) < image.batch < whole.batch(whole.bad)
