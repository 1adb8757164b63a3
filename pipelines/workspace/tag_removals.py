"""Removals of the tags that savepoints have in Iceberg tables, which keep snapshots for ever.

The order: (1) what is to go is noted (`untagging/<savepoint>.json`); (2) the savepoint is disposed of; (3) its tags go; (4) the note does.
A crash before (4), or a table that cannot be changed just then, leaves the note: the next opening goes on from there, once the savepoint is
gone.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.errors import Unavailable
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.savepoints import Savepoint
from pipelines.savepoint import iceberg_tags
from pipelines.savepoint.iceberg_tags import Tag
from pipelines.workspace import events
from pipelines.workspace.context import Context
from pipelines.workspace.files import readable

TAGGED = "savepoint.tagged"


@dataclass(frozen=True)
class Removal:
    """The tags of a savepoint that go with it."""

    savepoint: SavepointId
    job: JobName
    tags: tuple[Tag, ...]


def begin(context: Context, savepoint: Savepoint) -> Removal:
    """Notes it, before the savepoint is disposed of: on a full disk goes on without."""
    removal = Removal(savepoint.id, savepoint.job, iceberg_tags.of(savepoint.queries))
    if removal.tags:
        try:
            context.files.write(context.layout.untagging_file(savepoint.id), removal)
        except Unavailable as error:
            if error.code != "storage.full":
                raise
    return removal


def finish(context: Context, removal: Removal) -> None:
    """Once the savepoint is gone; a tag that has to stay for now is an event."""
    left = iceberg_tags.drop(removal.savepoint, removal.tags)
    if not left:
        context.files.remove(context.layout.untagging_file(removal.savepoint))
    elif not events.was_said_today(context, TAGGED, removal.savepoint):
        for table in left:
            message = f"the tag of savepoint {removal.savepoint} is still in {table.table}: {table.why}; the next start tries again"
            events.say(context, TAGGED, removal.job, removal.savepoint, message)


def clean(context: Context) -> None:
    """Finishes what is left of those whose savepoints are gone; one whose disposal was refused keeps its note."""
    noted = (SavepointId(path.stem) for path in sorted(context.layout.untagging.glob("[!.]*.json")))
    for removal in readable(lambda savepoint: find(context, savepoint), noted, []):
        if not context.files.keeps(removal.savepoint):
            finish(context, removal)


def find(context: Context, savepoint: SavepointId) -> Removal | None:
    return context.files.find(Removal, context.layout.untagging_file(savepoint))
