"""The provider, by Authlib: its discovery document, the way there, and what it says of who comes back.

Nothing is asked of it before somebody signs in, so that a server starts while its provider is away.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from dashboard.oidc.settings import Oidc
from pipelines.domain.errors import Unauthenticated, Unavailable

TIMEOUT_S = 5.0
"""Of one answer of the provider; all that one step asks for has twice as long."""
KEPT_S = 3_600.0
"""Its discovery document and keys are read anew after so long: a key that it withdrew counts no longer."""
AWAY_S = 5.0
"""A provider that did not answer is left alone for so long."""
LEEWAY_S = 60
"""How far its clock may be from this one."""
ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"})
"""How an ID token may be signed: by a key that the provider alone has. `none`, which some providers offer, too, is no signature."""
LONGEST_REASON = 300
SIGNATURES = "id_token_signing_alg_values_supported"
BASIC, POST = "client_secret_basic", "client_secret_post"


class Provider:
    """One provider; `begin` and `claims` are the two steps of a sign-in, whose state is in the request's session."""

    def __init__(self, settings: Oidc) -> None:
        self.settings = settings
        self._client: Any = None
        self._until_s = self._away_until_s = 0.0
        self._why = ""

    @property
    def name(self) -> str:
        """What pages call it."""
        return self.settings.admission.provider

    async def begin(self, request: Request, redirect_uri: str) -> Response:
        """The way to the provider, with state, nonce and a code challenge. Unavailable (`oidc.away`, `oidc.metadata`)."""
        async with self._asked() as client:
            answer: Response = await client.authorize_redirect(request, redirect_uri)
        return answer

    async def claims(self, request: Request) -> Mapping[str, Any]:
        """What the provider says of who came back. Unauthenticated where that proves nobody, Unavailable where it does not answer."""
        from authlib.integrations.base_client import OAuthError
        from joserfc.errors import JoseError

        if "error" in request.query_params:  # whose words are anybody's: a link leads here as well as the provider
            raise Unauthenticated("oidc.denied", f"{self.name} did not let you in.", "Sign in again, or ask who looks after it.")
        admission = self.settings.admission
        expected = {"iss": {"essential": True, "value": ""}, "aud": {"essential": True, "value": admission.client}}
        async with self._asked() as client:
            expected["iss"]["value"] = client.server_metadata["issuer"]
            try:
                token = await client.authorize_access_token(request, leeway=LEEWAY_S, claims_options=expected)
                claims = token.get("userinfo")
                if not claims:
                    raise Unauthenticated("oidc.token", f"{self.name} sent no ID token.", "Its client has to have the scope openid.")
                return {**await self._more(client, token, claims), **claims}
            except OAuthError as error:
                raise _unfinished(self.name, error) from error
            except (JoseError, KeyError, TypeError) as error:
                hint = "Sign in again. Where that does not help, compare the clocks of both machines."
                raise Unauthenticated("oidc.token", f"What {self.name} sent proves nobody: {error}", hint) from error

    async def keys(self, *, anew: bool = False) -> tuple[str, Any]:
        """Its issuer as it writes it, and its keys (a JWK set); read `anew` where it may have changed them. Unavailable as `begin`."""
        async with self._asked() as client:
            return str(client.server_metadata["issuer"]), await client.fetch_jwk_set(force=anew)

    async def farewell(self) -> str:
        """Where one signs out of the provider, too; empty where it has no such page."""
        async with self._asked() as client:
            if not client.server_metadata.get("end_session_endpoint"):
                return ""
            left = await client.create_logout_url(client_id=self.settings.client)
        return str(left["url"])

    async def _more(self, client: Any, token: Any, claims: Mapping[str, Any]) -> Mapping[str, Any]:
        """The provider's userinfo, where the ID token lacks something that counts here; it has to be about the same person."""
        if not self.settings.admission.lacks(claims) or not client.server_metadata.get("userinfo_endpoint"):
            return {}
        more = dict(await client.userinfo(token=token))
        if more.get("sub") != claims.get("sub"):
            raise Unauthenticated("oidc.token", f"{self.name} speaks of two different people.", "Sign in again.")
        return more

    @asynccontextmanager
    async def _asked(self) -> AsyncIterator[Any]:
        """Authlib's client, with the provider's discovery document; whatever goes wrong on the way there is Unavailable."""
        import httpx2

        if time.monotonic() < self._away_until_s:
            raise _away(self.name, self._why)
        is_found = False
        try:
            async with asyncio.timeout(2 * TIMEOUT_S):
                client = await self._discovered()
                is_found = True
                yield client
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError, TypeError, AttributeError) as error:
            why = _reason(error)
            if not is_found:
                self._why, self._away_until_s = why, time.monotonic() + AWAY_S
            raise _away(self.name, why) from error

    async def _discovered(self) -> Any:
        if self._client is None or time.monotonic() > self._until_s:
            client = _client(self.settings)
            metadata = await client.load_server_metadata()
            self._check(metadata)
            metadata[SIGNATURES] = signatures(metadata)
            offered = metadata.get("token_endpoint_auth_methods_supported") or [BASIC]
            client.client_kwargs["token_endpoint_auth_method"] = BASIC if BASIC in offered else POST
            self._client, self._until_s = client, time.monotonic() + KEPT_S
        return self._client

    def _check(self, metadata: Mapping[str, Any]) -> None:
        """Unavailable (`oidc.metadata`) for a discovery document of another provider, and for one without what a sign-in needs."""
        own, theirs = self.settings.issuer, metadata.get("issuer")
        if not isinstance(theirs, str) or theirs.rstrip("/") != own.rstrip("/"):
            raise _unfit(f"{own} says that it is {theirs!r}", f"The server's TIDEMARK_OIDC_ISSUER has to be what it says: {theirs}.")
        encrypted = own.startswith("https://")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            place = metadata.get(name)
            if not isinstance(place, str) or not place.startswith("https://" if encrypted else ("http://", "https://")):
                raise _unfit(f"{own} names no {name} that can be used", "Look at its /.well-known/openid-configuration.")


