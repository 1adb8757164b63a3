"""What the provider issues to people and programs, shown to REST as `Authorization: Bearer`: a signed JWT for this server's audience.

Looked at in this order, so that a stranger's text costs no more than reading it: (1) its size and shape, its algorithm and type; (2) the
issuer and the audience that it names; (3) its signature, by the provider's keys, which are read anew for an unknown key, once a minute at
most; (4) its claims and times (RFC 7519, RFC 8725, RFC 9068); (5) the role that they give. Nothing in the token itself says where keys are.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Mapping
from typing import Any

from dashboard.oidc.provider import ALGORITHMS, LEEWAY_S, Provider
from pipelines.domain.access import Caller
from pipelines.domain.errors import Unauthenticated
from pipelines.domain.json_text import read_json

LONGEST = 16_384
TYPES = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
"""Of its header (RFC 9068, 2.1); what is for another use, such as a logout, has another."""
ANEW_S = 60.0


class Bearers:
    """Whom the tokens of one provider let in, that were issued for `audience`."""

    def __init__(self, provider: Provider, audience: str) -> None:
        self._provider, self._audience = provider, audience
        self._anew_s = -ANEW_S

    async def caller(self, token: str, now_ms: int) -> Caller | None:
        """Who shows this token; None for what is no token of the provider's for this server. Unauthenticated (`oidc.token`) for one that
        proves nobody, Forbidden (`oidc.no_role`), Unavailable (`oidc.away`) while its keys cannot be read."""
        if not self._is_ours(token):
            return None
        claims = await self._checked(token, now_ms // 1_000)
        admission = self._provider.settings.admission
        id = f"jwt-{hashlib.sha256(token.encode()).hexdigest()[:16]}"
        return admission.caller(admission.session(claims, id, now_ms), now_ms)

    def _is_ours(self, token: str) -> bool:
        """Whether it says that it is; nothing is proved by that."""
        parts = token.split(".")
        if len(token) > LONGEST or len(parts) != 3 or not token.isascii():
            return False
        header, claims = _read(parts[0]), _read(parts[1])
        named = claims.get("aud")
        return (
            header.get("alg") in ALGORITHMS
            and str(header.get("typ", "")).lower() in TYPES
            and str(claims.get("iss", "")).rstrip("/") == self._provider.settings.issuer.rstrip("/")
            and self._audience in (named if isinstance(named, list) else [named])
        )

    async def _checked(self, token: str, now_s: int) -> Mapping[str, Any]:
        """The claims of a token whose signature and times hold."""
        from joserfc.errors import InvalidKeyIdError, JoseError
        from joserfc.jwt import JWTClaimsRegistry

        issuer, keys = await self._provider.keys()
        try:
            try:
                claims = _verified(token, keys)
            except InvalidKeyIdError:
                claims = _verified(token, await self._keys_anew(keys))
            JWTClaimsRegistry(
                now=now_s,
                leeway=LEEWAY_S,
                iss={"essential": True, "value": issuer},
                aud={"essential": True, "value": self._audience},
                exp={"essential": True},
                sub={"essential": True},
            ).validate(claims)
        except (JoseError, ValueError, KeyError, TypeError) as error:
            hint = "Ask the provider for another one; where that does not help, compare the clocks of both machines."
            raise Unauthenticated("oidc.token", f"This token of {self._provider.name} proves nobody: {error}", hint) from error
        return claims

    async def _keys_anew(self, before: Any) -> Any:
        """The provider's keys as they are now: it may have changed them."""
        if time.monotonic() - self._anew_s < ANEW_S:
            return before
        self._anew_s = time.monotonic()
        _, keys = await self._provider.keys(anew=True)
        return keys


def _verified(token: str, keys: Any) -> dict[str, Any]:
    from joserfc import jwt
    from joserfc.jwk import KeySet
    from joserfc.jws import JWSRegistry

    registry = JWSRegistry(algorithms=sorted(ALGORITHMS), strict_check_header=False)
    return dict(jwt.decode(token, KeySet.import_key_set(keys), registry=registry).claims)


def _read(part: str) -> Mapping[str, Any]:
    """A part of a token as JSON; empty for what is none."""
    try:
        value = read_json(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
