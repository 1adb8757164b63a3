"""The provider that people sign in with, from the environment (`TIDEMARK_OIDC_…`). Pure, but for reading the secret's file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from dashboard.reach import is_loopback
from pipelines.domain.access import Role
from pipelines.domain.errors import Invalid
from pipelines.domain.json_text import read_json
from pipelines.domain.moments import DAY_MS, duration_ms
from pipelines.domain.sign_ins import E_MAIL, Admission

PREFIX = "TIDEMARK_OIDC_"
ISSUER, CLIENT_ID, SECRET, SECRET_FILE, SCOPES, ROLE_CLAIM, ROLES, DEFAULT_ROLE, NAME_CLAIM, SESSION, AUDIENCE = (
    f"{PREFIX}{name}"
    for name in (
        *("ISSUER", "CLIENT_ID", "CLIENT_SECRET", "CLIENT_SECRET_FILE", "SCOPES"),
        *("ROLE_CLAIM", "ROLES", "DEFAULT_ROLE", "NAME_CLAIM", "SESSION", "AUDIENCE"),
    )
)
NAMES = (ISSUER, CLIENT_ID, SECRET, SECRET_FILE, SCOPES, ROLE_CLAIM, ROLES, DEFAULT_ROLE, NAME_CLAIM, SESSION, AUDIENCE)
OPENID = "openid"
LONGEST_SECRET = 4_096
LEAST_SESSION_MS, MOST_SESSION_MS = 60_000, 30 * DAY_MS


@dataclass(frozen=True)
class Oidc:
    """A provider, and this server as its client."""

    admission: Admission
    secret: str = field(repr=False)
    scopes: str = f"{OPENID} profile email"
    audience: str = ""
    """What a token of its names that lets in over REST; empty where none does."""

    @property
    def issuer(self) -> str:
        return self.admission.issuer

    @property
    def client(self) -> str:
        return self.admission.client


def chosen(environ: Mapping[str, str]) -> Oidc | None:
    """The provider that the environment names; None where it has no `TIDEMARK_OIDC_…` at all. Invalid (`oidc.setting`) for half a setting,
    an unknown one, and one that means nothing."""
    given = {name: value.strip() for name, value in environ.items() if name.startswith(PREFIX) and value.strip()}
    if not given:
        return None
    for name in given:
        if name not in NAMES:
            raise _refused(name, "is no setting", f"There are {', '.join(NAMES)}.")
    for name, hint in ((ISSUER, "the address of the provider, https://login.example.org"), (CLIENT_ID, "the id that it gave this client")):
        if name not in given:
            raise _refused(name, f"is not set, but {min(given)} is", f"Give {hint}.")
    return Oidc(_admission(given), _secret(given), _scopes(given.get(SCOPES, Oidc.scopes)), given.get(AUDIENCE, ""))


def _admission(given: Mapping[str, str]) -> Admission:
    roles = _roles(given.get(ROLES, ""))
    default = _role(DEFAULT_ROLE, given[DEFAULT_ROLE]) if DEFAULT_ROLE in given else None
    if not roles and default is None:
        hint = f"Say which group has which role, {ROLES}=sre=operator,all=viewer, or give all of its people a {DEFAULT_ROLE}."
        raise _refused(ROLES, f"is not set, and no {DEFAULT_ROLE} either: nobody could sign in", hint)
    claims = given.get(ROLE_CLAIM, "groups"), given.get(NAME_CLAIM, E_MAIL)
    return Admission(_issuer(given[ISSUER]), given[CLIENT_ID], roles, default, *claims, _session_ms(given.get(SESSION, "8h")))


def _issuer(text: str) -> str:
    hint = "Give the address as the provider's discovery document has it, https://login.example.org, without /.well-known."
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018  which raises for one that is no number
    except ValueError as error:
        raise _refused(ISSUER, f"is no address: {error}", hint) from error
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.fragment or parts.username is not None:
        raise _refused(ISSUER, "is no address of a provider", hint)
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise _refused(ISSUER, "is not encrypted: the client's secret would cross the network in the open", "Give its https:// address.")
    return text


def _secret(given: Mapping[str, str]) -> str:
    """The client's secret; no error has a piece of it."""
    if (SECRET in given) == (SECRET_FILE in given):
        both = "and " + SECRET_FILE + " are both set" if SECRET in given else f"is not set, but {ISSUER} is"
        raise _refused(SECRET, both, f"Give one: {SECRET_FILE} with the path of a file that only the server's user reads, or {SECRET}.")
    if SECRET in given:
        return given[SECRET]
    try:
        secret = Path(given[SECRET_FILE]).expanduser().read_text()[: LONGEST_SECRET + 1].strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no text"
        raise _refused(SECRET_FILE, f"names {given[SECRET_FILE]}, which cannot be read: {reason}", "Give the path of a file.") from error
    if not 0 < len(secret) <= LONGEST_SECRET or not secret.isprintable():
        raise _refused(SECRET_FILE, f"names {given[SECRET_FILE]}, in which no secret stands", "One line with the secret stands in it.")
    return secret


def _scopes(text: str) -> str:
    """The scopes with `openid`, without which a provider says nothing of who signs in."""
    return " ".join(dict.fromkeys((OPENID, *text.replace(",", " ").split())))


def _roles(text: str) -> dict[str, Role]:
    """`sre=operator,everyone=viewer`, or the same as JSON where a value has a comma in it."""
    if text.startswith("{"):
        try:
            read = read_json(text.encode())
        except ValueError as error:
            raise _refused(ROLES, f"is no JSON: {error}", _ROLES_HINT) from error
        pairs = list(read.items())
    else:
        pairs = [(value.strip(), role.strip()) for value, _, role in (pair.rpartition("=") for pair in text.split(",") if pair.strip())]
    if not all(isinstance(value, str) and value and isinstance(role, str) for value, role in pairs):
        raise _refused(ROLES, f"is {text!r}", _ROLES_HINT)
    return {value: _role(ROLES, role) for value, role in pairs}


_ROLES_HINT = f"Give value=role,value=role, or JSON: {json.dumps({'cn=sre,ou=groups': 'operator'})}."


def _role(name: str, text: str) -> Role:
    try:
        return Role(text.lower())
    except ValueError:
        raise _refused(name, f"names no role: {text!r}", f"The roles are {', '.join(Role)}.") from None


def _session_ms(text: str) -> int:
    try:
        length_ms = duration_ms(text)
    except Invalid as error:
        raise _refused(SESSION, error.message, error.hint) from error
    if not LEAST_SESSION_MS <= length_ms <= MOST_SESSION_MS:
        raise _refused(SESSION, f"is {text}", "Give one from a minute to 30 days: 8h.")
    return length_ms


def _refused(name: str, why: str, hint: str) -> Invalid:
    return Invalid("oidc.setting", f"{name} {why}", f"{hint} Without any {PREFIX}… nobody signs in with a provider.")
