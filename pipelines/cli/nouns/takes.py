"""A savepoint that was taken. Apart from the other texts of savepoints, so that taking one waits for little besides."""

from __future__ import annotations

from pipelines.cli import output
from pipelines.cli.additions import excludes, shows
from pipelines.cli.session import Here
from pipelines.domain import unrepeatable_sources
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.take import Take
from pipelines.words import savepoints as words

excludes(Take, "batch", "at_ms", "event_ms")


@shows(Take)
def _taken(here: Here, change: Take, savepoint: Savepoint) -> None:
    output.tell(f"{savepoint.id}: {words.taken(savepoint)}")
    for remark in unrepeatable_sources.remarks(savepoint.queries):
        output.tell(remark)
