"""The catalog lets go of what stood at the freed front of a run's files, and of the workspace's events: it is bounded as they are, and says
what one made anew would."""

from __future__ import annotations

from pathlib import Path

from pipelines.catalog import events as event_rows
from pipelines.catalog import progress as progress_rows
from pipelines.catalog import sizes as size_rows
from pipelines.domain.events import DRIVER
from pipelines.domain.ids import RunId
from pipelines.domain.jobs import Run
from pipelines.storage import fronts
from pipelines.workspace import ingestion
from pipelines.workspace.context import Context

Begins = dict[str, int]
"""File -> the first byte of it that was there when the catalog last let go of what stood before."""


def forget(context: Context, run: Run, begins: Begins) -> None:
    """Lets go of what the files of `run` have lost since, and notes in `begins` how far that is."""
    for source in ingestion.of_run(context, run.job, run.id):
        begin = _begin(source.path)
        if begin > begins.get(source.name, 0):
            _forget_before_first(context, run.id, source)
            begins[source.name] = begin


def forget_events(context: Context, begins: Begins) -> None:
    """The same of the events of the workspace itself."""
    source = ingestion.of_workspace(context)
    begin = _begin(source.path)
    if begin > begins.get(source.name, 0):
        with context.ingesting:
            moments = [event.at_ms for event in ingestion.read(context, [source], {}).events if event.kind != ingestion.MALFORMED]
            if moments:
                with context.catalog.writing() as writer:
                    event_rows.forget_others_before(writer, min(moments))
        begins[source.name] = begin


def _begin(path: Path) -> int:
    if not path.is_file():
        return 0
    with path.open("rb") as file:
        return fronts.begin(file.fileno())


def _forget_before_first(context: Context, run: RunId, source: ingestion.GrowingFile) -> None:
    """Of batches that ran beside each other the longest is told last: only what is older than all in the first piece goes."""
    with context.ingesting:
        kept = ingestion.read(context, [source], {})
        told = (
            (progress_rows.forget_before, [progress.at_ms for _, _, progress, _ in kept.progress]),
            (size_rows.forget_before, [size.at_ms for size in kept.sizes]),
            (event_rows.forget_before, [event.at_ms for event in kept.events if event.actor == DRIVER]),
        )
        with context.catalog.writing() as writer:
            for forget_before, moments in told:
                if moments:
                    forget_before(writer, run, min(moments))
