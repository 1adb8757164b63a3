"""Points found by their names, each with what its manifest or its checkpoint, its version and its progress say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pipelines.checkpoint import state_schema
from pipelines.domain import proofs
from pipelines.domain.errors import Conflict, Corrupt, NotFound, Unsupported
from pipelines.domain.ids import JobName, QueryName, RunId
from pipelines.domain.jobs import Run
from pipelines.domain.points import Point, PointKind, QueryPoint, StateOperator, StateStore
from pipelines.domain.savepoints import Manifest, Operator, QueryImage, StoredFile
from pipelines.savepoint import batch_choice, contents, layout, manifests, progress_file
from pipelines.savepoint.source import JobSource
from pipelines.storage import paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from pipelines.words import lockstep
from pipelines.workspace import progress, runs, savepoints, sources, versions
from pipelines.workspace.compare import batches as compare_batches
from pipelines.workspace.context import Context

RUN, VERSION = "r-", "v-"
"""How the ids of runs and versions begin."""
NO_CHECKPOINT = "A version alone has no checkpoint: name a savepoint or a job."
WENT_ON = "The checkpoint of this run has gone on with a later one: name a savepoint of it."
NEVER_RAN = "It has never run: it has no checkpoint."


def point(context: Context, name: str) -> Point:
    """A job's present checkpoint, a run, a version, or a savepoint (by id, a unique beginning of it, or its path).

    Raises NotFound (`point.not_found`), and what reading a savepoint raises (Corrupt, Unsupported, Unavailable). Of a job whose live
    checkpoint cannot be read its code is known, and the point's note says what is wrong."""
    if _is_job(context, name):
        return _job(context, JobName(name))
    run = runs.find(context, RunId(name)) if name.startswith(RUN) else None
    if run is not None:
        return _run(context, run)
    if name.startswith(VERSION):
        version = versions.get(context, name)
        return Point(name, PointKind.VERSION, JobName(""), None, version, "", version.created_ms, None, note=NO_CHECKPOINT)
    return _savepoint(context, name)


def _is_job(context: Context, name: str) -> bool:
    try:
        return bool(runs.known(context, name))
    except NotFound:
        return False


def in_step(context: Context, a: Point, b: Point) -> tuple[Point, Point]:
    """Two jobs as of the newest batch of each query that both have, where their batches read the same: one that lags has other state by
    that alone. As they are where Spark keeps that batch of one of them no more."""
    if not (a.kind is b.kind is PointKind.JOB and a.queries and b.queries and compare_batches.together(context, a.job, b.job)):
        return a, b
    sides = [{query.image.query: query.image.batch for query in point.queries or () if query.image.begun} for point in (a, b)]
    common = {query: min(side[query] for side in sides) for query in sides[0] if query in sides[1]}
    try:
        return _as_of(context, a, common), _as_of(context, b, common)
    except (Conflict, NotFound, Corrupt, Unsupported):
        return a, b


def _as_of(context: Context, point: Point, batches: Mapping[QueryName, int]) -> Point:
    """The job's present checkpoint as of these batches."""
    source = sources.of_job(context, point.job)
    gathered = contents.gather(source, batch_choice.OfBatches({str(query): batch for query, batch in batches.items()}))
    return replace(point, queries=_present(context, source, gathered, point.version.conf), note=lockstep.IN_STEP)


def _job(context: Context, job: JobName) -> Point:
    newest = runs.newest(context, job)
    if newest is None:
        raise NotFound("point.never_ran", f"Job {job} has never run", "Name a savepoint, or a job that ran.")
    return replace(_run(context, newest), named=job, kind=PointKind.JOB)


def _run(context: Context, run: Run) -> Point:
    """A run at the present checkpoint; only its code and confs where a later run works there, it never came up, or it is damaged."""
    version = versions.get(context, run.version)
    bare = Point(run.id, PointKind.RUN, run.job, run.id, version, run.spark_version, context.now_ms(), None)
    newest = runs.newest(context, run.job)
    if newest is None or newest.id != run.id:
        return replace(bare, at_ms=run.created_ms, note=WENT_ON)
    try:
        source = sources.of_job(context, run.job)
        queries = _present(context, source, contents.gather(source, batch_choice.Newest()), version.conf)
    except (Conflict, NotFound, Corrupt, Unsupported) as error:
        return replace(bare, note=error.message or NEVER_RAN)
    return replace(bare, spark_version=source.spark_version or run.spark_version, queries=queries)


