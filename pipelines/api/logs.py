"""A driver's log as a file, sent piece by piece: nobody holds the whole of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import PlainTextResponse, StreamingResponse

from pipelines.api.bodies import face_of, refusals
from pipelines.domain.errors import NotFound, Unavailable
from pipelines.domain.logs import LogChunk
from pipelines.verbs.face import Face
from pipelines.verbs.forget import JOB
from pipelines.verbs.jobs import ReadLog

PIECE_BYTES = 1_000_000
router = APIRouter()


@router.get(
    "/jobs/{job}/logs/file",
    tags=["jobs"],
    summary="Download the driver's log",
    response_class=PlainTextResponse,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **refusals(NotFound, Unavailable)},
    description="The log of a run as it is now, as a file of text; of a very long one what is kept of it.",
)
def log_file(
    face: Annotated[Face, Depends(face_of)],
    job: Annotated[str, Path(description=JOB)],
    run: Annotated[str, Query(description="Id of a run; the newest one if empty.")] = "",
) -> StreamingResponse:
    question = ReadLog(job, run, 0, PIECE_BYTES)
    first = face.ask(question)
    headers = {"Content-Disposition": f'attachment; filename="{job}-{first.run}.log"', "Cache-Control": "no-store"}
    return StreamingResponse(_pieces(face, replace(question, run=first.run), first), headers=headers, media_type="text/plain")


def _pieces(face: Face, question: ReadLog, chunk: LogChunk) -> Iterator[str]:
    """Up to the end that the log had at the first piece: a job that writes all the time has no other."""
    size = chunk.size
    while chunk.text:
        yield chunk.text
        if chunk.next_offset >= size:
            return
        chunk = face.ask(replace(question, offset=chunk.next_offset, limit=min(PIECE_BYTES, max(4, size - chunk.next_offset))))
