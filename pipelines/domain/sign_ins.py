"""Sign-in with an OpenID provider: whom of its people a server lets in, in which role, and until when.

A session is what a browser's signed cookie says. Its role is decided anew at each request, by the rules that the server has then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pipelines.domain.access import Caller, Role
from pipelines.domain.errors import Forbidden, Unauthenticated
from pipelines.domain.sessions import Session

LONGEST_SUBJECT, LONGEST_NAME = 255, 100
"""The first is OpenID Connect's own bound (Core, 2)."""
E_MAIL = "email"


@dataclass(frozen=True)
class Admission:
    """Whom of a provider's people a server lets in."""

    issuer: str
    client: str
    roles: Mapping[str, Role]
    """Value of the claim -> role; of several the highest counts."""
    default: Role | None = None
    """The role of who has none of these values; None lets none of them in."""
    role_claim: str = "groups"
    name_claim: str = E_MAIL
    session_ms: int = 8 * 3_600_000

    @property
    def provider(self) -> str:
        """The provider's name on pages: its host."""
        return urlsplit(self.issuer).netloc

    def session(self, claims: Mapping[str, Any], id: str, now_ms: int) -> Session:
        """The session of whom these claims are about, which were checked. Unauthenticated (`oidc.subject`) for claims without a subject,
        Forbidden (`oidc.no_role`) for somebody who has no role here."""
        subject = claims.get("sub")
        if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_SUBJECT or not subject.isprintable():
            raise Unauthenticated("oidc.subject", f"{self.provider} does not say who this is.", "Its ID token has no subject (sub).")
        name = self.name(claims, subject)
        held = sorted(self._held(claims), key=lambda value: list(Role).index(self.roles[value]))
        if not held and self.default is None:
            raise NoRole(name, self.identity(subject), self.role_claim)
        return Session(id, self.issuer, self.client, subject, name, held[-1] if held else "", now_ms + self.session_ms)

    def lacks(self, claims: Mapping[str, Any]) -> bool:
        """Whether these claims lack what says the role, or the name, so that the provider's userinfo has to be asked."""
        return claim(claims, self.role_claim) is None or claim(claims, self.name_claim) is None

    def caller(self, session: Session, now_ms: int) -> Caller | None:
        """Who this session is of; None once its time has passed, or where the server lets him in no longer."""
        if now_ms >= session.until_ms or (session.issuer, session.client) != (self.issuer, self.client):
            return None
        role = self.roles.get(session.value) if session.value else self.default
        return Caller(session.name, role, session.id, self.identity(session.subject)) if role else None

    def identity(self, subject: str) -> str:
        """What the audit calls somebody: no two people have the same."""
        return f"{subject} of {self.issuer}"

    def name(self, claims: Mapping[str, Any], subject: str) -> str:
        """What events call somebody: the claim that names him where it can be believed, else his subject. There is an @ in it, so that
        it is no token's name."""
        given = _believed(claims, self.name_claim)
        name = given if isinstance(given, str) and 0 < len(given) <= LONGEST_NAME and given.isprintable() else subject
        return name if "@" in name else f"{name}@{self.provider}"

    def _held(self, claims: Mapping[str, Any]) -> set[str]:
        values = _believed(claims, self.role_claim)
        listed = values if isinstance(values, list) else [values]
        return {value for value in listed if isinstance(value, str) and value in self.roles}


class NoRole(Forbidden):
    """Somebody whom the provider knows, and who has no role here."""

    def __init__(self, name: str, identity: str, role_claim: str) -> None:
        hint = f"Ask an admin of this server: none of the values of your claim {role_claim!r} has a role here."
        super().__init__("oidc.no_role", f"{name} is known, but has no role on this server.", hint)
        self.name, self.identity = name, identity


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """The claim of this name; of one that lies deeper (`realm_access.roles`) by its path. None where there is none."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _believed(claims: Mapping[str, Any], name: str) -> Any:
    """A claim; an e-mail only where the provider says that it has been verified, for anybody may have given any."""
    return None if name == E_MAIL and claims.get("email_verified") is not True else claim(claims, name)
