"""Diagnoses: the doctor on a job, a savepoint, or any checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from pipelines.checkpoint import commits, logs, metadata, offsets, sink_log
from pipelines.checkpoint.doctor import Examined
from pipelines.domain.diagnosis import Diagnosis, Finding
from pipelines.domain.errors import Corrupt, Invalid, NotFound, TidemarkError, Unsupported
from pipelines.domain.ids import JobName, QueryName, SavepointId, query_of
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.sinks import FILE_SINKS
from pipelines.domain.trust import Damage
from pipelines.domain.watch import Watch
from pipelines.savepoint import completeness, layout, manifests, worker
from pipelines.savepoint.source import QueryLocation
from pipelines.savepoint.worker import Checkpoint
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from pipelines.verbs.diagnose import Diagnose, DiagnosePlan
from pipelines.words import savepoints as words
from pipelines.workspace import advice, examined_savepoints, homes, job_places, runs, savepoints, sources
from pipelines.workspace.advice import Good, Outlook
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans


@plans(Diagnose)
def plan(context: Context, change: Diagnose) -> Planned[Sequence[Diagnosis], DiagnosePlan]:
    """One diagnosis a query. NotFound (`diagnose.nothing`) where the subject is neither a job, a savepoint nor a checkpoint's place."""
    job, about, look = _subject(context, change.subject)
    return Planned(DiagnosePlan(job, about), look)


def _subject(context: Context, subject: str) -> tuple[JobName, str, Callable[[Watch], list[Diagnosis]]]:
    """The job of the subject, the savepoint or checkpoint examined (empty for the job itself), and the function that examines it."""
    try:
        job = runs.known(context, subject)
    except NotFound as error:
        if error.code != "job.not_found":
            raise
    else:
        return job, "", partial(_job, context, job)
    try:
        savepoint = savepoints.get(context, subject)
    except NotFound:
        return JobName(""), subject, partial(_checkpoint, context, subject, _opened(subject))
    return savepoint.job, savepoint.id, partial(_savepoint, context, savepoint)


def _job(context: Context, job: JobName, watch: Watch) -> list[Diagnosis]:
    """Raises Unavailable (`home.away`) where its disk is not mounted: that is no damage."""
    job_places.refuse_away(context, job)
    source = sources.of_job(context, job)
    good = list(_good(context, job, ""))
    known_job = context.files.job(job)
    attached = known_job is not None and known_job.attached
    diagnoses: list[Diagnosis] = []
    for place in source.queries:
        examined = _live(context, place, watch)
        advised = advice.of_job(job, len(source.queries), _outlook(examined), good, attached=attached)
        diagnoses.append(_diagnosis(job, place.query, place.checkpoint, examined, examined.findings, advised))
    return diagnoses


def _live(context: Context, place: QueryLocation, watch: Watch) -> Examined:
    return worker.examine(context.savepoint_workers, Checkpoint(place.checkpoint, _sink_log(place), operators=place.operators), watch)


def _sink_log(place: QueryLocation) -> str | None:
    if place.sink.lower() not in FILE_SINKS or not place.sink_path:
        return None
    return f"{place.sink_path.rstrip('/')}/{sink_log.FOLDER}"


def _opened(place: str) -> Storage:
    try:
        storage = open_storage(place)
        is_checkpoint = _is_checkpoint(storage)
    except (Invalid, Unsupported) as error:
        raise _nothing(place, f" ({error.message})") from error
    if not place or not is_checkpoint:
        raise _nothing(place, "")
    return storage


def _checkpoint(context: Context, place: str, storage: Storage, watch: Watch) -> list[Diagnosis]:
    examined = worker.examine(context.savepoint_workers, Checkpoint(storage.url), watch)
    name = query_of(place)
    return [_diagnosis(place, name, storage.url, examined, examined.findings, advice.of_checkpoint(storage.url, _outlook(examined)))]


def _is_checkpoint(storage: Storage) -> bool:
    """Whether something is there that only checkpoints have; a damaged one may lack any of it. Nothing else is looked at.

    What was named may be a whole disk.
    """
    entries = (entry.path for folder in (offsets.FOLDER, commits.FOLDER) for entry in storage.list(folder))
    return any(logs.is_number(path.rpartition("/")[2]) for path in entries) or _has_metadata(storage)


def _has_metadata(storage: Storage) -> bool:
    try:
        storage.read(metadata.FILE)
    except (NotFound, Corrupt):
        return False
    return True


def _nothing(subject: str, why: str) -> NotFound:
    return NotFound(
        "diagnose.nothing",
        f"{subject!r} is no job, no savepoint and no checkpoint{why}",
        "Give a job's name, a savepoint's id, or the directory or URL that holds offsets/ and commits/.",
    )


def _savepoint(context: Context, savepoint: Savepoint, watch: Watch) -> list[Diagnosis]:
    """Examines a savepoint: its files by manifest and seal, its checkpoints as Spark would read them."""
    good, live = list(_good(context, savepoint.job, savepoint.id)), _restorable_live(context, savepoint.job, watch)
    try:
        manifest = manifests.load(context.shelf(savepoint.id), savepoint.id)
    except (Corrupt, Unsupported) as error:
        broken = Finding(Damage(layout.MANIFEST, "unreadable", error.message), (savepoint.batch,), "manifest")
        advised = advice.of_damaged(good, live, savepoint.job)
        nothing = Examined(0, 0, (), None, ())
        return [_diagnosis(savepoint.id, image.query, savepoint.path, nothing, (broken,), advised) for image in savepoint.queries]
    damages, images = examined_savepoints.examine(context, manifest, watch)
    damaged = bool(damages) or any(image.findings for image in images)
    sound = advice.of_damaged_elsewhere() if damaged else advice.of_sound(savepoint.id, savepoint.job)
    harmed = advice.of_damaged(good, live, savepoint.job)
    return [
        _diagnosis(manifest.id, image.query, image.checkpoint, image.examined, image.findings, harmed if image.findings else sound)
        for image in images
    ]


def _good(context: Context, job: str, other_than: SavepointId | str) -> Iterator[Good]:
    """Savepoints of the job whose files are all there and of which no verification found any damaged, newest first."""
    for savepoint in homes.reachable(context, savepoints.newest_first(context, job)):
        if savepoint.id != other_than and not savepoint.damaged_files and _complete(context, savepoint.id):
            yield Good(savepoint.id, words.points(savepoint))


def _complete(context: Context, savepoint: SavepointId) -> bool:
    try:
        manifest = manifests.load(context.shelf(savepoint), savepoint)
    except (Corrupt, Unsupported, NotFound):
        return False
    return not completeness.damages(context.shelf(savepoint), savepoint, manifest.files)


def _restorable_live(context: Context, job: JobName, watch: Watch) -> Sequence[int]:
    """Batches that the job's own checkpoint can restore, of a job with one query; none where the job or its checkpoint is gone."""
    try:
        source = sources.of_job(context, runs.known(context, job))
        return _live(context, source.queries[0], watch).restorable if len(source.queries) == 1 else ()
    except TidemarkError:
        return ()


def _outlook(examined: Examined) -> Outlook:
    return Outlook(
        len(examined.findings), any(finding.batches for finding in examined.findings), examined.newest_committed, examined.restorable
    )


def _diagnosis(
    subject: str, query: QueryName, checkpoint: str, examined: Examined, findings: tuple[Finding, ...], advised: str
) -> Diagnosis:
    return Diagnosis(
        subject, query, checkpoint, examined.files, examined.bytes, findings, examined.newest_committed, examined.restorable, advised
    )
