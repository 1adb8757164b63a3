"""Common parts of requests and answers: the face they reach, the errors they document, the check of bodies."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from pipelines.api.problems import ProblemDetails
from pipelines.domain.access import CALLER, Caller
from pipelines.domain.errors import STATUS_AND_EXIT_CODES, Forbidden, Invalid, TidemarkError, Unauthenticated
from pipelines.domain.events import ACTOR_HEADER, actor_of
from pipelines.verbs.face import Face
from pipelines.verbs.limited import Limited


async def face_of(request: Request) -> Face:
    """The workspace as the caller may use it; its events name him, and for whom he says that he acts. Unauthenticated without a caller."""
    caller: Caller | None = request.scope.get(CALLER)
    if caller is None:
        raise Unauthenticated("access.token", "nobody knows who asks", "Show a token: Authorization: Bearer.")
    state, origin = request.app.state, request.client.host if request.client else ""
    return Limited(state.face, caller, state.record, origin).acting(actor_of(request.headers.get(ACTOR_HEADER)))


async def json_only(request: Request) -> None:
    """Refuses a POST (or PATCH) that does not say it is JSON (Invalid): a form on another site can post, but cannot say that unasked."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method in ("POST", "PATCH") and content_type != "application/json":
        raise Invalid(
            "request.content_type",
            f"a {request.method} here is JSON, and this one says {content_type or 'nothing'!r}",
            "Send the header 'Content-Type: application/json', also without a body.",
        )


def refusals(*kinds: type[TidemarkError]) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that may refuse with `kinds`; a wrong request, one without a token or
    the role for it, and a failure may come from every one."""
    groups = ["invalid", *(kind.group for kind in kinds), Unauthenticated.group, Forbidden.group, "internal"]
    by_status: dict[int | str, list[str]] = {}
    for group in dict.fromkeys(groups):
        by_status.setdefault(STATUS_AND_EXIT_CODES[group][0], []).append(group)
    return {status: {"model": ProblemDetails, "description": "Refused: " + " or ".join(names)} for status, names in by_status.items()}
