"""Sign-in with a real provider: who is let in, in which role, what is forged, replayed or too old, and a provider that is away."""

from __future__ import annotations

import base64
import hashlib
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from joserfc.jwk import OctKey, RSAKey

from dashboard import cookies, server, session
from dashboard.oidc import provider as providers
from dashboard.oidc.settings import Oidc
from pipelines.api.app import create_api
from pipelines.domain.access import Access, Role, Token, digest
from pipelines.domain.audit import Call, Result, unrecorded
from pipelines.domain.errors import Unauthenticated
from pipelines.domain.sign_ins import Admission, NoRole
from pipelines.storage.layout import SIGN_OUTS
from pipelines.workspace.sign_outs import KeptSignOuts
from tests.dashboard.providers import CLIENT, SECRET, Browser, IdTokens, Running, asked, running
from tests.entering import SHOWN, TOKEN
from tests.faces import FakeFace
from tests.workspace.conftest import House, house

pytestmark = pytest.mark.filterwarnings("ignore:get_jwt_config:DeprecationWarning")  # of the provider's own code

__all__ = ["house"]
HOUR_MS = 3_600_000
JSON = {"content-type": "application/json"}
STOP = "/api/v1/jobs/post_engagement/stop"


@pytest.fixture(scope="module")
def provider() -> Iterator[Running]:
    with running() as there:
        there.knows("1", email="ann@example.org", email_verified=True, groups=["staff", "sre"])
        there.knows("2", email="vic@example.org", email_verified=True, groups=["staff"])
        there.knows("3", email="eve@example.org", email_verified=True, groups=["others"])
        there.knows("4", email="ann@example.org", email_verified=False, realm={"roles": ["boss"]})
        yield there


@pytest.fixture(scope="module")
def rest() -> FastAPI:
    """REST, which takes a second to make."""
    return create_api(FakeFace.sample())


class Opened:
    """The real server's application on a workspace in memory, with a clock that a test moves."""

    def __init__(self, admission: Admission, rest: FastAPI) -> None:
        self.now_ms = 1_000_000
        self.calls: list[Call] = []
        self.face = FakeFace.sample()
        rest.state.face, rest.state.record = self.face, self.calls.append
        server.api.app, server.api.record = rest, self.calls.append
        self.serves(admission)

    def serves(self, admission: Admission) -> None:
        """A server (again), with these settings."""
        server.api.signs_in(Oidc(admission, SECRET))
        self.access = Access(TOKEN, now_ms=lambda: self.now_ms, sign_ins=server.api.admission)
        server.api.access = self.access


@pytest.fixture
def admission(provider: Running) -> Admission:
    return Admission(provider.issuer, CLIENT, {"staff": Role.VIEWER, "sre": Role.ADMIN, "boss": Role.ADMIN})


@pytest.fixture
def opened(admission: Admission, rest: FastAPI) -> Iterator[Opened]:
    yield Opened(admission, rest)
    server.api.app = server.api.access = None
    server.api.signs_in(None)
    server.api.record = unrecorded


@pytest.fixture
def browser(opened: Opened) -> Browser:
    return Browser(server.app)


def code_of(answer: httpx.Response) -> str:
    return str(answer.json()["error"]["code"])


def test_who_signs_in_has_the_role_of_his_group_and_comes_back_where_he_came_to(browser: Browser, opened: Opened) -> None:
    refused = browser.open("/job?job=a%26b&tab=Logs")
    assert refused.status_code == 401 and "Sign in with localhost:" in refused.text
    assert "/oidc/sign-in?to=%2Fjob%3Fjob%3Da%2526b%26tab%3DLogs" in refused.text and 'name="token"' in refused.text
    answer = browser.signs_in("1", "/job?job=a%26b&tab=Logs")
    assert answer.status_code == 200 and 'content="0;url=/job?job=a%26b&amp;tab=Logs"' in answer.text
    assert browser.open("/job?job=a").status_code == 200
    stopped = browser.open(STOP, "POST", **JSON)
    assert stopped.status_code == 202 and opened.face.actor == "ann@example.org"
    entered, stop = opened.calls
    issuer = server.api.admission.issuer
    assert (entered.verb, entered.result, entered.subject) == ("enter", Result.DONE, issuer)
    assert {(call.by, call.token) for call in (entered, stop)} == {("ann@example.org", f"1 of {issuer}")}


