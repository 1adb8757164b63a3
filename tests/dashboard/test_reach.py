"""A server that others reach: only with named tokens and over TLS, by its names alone; commands on its machine find it all the same."""

from __future__ import annotations

import os
import re
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from dashboard.reach import Reach
from pipelines.client.remote import RemoteFace
from pipelines.client.servers import running_server
from pipelines.client.wire import bearer
from pipelines.domain.access import Role, Token
from pipelines.domain.audit import Result
from pipelines.domain.errors import Forbidden, Invalid, NotFound, Unsupported
from pipelines.domain.moments import DAY_MS
from pipelines.storage.layout import Layout
from pipelines.verbs.audit import ListAudit, VerifyAudit
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.stop import Stop
from pipelines.verbs.system import ShowAbout
from pipelines.verbs.tokens import CreateToken
from pipelines.workspace.opening import open_workspace
from tests.dashboard.providers import CLIENT, SECRET, running
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
NAME = "tidemark.example"
PROGRAM = """
import sys
from dashboard import server
from dashboard.__main__ import command_line, reach_of
options = command_line().parse_args(sys.argv[1:])
sys.exit(server.main(reach_of(options), options.port, options.workspace, False))
"""
"""The command without its first step, which prepares an environment."""


@dataclass(frozen=True)
class Certificate:
    """A certificate that signs itself, and its key."""

    file: Path
    key: Path

    @property
    def trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.file))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    folder = tmp_path_factory.mktemp("tls")
    made = Certificate(folder / "cert.pem", folder / "key.pem")
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    files = ["-keyout", str(made.key), "-out", str(made.file)]
    subprocess.run(
        ["openssl", "req", *kind, *files, "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return made


def with_token(root: Path, role: Role = Role.OPERATOR) -> str:
    """A workspace with one named token."""
    workspace = open_workspace(root)
    try:
        return do(workspace, CreateToken("alice", role)).secret
    finally:
        workspace.close()


@contextmanager
def serving(root: Path, log: Path, *options: str) -> Iterator[int]:
    """The port of a real server of the workspace."""
    command = [sys.executable, "-c", PROGRAM, "--port", "0", "--workspace", str(root), *options]
    environ = {**os.environ, "PYTHONUNBUFFERED": "1", "TIDEMARK_WARM_MIB": "0"}
    with log.open("wb") as out, subprocess.Popen(command, cwd=ROOT, env=environ, stdout=out, stderr=subprocess.STDOUT) as server:
        try:
            until(lambda: "serves http" in log.read_text() or server.poll() is not None, 120)
            assert server.poll() is None, log.read_text()
            yield next(c.laddr.port for c in psutil.Process(server.pid).net_connections("tcp") if c.status == psutil.CONN_LISTEN)
        finally:
            server.terminate()
            server.wait(60)


def ask(port: int, path: str, certificate: Certificate, host: str = NAME, **headers: str) -> httpx.Response:
    with httpx.Client(verify=certificate.trusted, trust_env=False, timeout=60) as client:
        asked = client.build_request("GET", f"https://127.0.0.1:{port}{path}", headers={"host": f"{host}:{port}", **headers})
        asked.extensions = {"sni_hostname": NAME}
        return client.send(asked)


def test_it_is_reached_over_tls_by_its_name_with_a_token(tmp_path: Path, certificate: Certificate) -> None:
    root, log = tmp_path / "ws", tmp_path / "log"
    secret = with_token(root)
    options = ("--host", "0.0.0.0", "--allow-host", NAME, "--certfile", str(certificate.file), "--keyfile", str(certificate.key))
    with serving(root, log, *options) as port:
        assert re.search(rf"serves https://{NAME}:{port}/\?token=", log.read_text())
        assert ask(port, "/api/v1/jobs", certificate).status_code == 401
        assert ask(port, "/api/v1/jobs", certificate, **bearer(secret)).json() == []
        assert ask(port, "/api/v1/jobs", certificate, "evil.example", **bearer(secret)).status_code == 421
        assert ask(port, "/api/v1/jobs", certificate, "0.0.0.0", **bearer(secret)).status_code == 421
        entered = ask(port, f"/?token={secret}", certificate)
        assert entered.status_code == 303 and "; Secure" in entered.headers["set-cookie"]
        cookie = entered.headers["set-cookie"].partition(";")[0]
        assert ask(port, "/settings", certificate, cookie=cookie).status_code == 200
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http://127.0.0.1:{port}/api/v1/jobs", headers=bearer(secret), trust_env=False, timeout=60)
        assert socket_opens(port, certificate, cookie, f"https://{NAME}:{port}")
        assert not socket_opens(port, certificate, cookie, "https://evil.example")
        assert not socket_opens(port, certificate, "", f"https://{NAME}:{port}")
        said_here(root, port, certificate)


def said_here(root: Path, port: int, certificate: Certificate) -> None:
    """A command on the server's machine finds it, believes its certificate alone, and hears the truth of who reaches it."""
    running = running_server(Layout(root))
    assert running is not None and running.url == f"https://127.0.0.1:{port}"
    assert running.address.startswith(f"https://{NAME}:{port}/?token=") and running.certificate == str(certificate.file)
    owner = RemoteFace(running.url, running.token, certificate=running.certificate)
    about = owner.ask(ShowAbout()).server
    assert (about.loopback_only, about.encryption, about.url) == (False, "its own certificate", f"https://{NAME}:{port}")
    entered = owner.ask(ListAudit(verb="enter"))
    assert [(line.subject, line.origin) for line in entered] == [("", "127.0.0.1"), ("1 request", "127.0.0.1")], (
        "the owner, and who was refused"
    )
    owner.close()


def socket_opens(port: int, certificate: Certificate, cookie: str, origin: str) -> bool:
    """Whether the pages' websocket opens."""
    options: Any = {"ssl": certificate.trusted, "server_hostname": NAME, "additional_headers": {"cookie": cookie}, "origin": origin}
    try:
        with connect(
            f"wss://{NAME}:{port}/_stcore/stream",
            address=("127.0.0.1", port),
            proxy=None,
            subprotocols=["streamlit"],
            **options,
            open_timeout=60,
        ):
            return True
    except InvalidStatus:
        return False


def test_behind_a_proxy_the_audit_has_the_clients_address(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    secret = with_token(root, Role.VIEWER)
    with serving(root, tmp_path / "log", "--behind-proxy", "127.0.0.1", "--allow-host", NAME) as port:
        forwarded = {"x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https", "host": NAME}
        url = f"http://127.0.0.1:{port}"
        entered = httpx.get(f"{url}/?token={secret}", headers=forwarded, trust_env=False, timeout=60)
        assert entered.status_code == 303 and "; Secure" in entered.headers["set-cookie"]
        json = {"content-type": "application/json"}
        stopped = httpx.post(f"{url}/api/v1/jobs/a/stop", headers={**forwarded, **json, **bearer(secret)}, trust_env=False, timeout=60)
        assert stopped.status_code == 403
        plain = httpx.get(f"{url}/api/v1/jobs", headers={**forwarded, "x-forwarded-proto": "http"}, trust_env=False, timeout=60)
        assert (plain.status_code, plain.json()["error"]["code"]) == (403, "server.not_encrypted")
        running = running_server(Layout(root))
        assert running is not None and running.address.startswith(f"https://{NAME}/?token=")
        owner = RemoteFace(running.url, running.token)
        line = owner.ask(ListAudit(result=Result.REFUSED))[0]
        assert (line.by, line.token, line.origin, line.verb, line.code) == ("alice", "alice", "203.0.113.7", "stop", "access.role")
        with closing(RemoteFace(running.url, secret)) as alice, pytest.raises(Forbidden):
            alice.begin(Stop("a"))
        with pytest.raises(NotFound):
            owner.acting("bob").begin(Forget("nobody"))
        assert owner.ask(ListAudit(limit=1))[0].by == "bob" and owner.ask(VerifyAudit()).findings == ()
        owner.close()


@pytest.mark.filterwarnings("ignore:get_jwt_config:DeprecationWarning")
def test_with_a_provider_it_starts_without_a_named_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "ws"
    forwarded = {"x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https", "host": NAME}
    with running() as provider:
        provider.knows("1", email="ann@example.org", email_verified=True, groups=["sre"])
        settings = {"ISSUER": provider.issuer, "CLIENT_ID": CLIENT, "CLIENT_SECRET": SECRET, "ROLES": "sre=viewer"}
        for name, value in settings.items():
            monkeypatch.setenv(f"TIDEMARK_OIDC_{name}", value)
        with (
            serving(root, tmp_path / "log", "--behind-proxy", "127.0.0.1", "--allow-host", NAME) as port,
            httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=forwarded, trust_env=False, timeout=60) as browser,
        ):
            begun = browser.get("/oidc/sign-in?to=/events")
            agreed = httpx.post(begun.headers["location"], data={"sub": "1"}, trust_env=False, timeout=60).headers["location"]
            assert agreed.startswith(f"https://{NAME}/oidc/callback?") and "; Secure" in begun.headers["set-cookie"]
            cookie = begun.headers["set-cookie"].partition(";")[0]
            signed_in = browser.get(agreed.removeprefix(f"https://{NAME}"), headers={"cookie": cookie})
            kept = signed_in.headers.get_list("set-cookie")[0]
            assert signed_in.status_code == 200 and "SameSite=Strict; Secure" in kept and "url=/events" in signed_in.text
            shown = {"cookie": kept.partition(";")[0]}
            assert browser.get("/api/v1/jobs", headers=shown).status_code == 200
            stopped = browser.post("/api/v1/jobs/a/stop", headers={**shown, "content-type": "application/json"})
            assert stopped.status_code == 403
            server = running_server(Layout(root))
            assert server is not None
            with closing(RemoteFace(server.url, server.token)) as owner:
                stop, enter = owner.ask(ListAudit())
                assert owner.ask(ShowAbout()).server.provider == provider.issuer.removeprefix("http://")
        assert (enter.verb, enter.by, enter.token, enter.origin) == ("enter", "ann@example.org", f"1 of {provider.issuer}", "203.0.113.7")
        assert (stop.verb, stop.by, stop.token, stop.code) == ("stop", "ann@example.org", enter.token, "access.role")
    everywhere = b"".join(path.read_bytes() for path in [tmp_path / "log", *root.rglob("*")] if path.is_file())
    assert SECRET.encode() not in everywhere


def test_without_a_named_token_it_does_not_start(tmp_path: Path, certificate: Certificate) -> None:
    options = ["--host", "0.0.0.0", "--allow-host", NAME, "--certfile", str(certificate.file), "--keyfile", str(certificate.key)]
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, "--port", "0", "--workspace", str(tmp_path / "ws"), *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 8 and "no named token" in ended.stderr and "token create" in ended.stderr


def test_an_expired_token_is_none() -> None:
    reach = Reach("0.0.0.0", (NAME,), proxy="10.0.0.1")
    token = Token("alice", Role.VIEWER, "", 0, DAY_MS, "")
    reach.check_tokens([token], DAY_MS - 1)
    with pytest.raises(Unsupported):
        reach.check_tokens([token], DAY_MS)
    Reach().check_tokens([], 0)


@pytest.mark.parametrize(
    ("reach", "code"),
    [
        (Reach("0.0.0.0", ("a.example",)), "server.not_encrypted"),
        (Reach("0.0.0.0", certificate="{cert}", key="{key}"), "server.no_name"),
        (Reach(proxy="127.0.0.1"), "server.no_name"),
        (Reach("0.0.0.0", ("a.example",), certificate="/nowhere.pem"), "server.certificate"),
        (Reach("0.0.0.0", ("a.example",), certificate="{cert}"), "server.certificate"),
        (Reach("0.0.0.0", ("a.example",), key="{key}"), "server.certificate"),
        (Reach("0.0.0.0", ("https://a.example",), proxy="10.0.0.1"), "server.name"),
        (Reach("0.0.0.0", ("a.example:1",), proxy="10.0.0.1"), "server.name"),
        (Reach("0.0.0.0", ("*",), proxy="10.0.0.1"), "server.name"),
        (Reach("0.0.0.0", ("a.example",), proxy="*"), "server.proxy"),
        (Reach("0.0.0.0", ("a.example",), proxy="proxy.example"), "server.proxy"),
    ],
)
def test_what_does_not_fit_together_is_refused(reach: Reach, code: str, certificate: Certificate) -> None:
    files = {"{cert}": str(certificate.file), "{key}": str(certificate.key)}
    given = Reach(reach.host, reach.names, files.get(reach.certificate, reach.certificate), files.get(reach.key, reach.key), reach.proxy)
    with pytest.raises((Invalid, Unsupported)) as refused:
        given.checked()
    assert refused.value.code == code
