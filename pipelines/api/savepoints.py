"""Savepoints over REST. A savepoint's name may be its path, so the longer routes stand before the shorter ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Response

from pipelines.api.bodies import FaceNow, Level, SavepointNamed, planned, refusals
from pipelines.domain.disposals import Disposal
from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, Incompatible, NotFound, Unavailable, Unsupported
from pipelines.domain.jobs import Run
from pipelines.domain.operations import Operation
from pipelines.domain.requests import AnnotateRequest, DisposeRequest, ExportRequest, ForkRequest, ImportRequest
from pipelines.domain.savepoints import DisposePlan, ExportPlan, Manifest, RestorePlan, Savepoint
from pipelines.domain.trust import Trust, Verification

TAG = {"name": "savepoints", "description": "Immutable images of a job at committed batches: look, verify, export, import, fork, dispose."}
router = APIRouter(prefix="/savepoints", tags=["savepoints"])


@router.get("", summary="List savepoints", responses=refusals())
def savepoints(face: FaceNow, job: Annotated[str, Query(description="Only those of this job.")] = "") -> Sequence[Savepoint]:
    """Savepoints, newest first."""
    return face.savepoints(job)


@router.get("/{savepoint:path}/manifest", summary="Read a savepoint's manifest", responses=refusals(NotFound, Corrupt, Unsupported))
def manifest(face: FaceNow, savepoint: SavepointNamed) -> Manifest:
    """All that is needed to restore it: the version with its code, the batches, every file with its size."""
    return face.manifest(savepoint)


@router.post(
    "/import", status_code=202, summary="Import a savepoint", responses=refusals(NotFound, AlreadyExists, Corrupt, Unsupported, Unavailable)
)
def import_savepoint(face: FaceNow, request: ImportRequest) -> Operation:
    """Brings an exported savepoint (directory or `.tar.zst`) in, under the id it has. Follow the operation; its result is that id."""
    return face.import_savepoint(request)


@router.post("/dispose", summary="Dispose of several savepoints", responses=refusals())
def dispose_many(face: FaceNow, request: DisposeRequest) -> Disposal:
    """Deletes each that can be; one that is refused says why (`refusal`) and keeps no other. `frees_bytes` is counted for the set."""
    return face.dispose_many(request.savepoints, dry_run=request.dry_run)


@router.post("/{savepoint:path}/verify", summary="Verify a savepoint", responses=refusals(NotFound, Conflict, Unsupported, Unavailable))
def verify(face: FaceNow, savepoint: SavepointNamed, level: Level = Trust.INTACT) -> Verification:
    """Checks the savepoint, answers when it is done, and keeps the level it reached. Damage is an answer (`damages`), not an error."""
    return face.verify(savepoint, level)


@router.post(
    "/{savepoint:path}/verifications",
    status_code=202,
    summary="Begin to verify a savepoint",
    responses=refusals(NotFound, Conflict, Unsupported, Unavailable),
)
def start_verify(face: FaceNow, savepoint: SavepointNamed, level: Level = Trust.INTACT) -> Operation:
    """The same as an operation, with progress. When it is done, `verification` has the outcome."""
    return face.start_verify(savepoint, level)


@router.get(
    "/{savepoint:path}/verification",
    summary="Read the newest verification",
    responses=refusals(NotFound, Corrupt, Unsupported, Unavailable),
)
def verification(face: FaceNow, savepoint: SavepointNamed) -> Verification | None:
    """What the newest verification found, with the newest proof; `null` before the first."""
    return face.verification(savepoint)


@router.post(
    "/{savepoint:path}/export",
    status_code=202,
    summary="Export a savepoint",
    responses={
        **refusals(NotFound, AlreadyExists, Conflict, Corrupt, Unsupported, Unavailable),
        **planned(ExportPlan),
    },
)
def export(face: FaceNow, savepoint: SavepointNamed, request: ExportRequest, response: Response) -> Operation | ExportPlan:
    """Copies the savepoint to a URL: a directory, or one `.tar.zst`. Follow the operation; its result is the URL."""
    if request.dry_run:
        response.status_code = 200
    return face.export(savepoint, request)


@router.post(
    "/{savepoint:path}/fork",
    status_code=201,
    summary="Fork a savepoint",
    responses={
        **refusals(NotFound, AlreadyExists, Conflict, Incompatible, Corrupt, Unsupported, Unavailable),
        **planned(RestorePlan),
    },
)
def fork(face: FaceNow, savepoint: SavepointNamed, request: ForkRequest, response: Response) -> Run | RestorePlan:
    """Begins a new job from the savepoint, with its own checkpoint, query id and output. What is not given stays as it was taken."""
    if request.dry_run:
        response.status_code = 200
    return face.fork(savepoint, request)


@router.get("/{savepoint:path}", summary="Show a savepoint", responses=refusals(NotFound))
def savepoint(face: FaceNow, savepoint: SavepointNamed) -> Savepoint:
    """One savepoint: its job, version, batches, sizes, path and how far it was checked."""
    return face.savepoint(savepoint)


@router.patch("/{savepoint:path}", summary="Annotate a savepoint", responses=refusals(NotFound, Corrupt, Unsupported, Unavailable))
def annotate(face: FaceNow, savepoint: SavepointNamed, request: AnnotateRequest) -> Savepoint:
    """Changes its label, note or best-before moment; what is not given stays. `best_before_ms` 0 takes it away."""
    return face.annotate(savepoint, request)


@router.delete("/{savepoint:path}", summary="Dispose of a savepoint", responses=refusals(NotFound, Conflict, Unavailable))
def dispose(
    face: FaceNow,
    savepoint: SavepointNamed,
    dry_run: Annotated[bool, Query(description="Answer what would be deleted, and delete nothing.")] = False,
) -> DisposePlan:
    """Deletes the savepoint; the answer is what was deleted. Refused while a fork in the making needs it."""
    return face.dispose(savepoint, dry_run=dry_run)
