"""Error answers: one body shape for refusals, malformed requests and unexpected errors."""

from __future__ import annotations

import logging

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.api.body_limit import LimitBody
from pipelines.domain.errors import STATUS_AND_EXIT_CODES, Invalid, NotFound, TidemarkError
from pipelines.domain.texts import shown_in_line

log = logging.getLogger(__name__)


def answer_failures(api: FastAPI) -> None:
    """Makes `api` answer every failure in the body shape of `TidemarkError.as_json`."""
    api.add_exception_handler(TidemarkError, _refused)
    api.add_exception_handler(RequestValidationError, _malformed)
    api.add_exception_handler(HTTPException, _no_such_route)
    api.add_middleware(LimitBody)
    api.add_middleware(AnswerUnexpected)


class AnswerUnexpected:
    """Logs unexpected errors with their traceback, and answers them as `internal` (a pure ASGI middleware)."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watch(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, watch)
        except Exception:
            if begun or scope["type"] != "http":
                raise
            log.exception("%s %s failed", scope["method"], shown_in_line(scope["path"]))
            await _answer(TidemarkError("internal", "Tidemark failed", "The server's log has the traceback."))(scope, receive, send)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, TidemarkError)
    return _answer(error)


async def _malformed(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    wrong = "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors())
    return _answer(Invalid("request.invalid", wrong, f"{request.scope.get('root_path', '')}/docs shows what this call takes."))


async def _no_such_route(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    docs = f"{request.scope.get('root_path', '')}/docs lists all calls."
    call = f"{request.method} {request.url.path}"
    if error.status_code == 400:  # what FastAPI says of a body that is no JSON
        return _answer(Invalid("request.invalid", f"{call}: {error.detail}", docs))
    if error.status_code == 404:
        return _answer(NotFound("request.no_such_path", f"there is no {call}", docs))
    return _answer(Invalid("request.refused", f"{call}: {error.detail}", docs), error.status_code, error.headers)


def _answer(error: TidemarkError, status: int | None = None, headers: object = None) -> JSONResponse:
    """The answer for `error`, with the status of its group unless another is given."""
    header_fields = dict(headers) if isinstance(headers, dict) else None
    return JSONResponse(error.as_json(), status or STATUS_AND_EXIT_CODES[error.group][0], header_fields)
