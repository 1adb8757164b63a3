"""The routes of REST, made from the declarations: path, parameters, body, answers, refusals and words of each."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields, is_dataclass, make_dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from fastapi import Body, Depends, FastAPI, Path, Query, Request, Response
from pydantic import ConfigDict, with_config
from pydantic import Field as Bounds

from pipelines import verbs
from pipelines.api import parameters
from pipelines.api.answers import Writer
from pipelines.api.bodies import face_of, refusals
from pipelines.api.body_limit import MOST_BYTES
from pipelines.api.idempotency import ChangeRoute, Key
from pipelines.api.problems import ProblemDetails
from pipelines.domain.errors import Conflict
from pipelines.domain.operations import Operation
from pipelines.domain.texts import MOST_ITEMS
from pipelines.storage.documents import encode
from pipelines.verbs.declaration import answer_type, default_of, hints, parts, plan_type, summary
from pipelines.verbs.face import Face
from pipelines.verbs.limits import MOST_NUMBER
from pipelines.verbs.listing import Listed, Sorted, next_page
from pipelines.verbs.verb import WARNINGS_HEADER, Asked, Change, Http, spelling

PREFER, ASYNC = "prefer", "respond-async"
"""RFC 7240: who sends it is answered 202 with the operation where the change takes its time."""
DRY_RUN = "Answer the plan that would run, and change nothing."


def add(api: FastAPI, kinds: Iterable[type[Asked[Any]]]) -> None:
    """Adds every path of `kinds`, the longer ones first: a savepoint may be named by its path."""
    calls = [(kind, http) for kind in kinds for http in (kind.http, *kind.also)]
    for kind, http in sorted(calls, key=lambda call: -_literals(call[1].path)):
        api.router.add_api_route(
            f"/v1{http.path.replace('{savepoint}', '{savepoint:path}')}",
            _handler(kind, http),
            methods=[http.method],
            status_code=http.status,
            name=http.name or kind.call,
            tags=[kind.topic],
            summary=summary(kind),
            description=_words(kind),
            responses=_responses(kind, http),
            response_model=_answers(kind, http),
            route_class_override=ChangeRoute if issubclass(kind, Change) else None,
            dependencies=[Depends(parameters.known)],
        )


def tags() -> list[dict[str, str]]:
    """The topics as OpenAPI lists them."""
    return [{"name": name, "description": words} for name, words in verbs.TOPICS.items()]


def _literals(path: str) -> int:
    return sum(not part.startswith("{") for part in path.split("/"))


def _words(kind: type[Asked[Any]]) -> str:
    """The docstring in one paragraph."""
    return " ".join((kind.__doc__ or "").split())


def _answers(kind: type[Asked[Any]], http: Http) -> Any:
    """The type of the answer without `dry_run` and `Prefer`."""
    if http.status == 204:
        return None
    answer = Operation if http.status == 202 else answer_type(kind)
    return answer | plan_type(kind) if issubclass(kind, Change) else answer


def _responses(kind: type[Asked[Any]], http: Http) -> dict[int | str, dict[str, Any]]:
    responses = refusals(*kind.refuses, *((Conflict,) if issubclass(kind, Change) else ()))
    if http.method in ("POST", "PATCH"):
        responses[408] = {"model": ProblemDetails, "description": "Refused: the request arrives too slowly"}
        responses[413] = {"model": ProblemDetails, "description": f"Refused: a body of more than {MOST_BYTES:,} bytes"}
    if issubclass(kind, Change):
        if http.status != 200:
            responses[200] = {"model": plan_type(kind), "description": "The plan that a dry run asked for"}
        if kind.kinds and http.status != 202:
            responses[202] = {
                "model": Operation,
                "description": "Its operation, where it takes its time and `Prefer: respond-async` was sent",
            }
    return responses


def _handler(kind: type[Asked[Any]], http: Http) -> Callable[..., Any]:
    """The function of a route: its signature is what FastAPI reads the call by."""
    answer = _change(kind, http) if issubclass(kind, Change) else _question(kind)

    def handle(face: Face, request: Request, response: Response, **arguments: Any) -> Any:
        body = arguments.pop("body", None)
        arguments.pop("idempotency_key", None)
        return answer(face, request, response, {**arguments, **_values(body)})

    handle.shown_once = issubclass(kind, Change) and kind.shown_once  # type: ignore[attr-defined]
    handle.__name__ = http.name or kind.call
    handle.__signature__ = inspect.Signature(_parameters(kind, http))  # type: ignore[attr-defined]
    return handle


def _question(kind: type[Any]) -> Callable[..., Any]:
    writer = Writer(answer_type(kind))

    def answer(face: Face, request: Request, response: Response, values: Mapping[str, Any]) -> Any:
        question = kind(**values)
        rows = face.ask(question)
        headers = {}
        if isinstance(question, Listed) and (following := next_page(question, rows)) is not None:
            headers["Link"] = f'<{request.url.include_query_params(after=following.after)}>; rel="next"'
        if kind.pages_by and rows and len(rows) == values["limit"]:
            older = request.url.include_query_params(**{kind.pages_by: rows[-1].cursor})
            headers["Link"] = f'<{older}>; rel="next"'
        return Response(writer.write(rows), headers=headers, media_type="application/json")

    return answer


def _change(kind: type[Any], http: Http) -> Callable[..., Any]:
    def answer(face: Face, request: Request, response: Response, values: Mapping[str, Any]) -> Any:
        change = kind(**{name: value for name, value in values.items() if name != "dry_run"})
        if values["dry_run"]:
            response.status_code = 200
            return face.plan(change)
        begun = face.begin(change)
        told = {WARNINGS_HEADER: json.dumps(begun.warnings)} if begun.warnings else {}
        if begun.is_answered or not (http.status == 202 or prefers_async(request)):
            response.headers.update(told)
            return face.answer(begun)
        return Response(encode(begun.operation), 202, told, "application/json")

    return answer


def prefers_async(request: Request) -> bool:
    """Whether the caller would rather follow an operation than wait."""
    return ASYNC in request.headers.get(PREFER, "")


def _values(body: Any) -> dict[str, Any]:
    """The body's fields by name, none of a call without a body; nested dataclasses stay as they are."""
    return {part.name: getattr(body, part.name) for part in fields(body)} if body is not None else {}


