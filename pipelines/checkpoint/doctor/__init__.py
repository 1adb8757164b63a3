"""The doctor: every file of a checkpoint read and checked, and for each retained batch whether it can be restored.

A live checkpoint changes while it is read. Findings are therefore checked again with a new listing: a file that Spark has purged
meanwhile is no damage, and what is wrong both times is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pipelines.checkpoint import commits, logs, offsets
from pipelines.checkpoint.doctor import sink as doctor_sink
from pipelines.checkpoint.doctor.content import Vanished, damage_in, reader_of
from pipelines.checkpoint.doctor.needs import Needs, Walker
from pipelines.checkpoint.doctor.parts import part
from pipelines.checkpoint.listing import Listing, listed
from pipelines.domain.bounds import Count, Long
from pipelines.domain.diagnosis import Finding
from pipelines.domain.trust import Damage
from pipelines.domain.watch import UNWATCHED, Watch
from pipelines.storage import parallel
from pipelines.storage.protocol import Entry, Storage

LOOKS = 4
READERS = 8
NOTHING = Listing({}, {})


@dataclass(frozen=True)
class Examined:
    """Result of an examination: `files` and `bytes` checked, what is damaged, and the retained batches that can be restored (ascending)."""

    files: Count
    bytes: Count
    findings: tuple[Finding, ...]
    newest_committed: Long | None
    restorable: tuple[Long, ...]


@dataclass(frozen=True)
class Subject:
    """What is examined: a checkpoint's storage, that of the log of its file sink (rooted at the log), and which batches of it."""

    checkpoint: Storage
    sink_log: Storage | None = None
    only: Collection[int] | None = None
    """A savepoint is of one batch; None judges every retained one."""
    operators: int = 0
    """Stateful operators that it is known to have at least."""


def examine(subject: Subject, watch: Watch = UNWATCHED) -> Examined:
    """Reads the whole checkpoint, at most `LOOKS` times; raises what the storage raises (Unavailable), and what `watch` does."""
    sound: set[tuple[str, Entry]] = set()
    examined, settled = _look(subject, sound, watch)
    for _ in range(LOOKS - 1):
        if settled and not examined.findings:
            return examined
        seen = {_key(finding) for finding in examined.findings}
        again, settled = _look(subject, sound, watch)
        if settled and {_key(finding) for finding in again.findings} == seen:
            return again
        examined = replace(again, findings=tuple(finding for finding in again.findings if _key(finding) in seen))
    return examined


def _key(finding: Finding) -> tuple[str, str]:
    return finding.damage.path, finding.damage.kind


def _look(subject: Subject, sound: set[tuple[str, Entry]], watch: Watch) -> tuple[Examined, bool]:
    """One examination, and whether no file vanished during it. Commits are listed first: what a batch needs was there when it committed."""
    committed = logs.batch_ids(listed(subject.checkpoint, commits.FOLDER).files(commits.FOLDER))
    listing = listed(subject.checkpoint)
    sink = listed(subject.sink_log) if subject.sink_log is not None else NOTHING
    newest = committed[-1] if committed else None
    every, source_logs = _needs(subject, listing, sink, _batches(subject, listing, newest))
    looked = [entry for place in (listing, sink) for files in place.folders.values() for entry in files.values()]
    watch.step("reading", sum(entry.bytes for entry in looked))
    wrong = _contents(subject.checkpoint, listing, source_logs, sound, watch) | _folders(listing)
    if subject.sink_log is not None:
        wrong |= doctor_sink.named(_contents(subject.sink_log, sink, frozenset({""}), sound, watch))
    kept = [needs for needs in every if not needs.purged]
    whole = [needs for needs in kept if not needs.vanished and not needs.unknown and not needs.damages and not needs.files & wrong.keys()]
    examined = Examined(
        files=len(looked),
        bytes=sum(entry.bytes for entry in looked),
        findings=_findings(kept, wrong),
        newest_committed=newest,
        restorable=tuple(needs.batch for needs in whole),
    )
    return examined, not any(needs.vanished for needs in kept)


def _batches(subject: Subject, listing: Listing, newest: int | None) -> list[int]:
    """Batches that at least one of both logs has, up to the newest commit: a batch that lost one of its entries is damaged, not unknown."""
    if subject.only is not None:
        return sorted(subject.only)
    every = {batch_id for folder in (offsets.FOLDER, commits.FOLDER) for batch_id in logs.batch_ids(listing.files(folder))}
    return sorted(batch_id for batch_id in every if newest is not None and batch_id <= newest)


def _needs(subject: Subject, listing: Listing, sink: Listing, batches: Sequence[int]) -> tuple[list[Needs], frozenset[str]]:
    """What each batch needs, and the folders that turned out to be logs of file sources."""
    walker = Walker(subject.checkpoint, listing, subject.operators)
    every = parallel.each(walker.needs, batches, READERS, brief=True)
    if subject.sink_log is not None:
        for needs in every:
            doctor_sink.add_needs(needs, sink)
    return every, frozenset(walker.source_logs)


def _folders(listing: Listing) -> dict[str, Damage]:
    """Folders in place of a log's entries, which a listing of files does not show."""
    places = [
        f"{folder}/{name}" for folder in (offsets.FOLDER, commits.FOLDER) for name in listing.subfolders(folder) if logs.is_number(name)
    ]
    return {path: Damage(path, "unreadable", f"{path} is a folder, where Spark keeps a file") for path in places}


def _contents(
    storage: Storage, listing: Listing, source_logs: frozenset[str], sound: set[tuple[str, Entry]], watch: Watch
) -> dict[str, Damage]:
    """Damage within files, by the path of the file (it may be in its checksum); hidden files are checked with the file they belong to."""
    entries = [entry for files in listing.folders.values() for name, entry in files.items() if not name.startswith(".")]

    def check(entry: Entry) -> Damage | None:
        watch.advance(entry.bytes)
        if (storage.url, entry) in sound:
            return None
        try:
            file_damage = damage_in(storage, listing, entry.path, reader_of(entry.path, source_logs))
        except Vanished:
            return None
        if file_damage is None:
            sound.add((storage.url, entry))
        return file_damage

    damages = parallel.each(check, entries, READERS, brief=True)
    return {entry.path: wrong for entry, wrong in zip(entries, damages, strict=True) if wrong is not None}


def _findings(every: Iterable[Needs], wrong: Mapping[str, Damage]) -> tuple[Finding, ...]:
    """One finding for each damaged file, by path, also for files that no retained batch needs. A wrong size says all of its content."""
    every = list(every)
    sized = {damage.path for needs in every for damage in needs.damages if damage.kind == "size"}
    within = {path: damage for path, damage in wrong.items() if path not in sized}
    batches: dict[Damage, set[int]] = {damage: {needs.batch for needs in every if path in needs.files} for path, damage in within.items()}
    for needs in every:
        for damage in needs.damages:
            _same(batches, damage).add(needs.batch)
    return tuple(
        Finding(damage, tuple(sorted(of)), part(damage.path)) for damage, of in sorted(batches.items(), key=lambda item: item[0].path)
    )


def _same(batches: dict[Damage, set[int]], damage: Damage) -> set[int]:
    """The batches of the finding about the same file: one file is one finding, whatever reason each batch needs it for."""
    known = next((other for other in batches if (other.path, other.kind) == (damage.path, damage.kind)), damage)
    return batches.setdefault(known, set())
