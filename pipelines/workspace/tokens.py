"""Named tokens: digests in `tokens.json`, replaced whole. A token itself is shown once and kept nowhere."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from pipelines.domain.access import USUAL_DAYS, Access, SignIns, Token, Tokens, checked_name, digest
from pipelines.domain.errors import AlreadyExists, Invalid, NotFound
from pipelines.domain.moments import DAY_MS
from pipelines.storage import keys
from pipelines.verbs.tokens import LONGEST_MS, CreateToken, ListTokens, NewToken, RevokeToken, ShownToken, TokenPlan, shown
from pipelines.workspace import events
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans
from pipelines.workspace.sign_outs import KeptSignOuts

_CLAIM = "tokens"


def access_to(context: Context, sign_ins: SignIns | None = None) -> Access:
    """Whom a server of this workspace lets in; the owner's key is made where there is none."""
    return Access(keys.kept_key(context.layout.key_file), lambda: kept(context), context.now_ms, sign_ins, KeptSignOuts(context))


def kept(context: Context) -> Sequence[Token]:
    """All named tokens, expired ones too; Corrupt (`document.malformed`) where the file is damaged: then nobody of them is let in."""
    document = context.files.find(Tokens, context.layout.tokens_file)
    return document.tokens if document else ()


@answers(ListTokens)
def listed(context: Context, question: ListTokens) -> Sequence[ShownToken]:
    return [shown(token) for token in kept(context)]


@plans(CreateToken)
def creation(context: Context, change: CreateToken) -> Planned[NewToken, TokenPlan]:
    """Raises Invalid (`token.name`, `token.expires`) and AlreadyExists (`token.exists`); the name of an expired token is free."""
    name = checked_name(change.name)
    if (change.expires_in_ms or 0) > LONGEST_MS:
        raise Invalid("token.expires", f"A token lets in for at most {LONGEST_MS // DAY_MS:,} days", f"Give a shorter time: {USUAL_DAYS}d.")
    _refuse_taken(context, name)
    expires_ms = context.now_ms() + (change.expires_in_ms or USUAL_DAYS * DAY_MS)
    planned = TokenPlan(name, change.for_role, expires_ms)
    return Planned(planned, lambda _: _create(context, planned))


@plans(RevokeToken)
def revocation(context: Context, change: RevokeToken) -> Planned[None, ShownToken]:
    """Raises NotFound (`token.not_found`)."""
    token = next((token for token in kept(context) if token.name == change.token), None)
    if token is None:
        raise NotFound("token.not_found", f"there is no token {change.token!r}", "'tokens' lists them.")
    return Planned(shown(token), lambda _: _revoke(context, token))


def _create(context: Context, planned: TokenPlan) -> NewToken:
    secret = "tm_" + base64.urlsafe_b64encode(context.entropy(32)).decode().rstrip("=")
    with context.claiming(_CLAIM):
        _refuse_taken(context, planned.name)
        token = Token(planned.name, planned.role, digest(secret), context.now_ms(), planned.expires_ms, context.actor)
        _keep(context, [*(other for other in kept(context) if other.name != token.name), token])
    events.say(context, "token.created", None, token.name, f"token {token.name} lets in as {token.role}")
    return NewToken(planned.name, planned.role, planned.expires_ms, secret)


def _revoke(context: Context, token: Token) -> None:
    with context.claiming(_CLAIM):
        _keep(context, [other for other in kept(context) if other != token])
    events.say(context, "token.revoked", None, token.name, f"token {token.name} lets in no longer")


def _keep(context: Context, tokens: Sequence[Token]) -> None:
    context.files.write(context.layout.tokens_file, Tokens(tuple(tokens)))


def _refuse_taken(context: Context, name: str) -> None:
    if any(token.name == name and context.now_ms() < token.expires_ms for token in kept(context)):
        raise AlreadyExists("token.exists", f"there is a token {name!r}", "Revoke it first, or choose another name.")