def _parameters(kind: type[Asked[Any]], http: Http) -> list[inspect.Parameter]:
    types = hints(kind)
    shown = [
        _parameter("face", Annotated[Face, Depends(face_of)]),
        _parameter("request", Request),
        _parameter("response", Response),
    ]
    path = [part for part in parts(kind) if f"{{{part.name}}}" in http.path]
    shown += [
        _parameter(part.name, Annotated[types[part.name], Path(description=spelling(part).help, **_limits(part, types[part.name]))])
        for part in path
    ]
    query = [part for part in parts(kind, "query") if part not in path]
    shown += [_in_query(kind, part, types[part.name]) for part in query]
    body = [part for part in parts(kind, "body") if part not in path]
    if body or (issubclass(kind, Change) and http.method in ("POST", "PATCH")):
        shown.append(_body(kind, body, types))
    elif issubclass(kind, Change):
        shown.append(_parameter("dry_run", Annotated[bool, Query(description=DRY_RUN)], False))
    if issubclass(kind, Change):
        shown.append(_parameter("idempotency_key", Key, None))
    return shown


def _parameter(name: str, annotation: Any, default: Any = MISSING) -> inspect.Parameter:
    signature_default = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=signature_default)


def _in_query(kind: type[Asked[Any]], part: Field[Any], hint: Any) -> inspect.Parameter:
    choices = {"enum": ["", *kind.rows.orders]} if issubclass(kind, Sorted) and part.name == "sort" else None
    described = Query(description=spelling(part).help, json_schema_extra=choices, **_limits(part, hint))
    return _parameter(part.name, Annotated[hint, described], default_of(part))


def _limits(part: Field[Any], hint: Any) -> dict[str, Any]:
    """The limits that a field declares, as FastAPI and OpenAPI call them."""
    spelt = spelling(part)
    if hint in (str, str | None):
        return {"min_length": spelt.least, "max_length": spelt.text.most}
    if get_origin(hint) is tuple:
        return {"max_length": MOST_ITEMS}
    if hint in (int, int | None):
        return {"ge": -MOST_NUMBER if spelt.least is None else spelt.least, "le": MOST_NUMBER if spelt.most is None else spelt.most}
    return {name: limit for name, limit in (("ge", spelt.least), ("le", spelt.most)) if limit is not None}


def _body(kind: type[Asked[Any]], body: Sequence[Field[Any]], hints: Mapping[str, Any]) -> inspect.Parameter:
    """The body as a dataclass of its own; a misspelt field is an error: `{"bacth": 7}` would take a savepoint of another batch."""
    rows = [_in_body(part, hints[part.name]) for part in body]
    if issubclass(kind, Change):
        rows.append(("dry_run", Annotated[bool, Bounds(description=DRY_RUN, strict=True)], field(default=False)))
    shape = make_dataclass(f"{kind.__name__}Request", rows, frozen=True, kw_only=True)
    with_config(ConfigDict(extra="forbid"))(shape)
    optional = all(default_of(part) is not MISSING for part in body)
    return _parameter("body", Annotated[shape, Body()], shape() if optional else MISSING)


def _with_strict_numbers(hint: Any, limits: Mapping[str, Any]) -> Any:
    """A union with a mapping, each of its numbers being JSON's own and within `limits`, which hold for numbers alone."""
    if hint is int:
        return Annotated[int, Bounds(strict=True, **limits)]
    if get_origin(hint) is Mapping:
        key, value = get_args(hint)
        mapping: Any = Mapping
        return mapping[key, _with_strict_numbers(value, limits)]
    return hint


def _is_strict(hint: Any) -> bool | None:
    """Whether JSON's own type is the only one that counts: `true` is no number, and 0 is no truth."""
    return True if hint in (int, int | None, bool, bool | None) else None


def _in_body(part: Field[Any], hint: Any) -> tuple[str, Any, Any]:
    spelt = spelling(part)
    for inner in (hint, *get_args(hint)):
        if isinstance(inner, type) and is_dataclass(inner):
            with_config(ConfigDict(extra="forbid"))(inner)
    kinds = get_args(hint) if get_origin(hint) is UnionType else ()
    annotated: Any
    if any(get_origin(kind) is Mapping for kind in kinds):
        limits = _limits(part, int)
        numbers: Any = Union[tuple(_with_strict_numbers(kind, limits) for kind in kinds)]  # noqa: UP007  made, not written
        annotated = Annotated[numbers, Bounds(description=spelt.help)]
    else:
        annotated = Annotated[hint, Bounds(description=spelt.help, strict=_is_strict(hint), **_limits(part, hint))]
    if part.default_factory is not MISSING:
        return part.name, annotated, field(default_factory=part.default_factory)
    return part.name, annotated, field() if part.default is MISSING else field(default=part.default)
