"""Error answers as problem details (RFC 9457), for REST and for whatever refuses a request before it gets there."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from starlette.responses import HTMLResponse, JSONResponse

from pipelines.domain.errors import STATUS_AND_EXIT_CODES, TidemarkError, meaning

MEDIA_TYPE = "application/problem+json"
PLACE = "/problems"
TYPES = f"/api{PLACE}"
"""The page that says what each type of problem means; a type is its anchor on it."""


OWN_STATUS = {"request.content_type": 415}
"""Code -> HTTP status, where that says more than the status of its group."""


@dataclass(frozen=True)
class ErrorDetail:
    """What went wrong: `group` decides status and exit code, `code` is for programs, `message` and `hint` for people."""

    group: str
    code: str
    message: str
    hint: str


@dataclass(frozen=True)
class ProblemDetails:
    """The body of every refusal (RFC 9457). `type` is the group's place on the page of problems, `instance` the path that was asked for;
    `error` has what programs look at."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    error: ErrorDetail


def content(error: TidemarkError, path: str, status: int | None = None) -> dict[str, Any]:
    """The body for `error` of a request for `path`, with the status of its code, else of its group, unless another is given."""
    status = status or OWN_STATUS.get(error.code) or STATUS_AND_EXIT_CODES[error.group][0]
    return {
        "type": f"{TYPES}#{error.group}",
        "title": meaning(error.group),
        "status": status,
        "detail": error.message,
        "instance": quote(path),
        **error.as_json(),
    }


def answer(error: TidemarkError, path: str, status: int | None = None, headers: dict[str, str] | None = None) -> JSONResponse:
    """The answer for `error`, whole."""
    body = content(error, path, status)
    return JSONResponse(body, body["status"], headers, MEDIA_TYPE)


def written(error: TidemarkError, status: int) -> bytes:
    """The body for `error` of a request that never arrived whole."""
    return json.dumps(content(error, "", status)).encode()


def unexpected() -> TidemarkError:
    """The error of what nobody expected."""
    return TidemarkError("internal", "Tidemark failed", "The server's log has the traceback.")


async def page() -> HTMLResponse:
    """The page of problems: what each type means, with its status and exit code."""
    rows = [
        f'<tr id="{group}"><th>{group}</th><td>{status}</td><td>{exit_code}</td><td>{html.escape(meaning(group))}</td></tr>'
        for group, (status, exit_code) in STATUS_AND_EXIT_CODES.items()
    ]
    head = "<tr><th>group</th><th>HTTP status</th><th>exit code</th><th>what it means</th></tr>"
    return HTMLResponse(
        f"<!DOCTYPE html><html lang=en><title>Problems – Tidemark</title><h1>Problems</h1><table>{head}{''.join(rows)}</table></html>"
    )


def described(schema: dict[str, Any]) -> dict[str, Any]:
    """An OpenAPI document whose refusals have the media type that they are sent with; what has to be JSON is refused where it is not
    said to be."""
    for method, operation in (item for path in schema["paths"].values() for item in path.items()):
        if method in ("post", "patch"):
            operation["responses"]["415"] = {**operation["responses"]["422"], "description": "Refused: not said to be JSON"}
        for status, response in operation["responses"].items():
            if status >= "400":
                (content,) = response["content"].values()
                response["content"] = {MEDIA_TYPE: content}
    return schema