def _present(
    context: Context, source: JobSource, gathered: Iterable[contents.QueryContents], conf: Mapping[str, str]
) -> tuple[QueryPoint, ...]:
    """The queries of a live checkpoint at their newest committed batches."""
    queries = tuple(gathered)
    events = progress.of_batches(context, source.job, source.run, [query.image for query in queries if query.image.begun])
    where = {place.query: open_storage(place.checkpoint) for place in source.queries}
    return tuple(
        QueryPoint(
            query.image,
            _operators(
                query.image,
                where[query.image.query],
                "",
                [file for part in query.parts for file in part.files],
                proofs.told_rows(query.image, events.get(query.image.query), conf),
            ),
        )
        for query in queries
    )


def _savepoint(context: Context, name: str) -> Point:
    try:
        savepoint = savepoints.get(context, name)
    except NotFound as error:
        message = f"There is no savepoint, job, run or version {name!r}"
        raise NotFound("point.not_found", message, "`versions` lists jobs and savepoints; `show JOB` a job's runs.") from error
    manifest = savepoints.manifest(context, savepoint.id)
    rows = _rows(context, manifest)
    queries = tuple(
        QueryPoint(
            image,
            _operators(
                image,
                context.shelf(manifest.id),
                layout.inside(manifest.id, layout.checkpoint(image.query)),
                manifest.files,
                rows.get(image.query, {}),
            ),
        )
        for image in manifest.queries
    )
    return Point(
        manifest.id,
        PointKind.SAVEPOINT,
        manifest.job,
        manifest.run,
        manifest.version,
        manifest.spark_version,
        manifest.created_ms,
        queries,
        manifest.label,
    )


def _rows(context: Context, manifest: Manifest) -> dict[QueryName, Mapping[int, int]]:
    """Query -> operator -> rows: as the newest proof read them, else as the job's own progress said at that batch."""
    verified = manifests.last_verification(context.shelf(manifest.id), manifest.id)
    if verified and verified.proof:
        counted: dict[QueryName, dict[int, int]] = {}
        for count in verified.proof.states:
            counted.setdefault(count.query, {})[count.operator] = count.rows
        return dict(counted)
    events = progress_file.read(context.shelf(manifest.id), manifest.id) or progress.find(context, manifest)
    conf = manifest.version.conf
    return {image.query: proofs.told_rows(image, events.get(image.query), conf) for image in manifest.queries}


def _operators(
    image: QueryImage, storage: Storage, folder: str, files: Iterable[StoredFile], rows: Mapping[int, int]
) -> tuple[StateOperator, ...]:
    """`folder` is the checkpoint's place in `storage`; `files` are named as in a savepoint."""
    prefix = layout.checkpoint(image.query) + "/"
    sizes = {file.path.removeprefix(prefix): file.bytes for file in files if file.path.startswith(prefix)}
    return tuple(
        StateOperator(
            operator.id,
            operator.name,
            operator.partitions,
            _stores(operator, storage, folder, sizes, image.batch),
            rows.get(operator.id),
            sum(size for path, size in sizes.items() if path.startswith(f"state/{operator.id}/")),
        )
        for operator in image.operators
    )


def _stores(operator: Operator, storage: Storage, folder: str, sizes: Mapping[str, int], batch: int) -> tuple[StateStore, ...]:
    return tuple(store for name in operator.stores for store in _store(operator.id, name, storage, folder, sizes, batch))


def _store(operator: int, name: str, storage: Storage, folder: str, sizes: Mapping[str, int], batch: int) -> tuple[StateStore, ...]:
    path = state_schema.path(sizes, operator, name, batch)
    if path is None:
        return (StateStore(name, None, None),)
    schemas = state_schema.parse(path, storage.read(paths.join(folder, path) if folder else path))
    return tuple(StateStore(f"{name}/{schema.family}" if schema.family else name, schema.key, schema.value) for schema in schemas)
