"""A request to a part of the server, without a socket."""

from __future__ import annotations

import asyncio

import httpx
from starlette.types import ASGIApp


def answered(app: ASGIApp, path: str, *, method: str = "GET", body: object = None, **headers: str) -> httpx.Response:
    """What `app` answers to `path`; `body` goes out as JSON."""

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            return await client.request(method, path, headers=headers, json=body)

    return asyncio.run(ask())