def test_a_viewer_only_looks(browser: Browser, opened: Opened) -> None:
    browser.signs_in("2")
    assert browser.open("/api/v1/jobs").status_code == 200 and browser.open("/metrics").status_code == 200
    refused = browser.open(STOP, "POST", **JSON)
    assert (refused.status_code, code_of(refused)) == (403, "access.role")
    assert [(call.result, call.by) for call in opened.calls[1:]] == [(Result.REFUSED, "vic@example.org")]


def test_who_has_no_role_is_told_so_and_not_let_in(browser: Browser, opened: Opened) -> None:
    answer = browser.signs_in("3")
    assert answer.status_code == 403 and "eve@example.org is known, but has no role" in answer.text
    assert browser.open("/api/v1/jobs").status_code == 401
    (call,) = opened.calls
    assert (call.verb, call.result, call.code, call.by) == ("enter", Result.REFUSED, "oidc.no_role", "eve@example.org")


def test_with_a_default_role_all_are_let_in(browser: Browser, opened: Opened, admission: Admission) -> None:
    opened.serves(replace(admission, default=Role.VIEWER))
    assert browser.signs_in("3").status_code == 200
    assert browser.open("/api/v1/jobs").status_code == 200 and browser.open("/api/v1/tokens").status_code == 403


def test_a_claim_that_lies_deeper_and_an_email_that_nobody_verified(browser: Browser, opened: Opened, admission: Admission) -> None:
    opened.serves(replace(admission, role_claim="realm.roles"))
    assert browser.signs_in("4").status_code == 200 and browser.open("/api/v1/tokens").status_code == 200
    assert opened.calls[0].by == f"4@{admission.provider}"


def test_an_email_is_a_role_only_where_it_was_verified(browser: Browser, opened: Opened, admission: Admission) -> None:
    opened.serves(replace(admission, role_claim="email", roles={"ann@example.org": Role.ADMIN}))
    assert browser.signs_in("4").status_code == 403
    assert browser.signs_in("1").status_code == 200


def test_what_a_thin_token_lacks_the_provider_is_asked_for(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IdTokens, "generate_user_info", lambda self, user, scope: {"sub": user.sub})
    assert browser.signs_in("1").status_code == 200 and browser.open("/api/v1/tokens").status_code == 200


def test_the_secret_and_a_code_verifier_go_to_the_provider_alone(browser: Browser, provider: Running) -> None:
    address = browser.begins()
    begun = asked(address)
    assert begun["code_challenge_method"] == "S256" and begun["nonce"] and begun["state"] and "openid" in begun["scope"].split()
    assert begun["redirect_uri"] == "http://127.0.0.1:8501/oidc/callback" and SECRET not in address
    browser.open(browser.agrees(address, "1"))
    exchanged = [sent for sent in provider.sent if sent["path"] == "/oauth2/token"][-1]
    challenge = base64.urlsafe_b64encode(hashlib.sha256(exchanged["code_verifier"].encode()).digest()).rstrip(b"=").decode()
    assert challenge == begun["code_challenge"] and exchanged["secret"] == SECRET


def test_cookies_are_read_by_no_script_and_sent_by_no_other_site(browser: Browser, opened: Opened) -> None:
    begun = browser.open("/oidc/sign-in").headers["set-cookie"]
    assert "HttpOnly; SameSite=Lax" in begun and "Path=/oidc; Max-Age=600" in begun and "Secure" not in begun
    answer = browser.signs_in("1")
    kept, cleared = answer.headers.get_list("set-cookie")
    assert "Path=/; Max-Age=28800; HttpOnly; SameSite=Strict" in kept and "Max-Age=0" in cleared
    assert answer.headers["cache-control"] == "no-store" and answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("state", ["forged", "", None])
def test_a_forged_state_lets_nobody_in(browser: Browser, state: str | None) -> None:
    back = httpx.URL(browser.agrees(browser.begins(), "1"))
    forged = back.copy_remove_param("state") if state is None else back.copy_set_param("state", state)
    answer = browser.open(str(forged))
    assert answer.status_code == 401 and "not begun in this browser" in answer.text
    assert browser.open("/api/v1/jobs").status_code == 401


def test_an_answer_that_another_browser_began_lets_nobody_in(browser: Browser) -> None:
    back = browser.agrees(browser.begins(), "1")
    assert Browser(server.app).open(back).status_code == 401
    other = Browser(server.app)
    other.begins()
    assert other.open(back).status_code == 401


def test_a_code_counts_once(browser: Browser) -> None:
    address = browser.begins()
    stolen = Browser(server.app)
    stolen.cookies = httpx.Cookies(browser.cookies)
    back = browser.agrees(address, "1")
    assert browser.open(back).status_code == 200
    assert browser.open(back).status_code == 401, "the browser has forgotten that sign-in"
    answer = stolen.open(back)
    assert answer.status_code == 401 and "refused the sign-in: invalid_grant" in answer.text


