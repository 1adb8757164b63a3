"""Named tokens on the shell."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.cli import output
from pipelines.cli.additions import group, plans, shows
from pipelines.cli.session import Here
from pipelines.verbs.tokens import CreateToken, ListTokens, NewToken, RevokeToken, ShownToken, TokenPlan
from pipelines.words import formats

group("token", "Named tokens, which let others in.")


@plans(CreateToken)
def _planned(here: Here, change: CreateToken, plan: TokenPlan) -> str:
    expires = formats.when(plan.expires_ms, here.session.now_ms, None)
    return output.details([("token", plan.name), ("role", plan.role), ("expires", expires)])


@plans(RevokeToken)
def _revoked(here: Here, change: RevokeToken, plan: ShownToken) -> output.Table:
    return _table(here, [plan])


@shows(CreateToken)
def _created(here: Here, change: CreateToken, token: NewToken) -> str:
    output.tell(f"Token {token.name} lets in as {token.role}. It is shown this once.")
    return token.secret


@shows(ListTokens)
def _listed(here: Here, question: ListTokens, tokens: Sequence[ShownToken]) -> str | output.Table:
    return _table(here, tokens) if tokens else ""


def _table(here: Here, tokens: Sequence[ShownToken]) -> output.Table:
    now_ms = here.session.now_ms
    rows = [(token.name, token.role.value, formats.when(token.expires_ms, now_ms, None), token.by) for token in tokens]
    return output.Table(("TOKEN", "ROLE", "EXPIRES", "MADE BY"), rows)
