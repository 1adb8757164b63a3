"""Tokens that a provider issues, over REST: who is let in, and what is forged, for somebody else, too old, or of a key that it withdrew."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from dashboard import server
from dashboard.assembly import Api
from dashboard.entrance import Entrance
from dashboard.oidc import bearer, settings
from pipelines.domain.access import CALLER, Access, Role
from pipelines.domain.sign_ins import Admission
from tests.dashboard.providers import CLIENT, SECRET, Browser, IdTokens, Running, running
from tests.entering import TOKEN

pytestmark = pytest.mark.filterwarnings("ignore:get_jwt_config:DeprecationWarning")  # of the provider's own code

NOW_S = 1_800_000_000
AUDIENCE = "tidemark-api"


@pytest.fixture(scope="module")
def provider() -> Iterator[Running]:
    with running() as there:
        yield there


@pytest.fixture(scope="module")
def key(provider: Running) -> Iterator[RSAKey]:
    """The provider's own, as it signs an ID token with it."""
    kept: list[dict[str, Any]] = []
    made = IdTokens.get_jwt_config

    def noted(*given: Any) -> Any:
        config = made(*given)
        kept.append(config["key"])
        return config

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(IdTokens, "get_jwt_config", noted)
        server.api.signs_in(settings.Oidc(Admission(provider.issuer, CLIENT, {}, Role.VIEWER), SECRET))
        server.api.access = Access(TOKEN)
        provider.knows("1")
        Browser(server.app).signs_in("1")
    yield RSAKey.import_key(kept[0])
    server.api.signs_in(None)
    server.api.access = None


class Called:
    """REST behind the entrance, which says who came in."""

    def __init__(self, provider: Running, audience: str = AUDIENCE) -> None:
        self.now_s = NOW_S
        self.refused: list[str] = []
        admission = Admission(provider.issuer, CLIENT, {"staff": Role.VIEWER, "sre": Role.OPERATOR})
        self.api = Api()
        self.api.signs_in(settings.Oidc(admission, SECRET, audience=audience))
        access = Access(TOKEN, now_ms=lambda: self.now_s * 1_000, sign_ins=self.api.admission)

        async def said(request: Request) -> JSONResponse:
            caller = request.scope[CALLER]
            return JSONResponse([caller.name, caller.role, caller.identity])

        async def refused(code: str, origin: str) -> None:
            self.refused.append(code)

        inside = Starlette(routes=[Route("/api/who", said), Route("/page", said)])
        self.app = Entrance(inside, access=lambda: access, entered=self.api.entered, refused=refused, bearers=lambda: self.api.bearers)

    def ask(self, token: str, path: str = "/api/who") -> httpx.Response:
        return Browser(self.app).open(path, authorization=f"Bearer {token}")


@pytest.fixture
def called(provider: Running) -> Called:
    return Called(provider)


def claims(provider: Running, **changed: Any) -> dict[str, Any]:
    usual = {"iss": provider.issuer, "aud": AUDIENCE, "sub": "ci", "groups": ["sre"], "iat": NOW_S, "exp": NOW_S + 300, **changed}
    return {name: value for name, value in usual.items() if value is not None}


def issued(provider: Running, key: Any, header: dict[str, Any] | None = None, **changed: Any) -> str:
    usual = {"alg": "RS256", "typ": "at+jwt", "kid": key.kid}
    head = {name: value for name, value in {**usual, **(header or {})}.items() if value is not None}
    return jwt.encode(head, claims(provider, **changed), key, algorithms=[head["alg"]])


def test_the_providers_token_lets_in_as_whom_it_names_in_the_role_of_his_claim(called: Called, provider: Running, key: RSAKey) -> None:
    host = provider.issuer.removeprefix("http://")
    assert called.ask(issued(provider, key)).json() == [f"ci@{host}", "operator", f"ci of {provider.issuer}"]
    named = issued(provider, key, groups=["staff"], email="ann@example.org", email_verified=True, aud=["other", AUDIENCE])
    assert called.ask(named).json()[:2] == ["ann@example.org", "viewer"]
    assert called.ask(TOKEN).json() == ["", "admin", ""], "the workspace's own still do"


