"""The log of a file sink beside its checkpoint: what a batch needs of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pipelines.checkpoint import compact_log, sink_log
from pipelines.checkpoint.damage import DamagedFile
from pipelines.checkpoint.doctor.needs import Needs
from pipelines.checkpoint.listing import Listing
from pipelines.domain.trust import Damage


def add_needs(needs: Needs, log: Listing) -> None:
    """Adds what the batch needs of the sink's log, whose files `log` lists; one older than its compact file was purged with it."""
    names = compact_log.names(log.files(""))
    if names.newest is not None and needs.batch < min(names.singles | names.compacts) in names.compacts:
        needs.purged = True
        return
    try:
        needed = list(compact_log.chain(names, needs.batch, sink_log.FOLDER))
    except DamagedFile as error:
        needs.miss(error)
        return
    before = [compact for compact in names.compacts if compact < needed[0][0]]
    if needed[0][1] and before:
        needed.append((max(before), True))
    needs.files.update(_path(batch, compact) for batch, compact in needed)


def named(damages: Mapping[str, Damage]) -> dict[str, Damage]:
    """Damages in the log's files, with the log's folder before their paths."""
    return {f"{sink_log.FOLDER}/{path}": replace(wrong, path=f"{sink_log.FOLDER}/{wrong.path}") for path, wrong in damages.items()}


def _path(batch: int, compact: bool) -> str:
    return f"{sink_log.FOLDER}/{compact_log.name(batch, compact)}"