def signatures(metadata: Mapping[str, Any]) -> list[str]:
    """The signatures that count, of those that a provider offers."""
    return sorted(set(metadata.get(SIGNATURES) or ["RS256"]) & ALGORITHMS)


def _client(settings: Oidc) -> Any:
    from authlib.integrations.starlette_client import OAuth

    return OAuth().register(
        "provider",
        client_id=settings.client,
        client_secret=settings.secret,
        server_metadata_url=f"{settings.issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={"scope": settings.scopes, "code_challenge_method": "S256", "timeout": TIMEOUT_S},
    )


def _away(name: str, why: str) -> Unavailable:
    return Unavailable("oidc.away", f"{name} does not answer: {why}.", "Try again in a moment, or come in with a token.")


def _reason(error: Exception) -> str:
    """Why it does not answer, or not what it should, in a few words."""
    import httpx2

    if isinstance(error, httpx2.HTTPStatusError):
        return f"its status is {error.response.status_code}"
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return "it takes too long"
    return str(error)[:LONGEST_REASON] if isinstance(error, httpx2.HTTPError) else f"what it sends cannot be read ({type(error).__name__})"


def _unfit(message: str, hint: str) -> Unavailable:
    return Unavailable("oidc.metadata", f"{message}.", hint)


def _unfinished(name: str, error: Any) -> Unauthenticated:
    """An answer that does not belong to what this browser began, or a code that the provider takes no (longer)."""
    if error.error == "mismatching_state":
        message = "This sign-in was not begun in this browser, or too long ago."
        return Unauthenticated("oidc.state", message, "Sign in again.")
    return Unauthenticated("oidc.refused", f"{name} refused the sign-in: {error}"[:LONGEST_REASON], "Sign in again.")
