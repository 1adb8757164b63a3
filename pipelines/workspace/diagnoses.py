"""Diagnoses: the doctor on a job, a savepoint, or any checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from pipelines.checkpoint import commits, doctor, logs, metadata, offsets, sink_log
from pipelines.checkpoint.doctor import Examined, Subject
from pipelines.checkpoint.doctor import parts as doctor_parts
from pipelines.domain.diagnosis import Diagnosis, Finding
from pipelines.domain.errors import Corrupt, Invalid, NotFound, TidemarkError, Unsupported
from pipelines.domain.ids import JobName, QueryName, SavepointId, query_of
from pipelines.domain.savepoints import Manifest, QueryImage, Savepoint
from pipelines.domain.trust import Damage, Trust
from pipelines.savepoint import checksums, completeness, layout, manifests, verify
from pipelines.savepoint.sinks import FILE_SINKS
from pipelines.savepoint.source import QueryLocation
from pipelines.storage.opening import open_storage
from pipelines.storage.protocol import Storage
from pipelines.storage.watching import Watch
from pipelines.verbs.diagnose import Diagnose, DiagnosePlan
from pipelines.workspace import advice, runs, savepoints, sources
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
        return JobName(""), subject, partial(_checkpoint, subject, _opened(subject))
    return savepoint.job, savepoint.id, partial(_savepoint, context, savepoint)


def _job(context: Context, job: JobName, watch: Watch) -> list[Diagnosis]:
    source = sources.of_job(context, job)
    good = list(_good(context, job, ""))
    known_job = context.files.job(job)
    attached = known_job is not None and known_job.attached
    diagnoses: list[Diagnosis] = []
    for place in source.queries:
        examined = _live(place, watch)
        advised = advice.of_job(job, len(source.queries), _outlook(examined), good, attached=attached)
        diagnoses.append(_diagnosis(job, place.query, place.checkpoint, examined, examined.findings, advised))
    return diagnoses


def _live(place: QueryLocation, watch: Watch) -> Examined:
    return doctor.examine(Subject(open_storage(place.checkpoint), _sink_log(place)), watch)


def _sink_log(place: QueryLocation) -> Storage | None:
    if place.sink.lower() not in FILE_SINKS or not place.sink_path:
        return None
    return open_storage(f"{place.sink_path.rstrip('/')}/{sink_log.FOLDER}")


def _opened(place: str) -> Storage:
    try:
        storage = open_storage(place)
        is_checkpoint = any(_is_a_checkpoints(entry.path) for entry in storage.list())
    except (Invalid, Unsupported) as error:
        raise _nothing(place, f" ({error.message})") from error
    if not place or not is_checkpoint:
        raise _nothing(place, "")
    return storage


def _checkpoint(place: str, storage: Storage, watch: Watch) -> list[Diagnosis]:
    examined = doctor.examine(Subject(storage), watch)
    name = query_of(place)
    return [_diagnosis(place, name, storage.url, examined, examined.findings, advice.of_checkpoint(storage.url, _outlook(examined)))]


def _is_a_checkpoints(path: str) -> bool:
    """Whether a path is one that only checkpoints have; a damaged checkpoint may lack any of them."""
    folder, _, name = path.rpartition("/")
    return path == metadata.FILE or (folder in (offsets.FOLDER, commits.FOLDER) and logs.is_number(name))


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
        manifest = manifests.load(context.library, savepoint.id)
    except (Corrupt, Unsupported) as error:
        broken = Finding(Damage(layout.MANIFEST, "unreadable", error.message), (savepoint.batch,), "manifest")
        advised = advice.of_savepoint(savepoint.id, savepoint.job, True, good, live)
        nothing = Examined(0, 0, (), None, ())
        return [_diagnosis(savepoint.id, image.query, savepoint.path, nothing, (broken,), advised) for image in savepoint.queries]
    damages = _by_files(context, manifest, watch)
    return [_image(context, manifest, image, damages, good, live, watch) for image in manifest.queries]


def _by_files(context: Context, manifest: Manifest, watch: Watch) -> list[Damage]:
    """Damages by the manifest and, where the savepoint is sealed, by checksum."""
    try:
        sealed = checksums.read(context.library, manifest.id) is not None
    except Corrupt as error:
        return [Damage(layout.CHECKSUMS, "unreadable", error.message), *completeness.damages(context.library, manifest.id, manifest.files)]
    level = Trust.INTACT if sealed else Trust.COMPLETE
    watch.step("computing checksums", sum(file.bytes for file in manifest.files) if sealed else 0)
    return list(verify.check(context.library, manifest.id, level, context.now_ms(), watch.advance).damages)


def _image(
    context: Context,
    manifest: Manifest,
    image: QueryImage,
    damages: Sequence[Damage],
    good: Sequence[Good],
    live: Sequence[int],
    watch: Watch,
) -> Diagnosis:
    home, sink = (f"{context.library.url}/{manifest.id}/{folder(image.query)}" for folder in (layout.checkpoint, layout.sink_log))
    has_log = bool(layout.below([file.path for file in manifest.files], layout.sink_log(image.query)))
    examined = doctor.examine(Subject(open_storage(home), open_storage(sink) if has_log else None, _of(image)), watch)
    findings = _merged(manifest, image, damages, examined)
    if any(finding.batches for finding in findings):
        examined = Examined(examined.files, examined.bytes, examined.findings, examined.newest_committed, ())
    advised = advice.of_savepoint(manifest.id, manifest.job, bool(findings), good, live)
    return _diagnosis(manifest.id, image.query, home, examined, findings, advised)


def _merged(manifest: Manifest, image: QueryImage, damages: Iterable[Damage], examined: Examined) -> tuple[Finding, ...]:
    """Merges both examinations by file: a finding of the checkpoint goes before one of the manifest or the seal."""
    findings = {_below(image.query, finding.damage.path): finding for finding in examined.findings}
    for damage in damages:
        if damage.path not in findings and _concerns(manifest, image, damage.path):
            inner = damage.path.removeprefix(layout.checkpoint(image.query) + "/")
            findings[damage.path] = Finding(damage, _of(image), _part(image.query, inner))
    return tuple(findings[path] for path in sorted(findings))


def _of(image: QueryImage) -> tuple[int, ...]:
    """The batch that the image is of, none where the query had not begun."""
    return (image.batch,) if image.begun else ()


def _part(query: QueryName, path: str) -> str:
    if path.startswith(layout.sink_log(query)):
        return "log of the file sink"
    if path.startswith("code/"):
        return "code of the version"
    return path.partition(".")[0] if path in (layout.MANIFEST, layout.CHECKSUMS) else doctor_parts.part(path)


def _below(query: QueryName, path: str) -> str:
    """A finding's path as a path of the savepoint."""
    prefix = f"{sink_log.FOLDER}/"
    if path.startswith(prefix):
        return f"{layout.sink_log(query)}/{path.removeprefix(prefix)}"
    return f"{layout.checkpoint(query)}/{path}"