def test_another_nonce_is_another_sign_in(browser: Browser, opened: Opened) -> None:
    """The ID token of another sign-in, put into this one."""
    address = httpx.URL(browser.begins()).copy_set_param("nonce", "another")
    answer = browser.open(browser.agrees(str(address), "1"))
    assert answer.status_code == 401 and "proves nobody" in answer.text


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"aud": ["another"]}, "aud"),
        ({"iss": "https://evil.example"}, "iss"),
        ({"exp": 1_000}, "expired"),
        ({"iat": 4_000_000_000}, "future"),
    ],
)
def test_a_token_for_another_client_of_another_issuer_or_time_lets_nobody_in(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, claims: dict[str, Any], why: str
) -> None:
    made = IdTokens.generate_user_info
    monkeypatch.setattr(IdTokens, "generate_user_info", lambda self, user, scope: {**made(self, user, scope), **claims})
    answer = browser.signs_in("1")
    assert answer.status_code == 401 and "proves nobody" in answer.text, answer.text
    assert browser.open("/api/v1/jobs").status_code == 401


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (RSAKey.generate_key(private=True).as_dict(private=True), "RS256"),
        (OctKey.import_key(SECRET * 2).as_dict(private=True), "HS256"),
    ],
    ids=["another key", "the client's secret"],
)
def test_a_token_that_the_providers_key_did_not_sign_lets_nobody_in(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, key: dict[str, Any], algorithm: str
) -> None:
    made = IdTokens.get_jwt_config
    monkeypatch.setattr(IdTokens, "get_jwt_config", lambda *given: {**made(*given), "key": key, "alg": algorithm})
    answer = browser.signs_in("1")
    assert answer.status_code == 401 and "proves nobody" in answer.text, answer.text


