"""A real OpenID provider in a thread, and a browser that signs in with it to a server's application."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import flask
import httpx
from starlette.types import ASGIApp

with warnings.catch_warnings():
    import authlib.deprecate  # noqa: F401  which has all of its warnings shown

    warnings.simplefilter("ignore")  # the provider still imports what Authlib will leave out one day
    import oidc_provider_mock
    from oidc_provider_mock._app import OpenIDCode as IdTokens
    from oidc_provider_mock._server import _threaded_server

ORIGIN = "http://127.0.0.1:8501"
__all__ = ["CLIENT", "ORIGIN", "SECRET", "Browser", "IdTokens", "Running", "asked", "running"]
CLIENT, SECRET = "tidemark", "a-secret-of-the-client"


@dataclass
class Running:
    """A provider, and the forms and queries that it was sent."""

    issuer: str
    sent: list[dict[str, Any]] = field(default_factory=list)
    down: bool = False
    """Whether it answers 503 to everything."""

    def knows(self, subject: str, **claims: Any) -> None:
        """From now on somebody of this subject signs in with these claims."""
        httpx.put(f"{self.issuer}/users/{subject}", json=claims, trust_env=False, timeout=60).raise_for_status()


@contextmanager
def running(port: int = 0) -> Iterator[Running]:
    """A provider on a free port."""
    app = oidc_provider_mock.app(require_nonce=True)
    provider = Running("")

    def look() -> flask.Response | None:
        secret = flask.request.authorization.password if flask.request.authorization else None
        provider.sent.append({"path": flask.request.path, **flask.request.values.to_dict(), "secret": secret})
        return flask.Response("down", 503) if provider.down else None

    app.before_request(look)
    with _threaded_server(app, port=port) as server:
        provider.issuer = f"http://localhost:{server.server_port}"
        yield provider


class Browser:
    """Somebody's browser: it keeps cookies, follows no redirect by itself, and says which site it comes from."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.cookies = httpx.Cookies()

    def open(self, address: str, method: str = "GET", **headers: str) -> httpx.Response:
        """The server's answer."""

        async def opened() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, cookies=self.cookies) as client:
                answer = await client.request(method, address, headers=headers)
                self.cookies = client.cookies
                return answer

        return asyncio.run(opened())

    def begins(self, to: str = "/") -> str:
        """The provider's address, which the server leads to."""
        answer = self.open(f"/oidc/sign-in?{httpx.QueryParams({'to': to})}")
        assert answer.status_code == 302, answer.text
        return answer.headers["location"]

    def agrees(self, address: str, subject: str) -> str:
        """The address on this server that the provider leads back to, once somebody has signed in there; the server's part is left out."""
        answer = httpx.post(address, data={"sub": subject}, trust_env=False, timeout=60)
        assert answer.status_code == 302, answer.text
        parts = urlsplit(answer.headers["location"])
        assert f"{parts.scheme}://{parts.netloc}" == ORIGIN
        return f"{parts.path}?{parts.query}"

    def signs_in(self, subject: str, to: str = "/") -> httpx.Response:
        """The server's answer at the end of it all."""
        return self.open(self.agrees(self.begins(to), subject))


def asked(address: str) -> dict[str, str]:
    """What the query of an address says."""
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
