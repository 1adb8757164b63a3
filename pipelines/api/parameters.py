"""What a call takes: a parameter that it does not know is refused, in the query as in the body, with the names of those that it does."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute

from pipelines.domain.errors import Invalid
from pipelines.domain.texts import shown_in_line


async def known(request: Request) -> None:
    """Refuses a query with a parameter that the call has not (Invalid, `request.parameter`): a POST with `?dry_run=true` would be done,
    because its `dry_run` belongs into its body, and a list with a misspelt filter would be the whole list."""
    route = request.scope.get("route")
    if not request.query_params or not isinstance(route, APIRoute):
        return
    names = in_query(route)
    unknown = next((name for name in request.query_params if name not in names), None)
    if unknown is not None:
        instead = f"Put {unknown} into its body, which is JSON." if unknown in in_body(route) else taken(unknown, names) or "It has none."
        raise Invalid("request.parameter", f"This call has no query parameter {shown_in_line(unknown)!r}", instead)


def taken(name: str, names: Sequence[str]) -> str:
    """What a call takes instead of `name`, the nearest first; empty where it takes nothing."""
    if not names:
        return ""
    near = difflib.get_close_matches(name, names, 1)
    meant = f"Is {near[0]} meant? " if near else ""
    return f"{meant}It takes {', '.join(names)}."


def in_query(route: APIRoute) -> tuple[str, ...]:
    """The names of the query parameters of a call."""
    return tuple(parameter.alias for parameter in get_flat_params(route.dependant) if isinstance(parameter.field_info, Query))


def in_body(route: APIRoute) -> tuple[str, ...]:
    """The names of the body's fields of a call."""
    shapes: list[Any] = [parameter.field_info.annotation for parameter in route.dependant.body_params]
    return tuple(part.name for shape in shapes if is_dataclass(shape) for part in fields(shape))