def test_an_unsigned_token_is_none_even_where_the_provider_offers_that(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    made, head = IdTokens.encode_id_token, base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()
    monkeypatch.setattr(IdTokens, "encode_id_token", lambda *given: f"{head}.{made(*given).split('.')[1]}.")
    answer = browser.signs_in("1")
    assert answer.status_code == 401 and "proves nobody" in answer.text
    offered = providers.signatures({"id_token_signing_alg_values_supported": ["none", "HS256", "RS256", "ES256"]})
    assert offered == ["ES256", "RS256"]


def test_what_the_provider_refuses_lets_nobody_in(browser: Browser) -> None:
    answer = httpx.post(browser.begins(), data={"action": "deny"}, trust_env=False, timeout=60)
    place = httpx.URL(answer.headers["location"])
    refused = browser.open(f"{place.path}?{place.query.decode()}")
    assert refused.status_code == 401 and "did not let you in" in refused.text
    assert "CALL" not in browser.open("/oidc/callback?error=x&error_description=CALL+555").text


def test_a_session_ends_with_its_time(browser: Browser, opened: Opened) -> None:
    browser.signs_in("1")
    opened.now_ms += 8 * HOUR_MS - 1
    assert browser.open("/api/v1/jobs").status_code == 200
    opened.now_ms += 1
    assert browser.open("/api/v1/jobs").status_code == 401
    again = browser.open("/job?job=a")
    assert again.status_code == 401 and "Sign in with" in again.text


def test_who_signs_out_is_out_whoever_has_his_cookie(browser: Browser, opened: Opened, provider: Running) -> None:
    browser.signs_in("1")
    stolen = Browser(server.app)
    stolen.cookies = httpx.Cookies(browser.cookies)
    assert stolen.open("/api/v1/jobs").status_code == 200
    answer = browser.open("/sign-out", "POST")
    assert answer.status_code == 200 and f"{provider.issuer}/oauth2/end_session?client_id={CLIENT}" in answer.text
    assert browser.open("/api/v1/jobs").status_code == 401 and stolen.open("/api/v1/jobs").status_code == 401
    assert [call.verb for call in opened.calls] == ["enter", "leave"]
    assert browser.signs_in("1").status_code == 200 and browser.open("/api/v1/jobs").status_code == 200


def test_a_sign_out_is_remembered_by_the_next_server(browser: Browser, opened: Opened, admission: Admission, house: House) -> None:
    kept = KeptSignOuts(house.face.context)
    opened.access.ended.sign_outs = kept
    browser.signs_in("1")
    stolen = Browser(server.app)
    stolen.cookies = httpx.Cookies(browser.cookies)
    assert browser.open("/sign-out", "POST").status_code == 200
    opened.serves(admission)
    assert stolen.open("/api/v1/jobs").status_code == 200, "a server that keeps nothing"
    opened.access.ended.sign_outs = KeptSignOuts(house.face.context)
    assert stolen.open("/api/v1/jobs").status_code == 401
    assert stolen.signs_in("1").status_code == 200 and stolen.open("/api/v1/jobs").status_code == 200


def test_what_could_not_be_kept_is_said_and_counts_here_all_the_same(browser: Browser, opened: Opened, house: House) -> None:
    (house.root / SIGN_OUTS).write_text("no folder")
    opened.access.ended.sign_outs = KeptSignOuts(house.face.context)
    browser.signs_in("1")
    stolen = Browser(server.app)
    stolen.cookies = httpx.Cookies(browser.cookies)
    answer = browser.open("/sign-out", "POST")
    assert answer.status_code == 200 and "counts again once the server was restarted" in answer.text
    assert stolen.open("/api/v1/jobs").status_code == 401


def test_a_sign_out_hands_out_nothing(browser: Browser, opened: Opened) -> None:
    kept = browser.open("/sign-out", "POST").headers["set-cookie"]
    assert kept.startswith(f"{cookies.name_of(opened.access)}=; ") and "Max-Age=0" in kept
    assert opened.calls == [] and browser.open("/api/v1/jobs").status_code == 401
    assert browser.open("/sign-out", "POST", origin="https://evil.example").status_code == 403
    assert {browser.open(path, method).status_code for path in ("/sign-out", "/oidc/callback") for method in ("PUT", "HEAD")} == {401}


def test_who_came_with_a_token_signs_out_as_well(browser: Browser, opened: Opened, house: House) -> None:
    looker = Token("looker", Role.VIEWER, digest("tm_looker"), 0, 2_000_000, "alice")
    opened.access = server.api.access = Access(TOKEN, lambda: [looker], lambda: opened.now_ms, None, KeptSignOuts(house.face.context))
    for token in (TOKEN, "tm_looker"):
        browser.open(f"/?token={token}")
        stolen, other = Browser(server.app), Browser(server.app)
        stolen.cookies = httpx.Cookies(browser.cookies)
        other.open(f"/?token={token}")
        assert stolen.open("/api/v1/jobs").status_code == 200
        answer = browser.open("/sign-out", "POST")
        assert answer.status_code == 200 and "too" not in answer.text and "copy" not in answer.text
        assert [whose.open("/api/v1/jobs").status_code for whose in (browser, stolen, other)] == [401, 401, 200]
        server.api.access = Access(TOKEN, lambda: [looker], lambda: opened.now_ms, None, KeptSignOuts(house.face.context))
        assert [whose.open("/api/v1/jobs").status_code for whose in (stolen, other)] == [401, 200], "the next server knows it, too"
    lines = [(call.verb, call.by, call.token, call.origin) for call in opened.calls]
    owner, named = ("page", "", "127.0.0.1"), ("looker", "looker", "127.0.0.1")
    assert lines == [(verb, *who) for who in (owner, named) for verb in ("enter", "enter", "leave")]


def test_other_settings_let_in_nobody_of_before(browser: Browser, opened: Opened, admission: Admission) -> None:
    browser.signs_in("2")
    opened.serves(replace(admission, roles={"staff": Role.OPERATOR}))
    assert browser.open(STOP, "POST", **JSON).status_code == 202, "a role is what the settings say now"
    for changed in (
        replace(admission, roles={"sre": Role.ADMIN}),
        replace(admission, client="x"),
        replace(admission, issuer="http://localhost"),
    ):
        opened.serves(changed)
        assert browser.open("/api/v1/jobs").status_code == 401
    server.api.signs_in(None)
    server.api.access = Access(TOKEN)
    assert browser.open("/api/v1/jobs").status_code == 401


@pytest.mark.parametrize(
    "to",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "",
        "a" * 9_000,
    ],
)
def test_a_sign_in_leads_to_no_other_site(browser: Browser, to: str) -> None:
    assert 'content="0;url=/"' in browser.signs_in("1", to).text


