"""Savepoints as text: the table of all, one with its queries, their disk space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pipelines.cli import output, progress
from pipelines.cli.additions import command
from pipelines.cli.nouns import holdings
from pipelines.cli.nouns import trust as trusted
from pipelines.cli.nouns.annotations import annotation
from pipelines.cli.session import Here
from pipelines.domain import unrepeatable_sources
from pipelines.domain.operations import Amount
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.domain.space import Space
from pipelines.domain.trust import Trust, Verification
from pipelines.verbs.listing import MOST_ROWS, spelling_of
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import ShowSpace
from pipelines.words import formats
from pipelines.words import holdings as held
from pipelines.words import savepoints as words
from pipelines.words.trust import best


@command("savepoints", "savepoints")
def savepoints(
    here: Here,
    job: Annotated[str, typer.Argument(metavar="JOB", help="Only those of this job.", show_default=False)] = "",
    sizes: Annotated[
        bool, typer.Option("--sizes", help="What each takes in full, frees when disposed of, and shares; and all together.")
    ] = False,
    trust: Annotated[Trust | None, typer.Option(help="Only those that reached this level at best.", show_default=False)] = None,
    reason: Annotated[Reason | None, typer.Option(help="Only those that were taken for this.", show_default=False)] = None,
    label: Annotated[str, typer.Option(help="Only those with this label.", show_default=False)] = "",
    sort: Annotated[str, typer.Option(metavar="FIELD", help=spelling_of("sort").help, show_default=False)] = "",
    limit: Annotated[int, typer.Option(min=0, max=MOST_ROWS, help=spelling_of("limit").help, show_default=False)] = 0,
) -> None:
    """List savepoints, newest first. Each has the best level of trust that it reached."""
    listed = here.face.ask(ListSavepoints(job, trust, reason, label, sort=sort, limit=limit))
    if sizes:
        with progress.shown(lambda: here.session.now_ms, as_json=here.as_json) as show:
            show(Amount("measuring", len(listed), unit="savepoints"))
            space = here.face.ask(ShowSpace(job))
        here.show(space, _sizes(space, listed) if listed else "")
        return
    here.show(listed, _table(listed, here.session.now_ms) if listed else "")


def savepoint_details(savepoint: Savepoint, verification: Verification | None, now_ms: int) -> str:
    """One savepoint as aligned lines, then its queries, then what proved it."""
    pairs = [
        ("savepoint", savepoint.id),
        ("path", savepoint.path),
        ("job", savepoint.job),
        ("version", savepoint.version),
        (
            "taken",
            f"{formats.when(savepoint.created_ms, now_ms, None)}, {words.ORIGINS[savepoint.reason]}, "
            f"in {formats.duration(savepoint.took_ms)}",
        ),
        *(
            [("imported", f"{formats.when(savepoint.imported_ms, now_ms, None)} from {savepoint.imported_from}")]
            if savepoint.imported_ms
            else []
        ),
        *annotation(savepoint, now_ms),
        *trusted.pairs(savepoint, now_ms),
        *holdings.pairs(savepoint, now_ms),
        ("Spark's files", formats.files(savepoint.files, savepoint.bytes)),
        ("added when taken", formats.size(savepoint.new_bytes)),
        ("Spark", savepoint.spark_version),
        *(("Delta table", table) for table in words.tables(savepoint.queries)),
        *(("Iceberg table", table) for table in words.snapshots(savepoint.queries)),
        *(("warning", remark) for remark in unrepeatable_sources.remarks(savepoint.queries)),
    ]
    rows = [
        (
            query.query,
            formats.count(query.batch) if query.begun else "not begun",
            formats.exact(query.watermark_ms or None, None),
            query.provider,
            query.sink,
            formats.size(query.bytes),
        )
        for query in savepoint.queries
    ]
    queries = output.Table(("QUERY", "BATCH>", "WATERMARK", "STATE", "SINK", "SIZE>"), rows)
    proof = verification.proof if verification else None
    return "\n\n".join([output.details(pairs), queries.plain(), *([trusted.proof_text(proof)] if proof else [])])


def _table(savepoints_listed: Sequence[Savepoint], now_ms: int) -> output.Table:
    titles = (
        "SAVEPOINT",
        "JOB",
        "BATCH>",
        "TAKEN>",
        *(f"{title.upper()}>" for title in (words.FULL, words.NEW)),
        "TRUST",
        "ORIGIN",
        "USABLE",
        "BEST BEFORE",
        "LABEL",
    )
    rows = [
        (
            savepoint.id,
            savepoint.job,
            words.column(savepoint),
            formats.ago(savepoint.created_ms, now_ms),
            formats.size(savepoint.bytes),
            formats.size(savepoint.new_bytes),
            best(savepoint),
            words.ORIGINS[savepoint.reason],
            held.usable(savepoint, now_ms),
            formats.last_day(savepoint.best_before_ms, now_ms, None),
            savepoint.label,
        )
        for savepoint in savepoints_listed
    ]
    return output.Table(titles, rows)


def _sizes(space: Space, savepoints_listed: Sequence[Savepoint]) -> output.Table:
    """A line a savepoint, and one for all together: what they take on disk, what disposing of all frees, what more than one holds."""
    jobs = {savepoint.id: savepoint.job for savepoint in savepoints_listed}
    titles = ("SAVEPOINT", "JOB", *(f"{title.upper()}>" for title in (words.FULL, words.FREES, words.SHARED)))
    rows = [
        (
            savepoint.savepoint,
            jobs.get(savepoint.savepoint, ""),
            *map(formats.size, (savepoint.bytes, savepoint.frees_bytes, savepoint.shared_bytes)),
        )
        for savepoint in space.savepoints
    ]
    together = ("together on disk", "", *map(formats.size, (space.disk_bytes, space.frees_bytes, space.shared_bytes)))
    return output.Table(titles, [*rows, together])
