"""What requests and answers have in common: the face they reach, the errors they document, what a body may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from pydantic import ConfigDict, with_config

from pipelines.domain import requests, states
from pipelines.domain.errors import STATUS_AND_EXIT_CODES, Invalid, TidemarkError
from pipelines.domain.events import ACTOR_HEADER, actor_of
from pipelines.domain.trust import Trust
from pipelines.workspace.face import Face

REQUESTS = (
    requests.RunRequest,
    requests.StopRequest,
    requests.ResumeRequest,
    requests.TakeRequest,
    requests.ForkRequest,
    requests.ExperimentRequest,
    requests.CompareRequest,
    requests.ExportRequest,
    requests.ImportRequest,
    requests.AttachRequest,
    requests.AnnotateRequest,
    requests.DisposeRequest,
    states.StateRequest,
    states.StateQuery,
    requests.PromoteRequest,
    requests.DropRequest,
    requests.UndropRequest,
)


@dataclass(frozen=True)
class ErrorDetail:
    """What went wrong: `group` decides status and exit code, `code` is for programs, `message` and `hint` for people."""

    group: str
    code: str
    message: str
    hint: str


@dataclass(frozen=True)
class ErrorBody:
    """The body of every refusal."""

    error: ErrorDetail


def face_of(request: Request) -> Face:
    """The workspace that this application serves; its events name who the call says it is by."""
    face: Face = request.app.state.face
    return face.acting(actor_of(request.headers.get(ACTOR_HEADER)))


def json_only(request: Request) -> None:
    """Refuses a POST (or PATCH) that does not say it is JSON (Invalid): a form on another site can post, but cannot say that unasked."""
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method in ("POST", "PATCH") and said != "application/json":
        raise Invalid(
            "request.content_type",
            f"a {request.method} here is JSON, and this one says {said or 'nothing'!r}",
            "Send the header 'Content-Type: application/json', also without a body.",
        )


def refuse_unknown_fields() -> None:
    """Makes a misspelt field of a request an error: left alone, `{"bacth": 7}` would take a savepoint of another batch."""
    for kind in REQUESTS:
        with_config(ConfigDict(extra="forbid"))(kind)


def refusals(*kinds: type[TidemarkError]) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that may refuse with `kinds`; a wrong request and a failure may come from every one."""
    groups = ["invalid", *(kind.group for kind in kinds), "internal"]
    by_status: dict[int | str, list[str]] = {}
    for group in groups:
        by_status.setdefault(STATUS_AND_EXIT_CODES[group][0], []).append(group)
    return {status: {"model": ErrorBody, "description": "Refused: " + " or ".join(said)} for status, said in by_status.items()}


def planned(plan: type) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route whose dry run answers with a `plan`, and with 200."""
    return {200: {"model": plan, "description": "The plan that a dry run asked for"}}


FaceNow = Annotated[Face, Depends(face_of)]
JobNamed = Annotated[str, Path(description="Name of a job.", examples=["post_engagement"])]
SavepointNamed = Annotated[
    str,
    Path(description="Id of a savepoint, a unique beginning of it, or its path (with every `/` as `%2F`).", examples=["sp-0123456789ab"]),
]
Level = Annotated[Trust, Query(description="How far to check: files and sizes, checksums, or a restore by Spark.")]
Points = Annotated[int, Query(ge=1, le=10_000, description="At most this many points.")]
