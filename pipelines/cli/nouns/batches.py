"""A job's batches as text: the latest, and those that a savepoint can still be taken of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pipelines.cli import output
from pipelines.cli.additions import command
from pipelines.cli.session import Here
from pipelines.cli.words import JobNamed, at_most_one
from pipelines.domain.experiments import BatchRow
from pipelines.domain.savepoints import RetainedBatch
from pipelines.verbs.jobs import ListBatches, ListRetained
from pipelines.verbs.listing import spelling_of
from pipelines.words import formats
from pipelines.words import observed as observed_words


@command("batches", "jobs")
def batches(
    here: Here,
    job: JobNamed,
    retained: Annotated[bool, typer.Option("--retained", help="Only batches that a savepoint can still be taken of.")] = False,
    sort: Annotated[str, typer.Option(metavar="FIELD", help=spelling_of("sort").help, show_default=False)] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most this many, the newest unless sorted.")] = 20,
) -> None:
    """List a job's latest batches."""
    at_most_one(retained=retained or None, sort=sort)
    if retained:
        every = here.face.ask(ListRetained(job))
        here.show(every[-limit:], _retained_table(every[-limit:], here.session.now_ms))
        if len(every) > limit:
            output.tell(f"the newest {formats.count(limit)} of {formats.count(len(every))} batches; --limit shows more")
    else:
        rows = here.face.ask(ListBatches(job, limit, sort=sort))
        here.show(rows, _batches_table(rows, here.session.now_ms))


def _retained_table(retained: Sequence[RetainedBatch], now_ms: int) -> output.Table:
    rows = [
        (
            batch.query,
            formats.count(batch.batch),
            formats.when(batch.timestamp_ms, now_ms, None),
            formats.exact(batch.committed_ms, None),
            formats.exact(batch.watermark_ms or None, None),
        )
        for batch in retained
    ]
    return output.Table(("QUERY", "BATCH>", "STARTED", "COMMITTED", "WATERMARK"), rows)


def _batches_table(batches: Sequence[BatchRow], now_ms: int) -> output.Table:
    titles = ("QUERY", "BATCH>", "AT", "TOOK>", "INPUT ROWS>", "LATE ROWS>", "STATE ROWS>", "WATERMARK", "OBSERVED")
    rows = [
        (
            batch.query,
            formats.count(batch.batch),
            formats.when(batch.at_ms, now_ms, None),
            formats.duration(batch.batch_ms),
            formats.count(batch.input_rows),
            formats.count(batch.late_rows),
            formats.count(batch.state_rows),
            formats.exact(batch.watermark_ms, None),
            observed_words.briefly(batch.observed),
        )
        for batch in batches
    ]
    return output.Table(titles, rows)