def test_without_an_audience_none_of_them_does(provider: Running, key: RSAKey) -> None:
    assert Called(provider, audience="").ask(issued(provider, key)).status_code == 401


def test_who_has_no_role_is_told_so(called: Called, provider: Running, key: RSAKey) -> None:
    answer = called.ask(issued(provider, key, groups=["others"]))
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "oidc.no_role")
    assert called.refused == ["oidc.no_role"]


def test_pages_take_none(called: Called, provider: Running, key: RSAKey) -> None:
    assert called.ask(issued(provider, key), "/page").status_code == 401
    assert Browser(called.app).open(f"/page?token={issued(provider, key)}").status_code == 401


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": "another"},
        {"aud": None},
        {"aud": f"{AUDIENCE}x"},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"exp": NOW_S - 61},
        {"exp": None},
        {"nbf": NOW_S + 61},
        {"iat": NOW_S + 61},
        {"sub": None},
        {"sub": ""},
    ],
    ids=str,
)
def test_what_is_for_another_of_another_or_of_another_time_lets_nobody_in(
    called: Called, provider: Running, key: RSAKey, changed: dict[str, Any]
) -> None:
    answer = called.ask(issued(provider, key, **changed))
    assert answer.status_code == 401 and answer.json()["error"]["code"] in ("access.token", "oidc.token", "oidc.subject")
    assert len(called.refused) == 1


def test_it_ends_with_its_time(called: Called, provider: Running, key: RSAKey) -> None:
    token = issued(provider, key)
    called.now_s = NOW_S + 359
    assert called.ask(token).status_code == 200
    called.now_s = NOW_S + 362
    assert called.ask(token).status_code == 401


def test_what_the_providers_key_did_not_sign_lets_nobody_in(called: Called, provider: Running, key: RSAKey) -> None:
    other = RSAKey.generate_key(private=True)
    assert called.ask(issued(provider, other, {"kid": key.kid})).status_code == 401
    carries = {"kid": key.kid, "jwk": other.as_dict(private=False)}
    assert called.ask(issued(provider, other, carries)).status_code == 401
    shared = OctKey.import_key(json.dumps(key.as_dict(private=False)) * 2)
    assert called.ask(issued(provider, shared, {"alg": "HS256", "kid": key.kid})).status_code == 401
    _, body, _ = issued(provider, key).split(".")
    unsigned = base64.urlsafe_b64encode(b'{"alg":"none","typ":"at+jwt"}').rstrip(b"=").decode()
    assert called.ask(f"{unsigned}.{body}.").status_code == 401
    assert called.ask(issued(provider, key, {"typ": "logout+jwt"})).status_code == 401


def test_a_strangers_text_asks_the_provider_nothing(provider: Running, key: RSAKey) -> None:
    called = Called(provider)
    before = len(provider.sent)
    for text in ("a.b.c", "..", "a" * 20_000, f"{'a' * 9_000}.{'b' * 9_000}.c", issued(provider, key, aud="another")):
        assert called.ask(text).status_code == 401
    assert len(provider.sent) == before


def test_a_key_that_is_not_known_is_asked_for_once_a_minute_at_most(
    called: Called, provider: Running, key: RSAKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = RSAKey.generate_key(private=True)
    assert called.ask(issued(provider, key)).status_code == 200

    def reads() -> int:
        return sum(sent["path"] == "/jwks" for sent in provider.sent)

    before = reads()
    assert {called.ask(issued(provider, other, {"kid": name})).status_code for name in ("a", "b", "c")} == {401}
    assert reads() == before + 1
    monkeypatch.setattr(bearer, "ANEW_S", 0.0)
    assert called.ask(issued(provider, other, {"kid": "d"})).status_code == 401 and reads() == before + 2


def test_while_the_provider_is_away_that_is_said(provider: Running, key: RSAKey, monkeypatch: pytest.MonkeyPatch) -> None:
    called = Called(provider)
    monkeypatch.setattr(provider, "down", True)
    answer = called.ask(issued(provider, key))
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "oidc.away")
    assert called.ask(TOKEN).status_code == 200
