"""Where a list of events goes on: the header `Link`."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request, Response

from pipelines.domain.jobs import Event


def link_older(request: Request, response: Response, found: Sequence[Event], limit: int) -> None:
    """Says where older events are than `found`, unless they are fewer than `limit` and so the last ones."""
    if len(found) == limit:
        response.headers["Link"] = f'<{request.url.include_query_params(before=found[-1].cursor)}>; rel="next"'