def test_a_page_knows_who_looks_until_he_is_out(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    browser.signs_in("2")
    header = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    session.open_with(FakeFace.sample(), server.api.access)
    monkeypatch.setattr("streamlit.context", type("Context", (), {"headers": {"Cookie": header}, "ip_address": None}))
    assert (session.caller().name, session.caller().role) == ("vic@example.org", Role.VIEWER)
    browser.open("/sign-out", "POST")
    with pytest.raises(Unauthenticated):
        session.caller()
    session.open_with(None)


def test_a_provider_that_is_away_is_said_so_and_tokens_still_let_in(browser: Browser, opened: Opened, admission: Admission) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    opened.serves(replace(admission, issuer=f"http://127.0.0.1:{port}"))
    answer = browser.open("/oidc/sign-in?to=/job")
    assert answer.status_code == 503 and "does not answer" in answer.text and "/oidc/sign-in?to=%2Fjob" in answer.text
    assert browser.open("/api/v1/jobs", **SHOWN).status_code == 200
    assert browser.open("/").status_code == 401
    assert opened.calls == []


def test_a_provider_that_goes_away_meanwhile(
    browser: Browser, provider: Running, opened: Opened, admission: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers, "AWAY_S", 0.0)
    back = browser.agrees(browser.begins("/job"), "1")
    monkeypatch.setattr(provider, "down", True)
    answer = browser.open(back)
    assert answer.status_code == 503 and "its status is 503" in answer.text
    opened.serves(admission)
    assert "its status is 503" in browser.open("/oidc/sign-in").text
    monkeypatch.setattr(provider, "down", False)
    assert browser.signs_in("1").status_code == 200, "and comes back"


def test_a_provider_that_takes_too_long(browser: Browser, opened: Opened, admission: Admission, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(providers, "TIMEOUT_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        opened.serves(replace(admission, issuer=f"http://127.0.0.1:{silent.getsockname()[1]}"))
        assert "it takes too long" in browser.open("/oidc/sign-in").text


def test_a_provider_that_is_another_one(browser: Browser, opened: Opened, provider: Running, admission: Admission) -> None:
    opened.serves(replace(admission, issuer=provider.issuer.replace("localhost", "127.0.0.1") + "/"))
    assert browser.signs_in("1").status_code == 200, "a slash at the end is no other provider"
    opened.serves(replace(admission, issuer=f"{provider.issuer}/jwks/.."))
    answer = browser.open("/oidc/sign-in")
    assert answer.status_code == 503 and "TIDEMARK_OIDC_ISSUER" in answer.text


def test_without_a_provider_nobody_signs_in(browser: Browser, opened: Opened) -> None:
    server.api.signs_in(None)
    assert "Sign in with" not in browser.open("/").text
    assert browser.open("/oidc/sign-in").status_code == 404 and browser.open("/oidc/callback?code=a&state=b").status_code == 404


def test_before_the_workspace_is_open_nobody_signs_in(browser: Browser) -> None:
    server.api.access = None
    assert {browser.open(path).status_code for path in ("/oidc/sign-in", "/oidc/callback", "/")} == {503}
    assert browser.open("/sign-out", "POST").status_code == 503


@pytest.mark.parametrize("subject", [None, "", 7, "a" * 256, "a\nb"])
def test_claims_without_a_subject_are_about_nobody(admission: Admission, subject: Any) -> None:
    with pytest.raises(Unauthenticated):
        admission.session({"sub": subject, "groups": ["sre"]}, "id", 0)


@pytest.mark.parametrize(
    ("claims", "name", "value"),
    [
        ({"groups": "sre", "email": "a@b.c", "email_verified": True}, "a@b.c", "sre"),
        ({"groups": ["staff", "sre", 3, None, {"a": 1}]}, "1@{host}", "sre"),
        ({"groups": ["staff"], "email": "a@b.c", "email_verified": "true"}, "1@{host}", "staff"),
        ({"groups": ["staff"], "email": "a\x1b@b.c", "email_verified": True}, "1@{host}", "staff"),
        ({"groups": ["staff"], "email": f"{'a' * 100}@b.c", "email_verified": True}, "1@{host}", "staff"),
        ({"groups": ["staff"], "email": ["a@b.c"], "email_verified": True}, "1@{host}", "staff"),
    ],
)
def test_claims_are_read_with_care(admission: Admission, claims: dict[str, Any], name: str, value: str) -> None:
    read = admission.session({"sub": "1", **claims}, "id", 0)
    assert (read.name, read.value) == (name.replace("{host}", admission.provider), value)


@pytest.mark.parametrize("groups", [None, [], {"sre": True}, 3, "sre,staff", ["SRE"]])
def test_no_value_is_no_role(admission: Admission, groups: Any) -> None:
    with pytest.raises(NoRole):
        admission.session({"sub": "1", "groups": groups}, "id", 0)
