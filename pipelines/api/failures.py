"""What is answered with an error: one body shape for refusals, malformed requests and unexpected errors."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.api import parameters, problems
from pipelines.api.body_limit import LimitBody
from pipelines.domain.errors import Invalid, NotFound, TidemarkError
from pipelines.domain.texts import shown_in_line

log = logging.getLogger(__name__)
UNKNOWN_FIELD = ("unexpected_keyword_argument", "extra_forbidden")
"""What pydantic calls a field that is not declared."""
JSON_TYPES = {"dataclass_type": "an object", "dict_type": "an object", "tuple_type": "an array", "list_type": "an array"}
"""Pydantic's error of a value of another type -> what JSON calls the right one."""
NO_JSON = "its body is no JSON, or nests too deeply"


def answer_failures(api: FastAPI) -> None:
    """Makes `api` answer every failure as a problem (RFC 9457), and say so in its description."""
    api.add_exception_handler(TidemarkError, _refused)
    api.add_exception_handler(RequestValidationError, _malformed)
    api.add_exception_handler(HTTPException, _no_such_route)
    described = api.openapi
    api.openapi = lambda: problems.described(described())  # type: ignore[method-assign]
    api.add_api_route(problems.PLACE, problems.page, include_in_schema=False)
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
            await problems.answer(problems.unexpected(), scope["path"])(scope, receive, send)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, TidemarkError)
    return problems.answer(error, request.scope["path"])


async def _malformed(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    wrong = "; ".join(f"{'.'.join(map(str, problem['loc']))}: {_words(problem)}" for problem in error.errors())
    docs = f"{request.scope.get('root_path', '')}/docs shows what this call takes."
    hint = " ".join(filter(None, (_known_instead(request, error), docs)))
    return problems.answer(Invalid("request.invalid", wrong, hint), request.scope["path"])


def _words(problem: Mapping[str, Any]) -> str:
    """What is wrong with a value: what our own checks say, without the word that Pydantic puts before it, and types by JSON's names."""
    if problem["type"] in JSON_TYPES:
        return f"Input should be {JSON_TYPES[problem['type']]}"
    return str(problem["msg"]).removeprefix("Value error, ")


def _known_instead(request: Request, error: RequestValidationError) -> str:
    """Which fields the body has, where one is not among them."""
    route = request.scope.get("route")
    for problem in error.errors():
        if problem["type"] in UNKNOWN_FIELD and isinstance(route, APIRoute) and tuple(problem["loc"][:-1]) == ("body",):
            return parameters.taken(str(problem["loc"][-1]), parameters.in_body(route))
    return ""


async def _no_such_route(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    docs = f"{request.scope.get('root_path', '')}/docs lists all calls."
    call = f"{request.method} {request.url.path}"
    headers = dict(error.headers or {})
    if error.status_code == 400:  # what FastAPI says of a body that is no JSON
        return problems.answer(Invalid("request.invalid", f"{call}: {NO_JSON}", docs), request.scope["path"])
    if error.status_code == 404:
        return problems.answer(NotFound("request.no_such_path", f"there is no {call}", docs), request.scope["path"])
    refused = Invalid("request.refused", f"{call}: {error.detail}", docs)
    return problems.answer(refused, request.scope["path"], error.status_code, headers)
