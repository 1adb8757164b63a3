"""The provider that the environment names: what is taken for one, and with what a server does not start."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dashboard import server
from dashboard.oidc.settings import NAMES, Oidc, chosen
from dashboard.reach import Reach
from pipelines.domain.access import Role
from pipelines.domain.errors import Invalid

SECRET = "a-secret-that-nobody-sees"
WHOLE = {
    "TIDEMARK_OIDC_ISSUER": "https://login.example.org/realms/a",
    "TIDEMARK_OIDC_CLIENT_ID": "tidemark",
    "TIDEMARK_OIDC_CLIENT_SECRET": SECRET,
    "TIDEMARK_OIDC_ROLES": "sre=operator, platform team=Admin",
}


def given(**changed: str) -> Oidc:
    """What is chosen with `WHOLE` and these; an empty one is none."""
    oidc = chosen({**WHOLE, **{f"TIDEMARK_OIDC_{name}": value for name, value in changed.items()}})
    assert oidc is not None
    return oidc


def test_without_any_nobody_signs_in() -> None:
    assert chosen({}) is None and chosen({"TIDEMARK_OIDC_ISSUER": " ", "TIDEMARK_STATSD": "a:1"}) is None


def test_what_is_not_given_has_a_default() -> None:
    oidc = given()
    admission = oidc.admission
    assert (oidc.scopes, admission.role_claim, admission.name_claim) == ("openid profile email", "groups", "email")
    assert admission.roles == {"sre": Role.OPERATOR, "platform team": Role.ADMIN} and admission.default is None
    assert admission.session_ms == 8 * 3_600_000 and admission.provider == "login.example.org"


def test_what_is_given_counts() -> None:
    oidc = given(SCOPES="email,groups", ROLE_CLAIM="realm_access.roles", DEFAULT_ROLE="viewer", NAME_CLAIM="upn", SESSION="30m", ROLES="")
    admission = oidc.admission
    assert (oidc.scopes, admission.role_claim, admission.name_claim) == ("openid email groups", "realm_access.roles", "upn")
    assert (admission.roles, admission.default, admission.session_ms) == ({}, Role.VIEWER, 1_800_000)


def test_values_with_commas_are_given_as_json() -> None:
    roles = {"cn=sre,ou=groups": "operator"}
    assert given(ROLES=json.dumps(roles)).admission.roles == {"cn=sre,ou=groups": Role.OPERATOR}
    assert given(ROLES="cn=sre=operator").admission.roles == {"cn=sre": Role.OPERATOR}


def test_the_secret_is_shown_nowhere(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    oidc = given(CLIENT_SECRET="", CLIENT_SECRET_FILE=str(file))
    assert oidc.secret == SECRET and SECRET not in repr(oidc) + str(given())


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"ISSUER": ""}, "TIDEMARK_OIDC_ISSUER is not set, but"),
        ({"CLIENT_ID": ""}, "TIDEMARK_OIDC_CLIENT_ID is not set, but"),
        ({"CLIENT_SECRET": ""}, "TIDEMARK_OIDC_CLIENT_SECRET is not set"),
        ({"CLIENT_SECRET_FILE": "/x"}, "and TIDEMARK_OIDC_CLIENT_SECRET_FILE are both set"),
        ({"CLIENT_SECRET": "", "CLIENT_SECRET_FILE": "/nowhere"}, "cannot be read"),
        ({"CLIENT_SECRET": "", "CLIENT_SECRET_FILE": os.devnull}, "no secret stands"),
        ({"ROLES": ""}, "nobody could sign in"),
        ({"ROLES": "sre=king"}, "names no role: 'king'"),
        ({"ROLES": "operator"}, "TIDEMARK_OIDC_ROLES is"),
        ({"ROLES": '{"a": 1}'}, "TIDEMARK_OIDC_ROLES is"),
        ({"ROLES": "{"}, "is no JSON"),
        ({"DEFAULT_ROLE": "owner"}, "names no role"),
        ({"SESSION": "8 apples"}, "no duration"),
        ({"SESSION": "1s"}, "TIDEMARK_OIDC_SESSION is 1s"),
        ({"ISSUER": "http://login.example.org"}, "is not encrypted"),
        ({"ISSUER": "login.example.org"}, "no address of a provider"),
        ({"ISSUER": "https://login.example.org:a"}, "is no address"),
        ({"ISSUER": "https://u:p@login.example.org"}, "no address of a provider"),
        ({"ROLE": "admin"}, "TIDEMARK_OIDC_ROLE is no setting"),
    ],
)
def test_half_a_setting_is_refused(changed: dict[str, str], says: str) -> None:
    with pytest.raises(Invalid) as refused:
        given(**changed)
    assert refused.value.code == "oidc.setting" and says in refused.value.message and refused.value.hint
    assert SECRET not in refused.value.message + refused.value.hint


def test_a_server_does_not_start_with_half_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEMARK_OIDC_ISSUER", "https://login.example.org")
    assert server.main(Reach(), 0, str(tmp_path / "ws"), False) == 2
    message = capsys.readouterr().err
    assert "TIDEMARK_OIDC_CLIENT_ID is not set" in message and "the id that it gave" in message and not (tmp_path / "ws").exists()


def test_drivers_do_not_inherit_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in WHOLE.items():
        monkeypatch.setenv(name, value)
    oidc = server.oidc()
    assert oidc is not None and oidc.secret == SECRET and SECRET not in os.environ.values()


def test_where_others_reach_a_server_a_provider_is_access_control() -> None:
    Reach("0.0.0.0", ("tidemark.example",), proxy="10.0.0.1").check_tokens([], 0, signs_in=True)


def test_every_setting_is_documented() -> None:
    readme = (Path(__file__).resolve().parents[2] / "pipelines" / "README.md").read_text()
    assert [name for name in NAMES if f"`{name}`" not in readme] == []
