"""Named tokens: shown once, kept as a digest, let in until they expire or are revoked."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipelines.cli.app import app
from pipelines.domain.access import OWNER, Role
from pipelines.domain.errors import AlreadyExists, Corrupt, Invalid, NotFound
from pipelines.domain.moments import DAY_MS
from pipelines.verbs.face import do
from pipelines.verbs.system import ListEvents
from pipelines.verbs.tokens import CreateToken, ListTokens, RevokeToken
from pipelines.workspace.tokens import access_to
from tests.workspace.conftest import House


def test_a_token_lets_in_and_is_kept_nowhere(house: House) -> None:
    made = do(house.face.acting("alice"), CreateToken("ci", Role.OPERATOR))
    access = access_to(house.face.context)
    caller = access.caller(made.secret)
    assert caller is not None and (caller.name, caller.role) == ("ci", Role.OPERATOR)
    assert access.known(caller.id) == caller
    assert access.caller(made.secret[:-1]) is None and access.known("x") is None and access.caller(access.key) is OWNER
    written = [path for path in house.root.rglob("*") if path.is_file() and made.secret.encode() in path.read_bytes()]
    assert written == []
    assert [(event.kind, event.actor) for event in house.face.ask(ListEvents(limit=1))] == [("token.created", "alice")]
    (listed,) = house.face.ask(ListTokens())
    assert (listed.name, listed.role, listed.by) == ("ci", Role.OPERATOR, "alice")
    assert made.expires_ms - listed.created_ms == pytest.approx(90 * DAY_MS, abs=1_000)


def test_one_that_is_revoked_lets_nobody_in_nor_its_browsers(house: House) -> None:
    first = do(house.face, CreateToken("ci", Role.OPERATOR))
    access = access_to(house.face.context)
    caller = access.caller(first.secret)
    assert caller is not None
    do(house.face, RevokeToken("ci"))
    assert (access.caller(first.secret), access.known(caller.id)) == (None, None)
    do(house.face, CreateToken("ci", Role.ADMIN))
    assert (access.caller(first.secret), access.known(caller.id)) == (None, None), "another token of the same name"
    with pytest.raises(NotFound):
        do(house.face, RevokeToken("nobody"))


def test_one_that_has_expired_lets_nobody_in_and_gives_its_name_back(house: House) -> None:
    made = do(house.face, CreateToken("ci", Role.VIEWER, DAY_MS))
    access = access_to(house.face.context)
    with pytest.raises(AlreadyExists):
        do(house.face, CreateToken("ci", Role.VIEWER))
    now_ms = house.face.context.now_ms()
    access.now_ms = lambda: now_ms + DAY_MS - 60_000
    assert access.caller(made.secret)
    access.now_ms = lambda: now_ms + DAY_MS
    assert access.caller(made.secret) is None
    do(house.face, RevokeToken("ci"))
    do(house.face, CreateToken("ci", Role.VIEWER))


@pytest.mark.parametrize("name", ["", "a b", "supervisor", "Page", "rest", "-x", "a" * 41, "ci for alice", "é"])
def test_no_name_is_one_that_events_have_for_something_else(house: House, name: str) -> None:
    with pytest.raises(Invalid):
        house.face.plan(CreateToken(name, Role.VIEWER))


def test_none_lets_in_for_longer_than_ten_years(house: House) -> None:
    with pytest.raises(Invalid, match=r"at most 3,650 days"):
        house.face.plan(CreateToken("ci", Role.VIEWER, 3_651 * DAY_MS))


def test_where_the_tokens_cannot_be_read_the_owner_still_comes_in(house: House) -> None:
    house.face.layout.tokens_file.write_text('{"tokens": [{"name"')
    access = access_to(house.face.context)
    assert access.caller(access.key) is OWNER and access.known("") is OWNER
    with pytest.raises(Corrupt):
        access.caller("tm_x")
    house.reopen()


def test_without_a_time_it_lets_in_for_ninety_days(tmp_path: Path) -> None:
    """On the shell, where what is left out has to mean the same as over REST."""
    made = CliRunner().invoke(app, ["token", "create", "ci", "--role", "viewer", "--workspace", str(tmp_path), "--json"])
    assert made.exit_code == 0, made.output
    now_ms = datetime.now(UTC).timestamp() * 1_000
    assert json.loads(made.stdout)["expires_ms"] == pytest.approx(now_ms + 90 * DAY_MS, abs=600_000)
