"""The REST API of a running server, as calls that answer domain values and raise domain errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote

from pipelines.domain.errors import Corrupt, TidemarkError, Unavailable, from_json
from pipelines.domain.events import ACTOR_HEADER
from pipelines.storage.documents import decode, encode

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 3600.0
"""A verify reads whole savepoints before it answers."""


class Wire:
    """Calls below `url`. Raises what the server raised, and Unavailable where no server answers, or strangely."""

    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        import httpx

        self.url, self.actor = url, ""
        patience = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
        self._http = httpx.Client(base_url=f"{url}/api/v1", transport=transport, timeout=patience, trust_env=False)

    def close(self) -> None:
        """Lets the connection go."""
        self._http.close()

    def get(self, kind: type[T], path: str, /, **query: Any) -> T:
        return _read(kind, self.call("GET", path, query=query), self.url)

    def find(self, kind: type[T], path: str) -> T | None:
        """None where the server says that there is none (`null`)."""
        answer = self.call("GET", path)
        return None if answer == b"null" else _read(kind, answer, self.url)

    def delete(self, kind: type[T], path: str, **query: Any) -> T:
        return _read(kind, self.call("DELETE", path, query=query), self.url)

    def post(self, kind: type[T], path: str, request: object, **query: Any) -> T:
        body = b"" if request is None else encode(request)
        return _read(kind, self.call("POST", path, query=query, body=body), self.url)

    def patch(self, kind: type[T], path: str, request: object) -> T:
        return _read(kind, self.call("PATCH", path, body=encode(request)), self.url)

    def call(self, method: str, path: str, *, query: Mapping[str, Any] | None = None, body: bytes | None = None) -> bytes:
        """The answer's body; raises the error that it says, or Unavailable."""
        import httpx

        headers = {ACTOR_HEADER: self.actor} if self.actor else {}
        if body is not None:
            headers["content-type"] = "application/json"
        try:
            answer = self._http.request(method, path, params=query, content=body, headers=headers)
        except httpx.HTTPError as error:
            raise Unavailable(
                "server.unreachable",
                f"the server at {self.url} does not answer: {error}",
                "See whether it still runs; when it is stopped, commands open the workspace themselves.",
            ) from error
        if answer.is_success:
            return answer.content
        raise _said(answer.status_code, answer.content, self.url)


def path(*parts: str) -> str:
    """A path of quoted parts: a savepoint's name may be a path itself."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def _read(kind: type[T], answer: bytes, url: str) -> T:
    try:
        return decode(kind, answer, "the answer")
    except Corrupt as error:
        raise _strange(url, error.message) from error


def _said(status: int, answer: bytes, url: str) -> TidemarkError:
    """The error that an answer describes."""
    try:
        return from_json(cast(dict[str, Any], decode(dict, answer, "the answer")))
    except (Corrupt, KeyError, TypeError):
        return _strange(url, f"status {status}")


def _strange(url: str, what: str) -> Unavailable:
    return Unavailable(
        "server.answer", f"the server at {url} answers strangely: {what}", "Restart it: it may be of another version than this command."
    )