def _concerns(manifest: Manifest, image: QueryImage, path: str) -> bool:
    """Whether a file is the query's; a file of no query (the code, the manifest) is the first query's."""
    if path.startswith("queries/"):
        return path.startswith(f"queries/{image.query}/")
    return image.query == manifest.queries[0].query


def _good(context: Context, job: str, other_than: SavepointId | str) -> Iterator[Good]:
    """Savepoints of the job whose files are all there and of which no verification found any damaged, newest first."""
    for savepoint in savepoints.newest_first(context, job):
        if savepoint.id != other_than and not savepoint.damaged_files and _complete(context, savepoint.id):
            yield Good(savepoint.id, savepoint.batch)


def _complete(context: Context, savepoint: SavepointId) -> bool:
    try:
        manifest = manifests.load(context.library, savepoint)
    except (Corrupt, Unsupported, NotFound):
        return False
    return not completeness.damages(context.library, savepoint, manifest.files)


def _restorable_live(context: Context, job: JobName, watch: Watch) -> Sequence[int]:
    """Batches that the job's own checkpoint can restore, of a job with one query; none where the job or its checkpoint is gone."""
    try:
        source = sources.of_job(context, runs.known(context, job))
        return _live(source.queries[0], watch).restorable if len(source.queries) == 1 else ()
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
