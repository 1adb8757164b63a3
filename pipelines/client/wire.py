"""The REST API of a running server, as calls that answer bytes and raise domain errors."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from types import GenericAlias
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args, get_origin
from urllib.parse import quote

from pipelines.domain.errors import Corrupt, NotFound, TidemarkError, Unavailable, from_json
from pipelines.domain.events import ACTOR_HEADER
from pipelines.storage.documents import decode, encode
from pipelines.verbs.verb import WARNINGS_HEADER

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 3600.0
"""A comparison reads whole outputs before it answers."""
PAUSES_S = (0.2, 0.8, 2.0, 4.0)
"""A call whose connection is lost is sent again after each of these: nothing is done twice, for a change has a key."""
KEY_HEADER = "idempotency-key"
UNDER_WAY = b'"idempotency.under_way"'
"""The code of the refusal of a call whose first sending is not answered yet."""
PREFER = {"prefer": "respond-async"}
"""RFC 7240: what takes its time is answered with its operation."""


def verification(url: str, certificate: str = "") -> SSLContext | bool:
    """How the certificate of the server at `url` is verified: it is the very one in the file `certificate`, whatever name it has; without
    one those of the machine vouch for it. Reading these takes 20 ms, which plain HTTP has no use for."""
    import httpx

    if not certificate or httpx.URL(url).scheme == "http":
        return httpx.URL(url).scheme != "http"
    import ssl

    pinned = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    pinned.check_hostname = False
    pinned.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        pinned.load_verify_locations(certificate)
    except OSError as error:
        hint = "Give this user the right to read it, or start the server again."
        raise Unavailable("server.certificate", f"The server's certificate {certificate} cannot be read: {error}", hint) from error
    return pinned


def bearer(token: str) -> dict[str, str]:
    """The header that shows a token (RFC 6750); none without a token."""
    return {"authorization": f"Bearer {token}"} if token else {}


class Answer(NamedTuple):
    """What a server answered to a call that it did."""

    status: int
    body: bytes
    warnings: tuple[str, ...] = ()


class Wire:
    """Calls below `url`, showing `token`. Raises what the server raised, and Unavailable where no server answers, or strangely."""

    def __init__(self, url: str, token: str, transport: httpx.BaseTransport | None, certificate: str) -> None:
        import httpx

        self.url, self.actor = url, ""
        patience = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
        self._http = httpx.Client(
            base_url=f"{url}/api/v1",
            headers=bearer(token),
            transport=transport,
            timeout=patience,
            trust_env=False,
            verify=verification(url, certificate),
        )

    def close(self) -> None:
        """Closes the connection."""
        self._http.close()

    def acting(self, actor: str) -> Wire:
        """The same connection; its calls say that they are by `actor`."""
        same = copy(self)
        same.actor = actor
        return same

    def read(self, kind: Any, answer: Answer) -> Any:
        """The body of an answer as a `kind` (a sequence as a tuple); Unavailable where it is none."""
        try:
            return decode(_as_tuple(kind), answer.body, "the answer")
        except Corrupt as error:
            raise _strange(self.url, error.message) from error

    def call(self, method: str, path: str, *, query: Mapping[str, Any], body: Any = None, key: str = "") -> Answer:
        """The answer; raises the error that it says, or Unavailable. `body` None sends none. What changes something has a `key`, for a call
        whose connection is lost is sent again."""
        headers = PREFER | ({ACTOR_HEADER: self.actor} if self.actor else {}) | ({KEY_HEADER: key} if key else {})
        if body is not None:
            headers |= {"content-type": "application/json"}
        content = None if body is None else encode(body)
        answer = self._answered(self._http.build_request(method, path, params=query, content=content, headers=headers))
        if answer.is_success:
            warned = answer.headers.get(WARNINGS_HEADER, "[]").encode()
            return Answer(answer.status_code, answer.content, self.read(Sequence[str], Answer(answer.status_code, warned)))
        raise _refusal(answer.status_code, answer.content, self.url)

    def _answered(self, request: httpx.Request) -> httpx.Response:
        """The answer; once the connection was lost, also to the same request sent again. Unavailable where there is none."""
        import httpx

        was_lost = False
        for pause_s in (*PAUSES_S, None):
            try:
                answer = self._http.send(request)
            except httpx.HTTPError as error:
                was_lost = was_lost or isinstance(error, (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError))
                if not was_lost or pause_s is None:
                    raise unreachable(self.url, error) from error
            else:
                if pause_s is None or answer.status_code != 409 or UNDER_WAY not in answer.content:
                    return answer
            time.sleep(pause_s)
        raise AssertionError("the last try answers or raises")

    @contextmanager
    def stream(self, path: str, last: str) -> Iterator[Iterator[str]]:
        """The lines of the server-sent events at `path` that come after the place `last`; raises the error that the server says."""
        import httpx

        from pipelines.client.updates import SILENT_S

        headers = {"accept": "text/event-stream"} | ({"last-event-id": last} if last else {})
        patience = httpx.Timeout(SILENT_S, connect=CONNECT_SECONDS)
        with self._http.stream("GET", path, headers=headers, timeout=patience) as answer:
            if not answer.is_success:
                raise _refusal(answer.status_code, answer.read(), self.url)
            yield answer.iter_lines()


def path_of(template: str, values: Mapping[str, Any]) -> str:
    """A path with its quoted names. NotFound (`request.no_such_name`) for what no path can say, and nothing is called: `.`, and what has a
    slash, but for a savepoint, whose name may be a path itself."""
    names = {name: str(value) for name, value in values.items()}
    for name, value in names.items():
        if value in (".", "..") or ("/" in value and name != "savepoint"):
            raise NotFound("request.no_such_name", f"There is no {name} {value!r}", "No name has a '/', or is '.' or '..'.")
    return re.sub(r"\{(\w+)\}", lambda name: quote(names[name[1]], safe=""), template)


def _as_tuple(kind: Any) -> Any:
    """The type of a tuple for that of a sequence, as a workspace in this process answers."""
    return GenericAlias(tuple, (*get_args(kind), ...)) if get_origin(kind) is Sequence else kind


def _refusal(status: int, answer: bytes, url: str) -> TidemarkError:
    """The error that an answer describes."""
    try:
        return from_json(cast(dict[str, Any], decode(dict, answer, "the answer")))
    except (Corrupt, KeyError, TypeError):
        return _strange(url, f"status {status}")


def unreachable(url: str, error: Exception) -> Unavailable:
    return Unavailable(
        "server.unreachable",
        f"the server at {url} does not answer: {error}",
        "See whether it still runs; when it is stopped, commands open the workspace themselves.",
    )


def _strange(url: str, description: str) -> Unavailable:
    return Unavailable(
        "server.answer",
        f"the server at {url} sent an unexpected answer: {description}",
        "Restart it: it may be of another version than this command.",
    )
