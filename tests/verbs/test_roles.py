"""Who may what: every declaration says its role, and the one place that enforces it lets nobody do more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pipelines import verbs
from pipelines.domain.access import OWNER, Caller, Role
from pipelines.domain.audit import unrecorded
from pipelines.domain.errors import Forbidden, NotFound
from pipelines.verbs.limited import Limited
from pipelines.verbs.resume import Resume
from pipelines.verbs.stop import Stop
from pipelines.verbs.upgrade import Upgrade
from pipelines.verbs.verb import Asked, Begun, Change
from tests.canned import CannedFace
from tests.faces import FakeFace
from tests.verbs.requests import EVERY

MAY = {
    Role.OPERATOR: {
        *("annotate", "cancel", "diagnose", "dispose_many", "drop", "export", "import_savepoint", "prune", "read_state", "rename_query"),
        *("rescale", "resume", "set_limits", "set_restart_strategy", "set_schedule", "start_verify", "stop", "take", "undrop", "upgrade"),
        *("acknowledge", "ask_holdings", "check_home", "compare_plans", "compare_state", "look_up_key", "set_alert", "silence"),
        *("open_history", "read_input_rows", "resume_jobs", "set_log_level", "set_resources", "stop_jobs", "try_channel"),
    },
    Role.AUTHOR: {
        *(
            "attach",
            "bisect",
            "check",
            "connectors",
            "fork",
            "forget",
            "promote",
            "replay",
            "run",
            "start_example",
            "start_experiment",
            "try_code",
        ),
    },
    Role.ADMIN: {
        *(
            "audit",
            "backups",
            "check_backup",
            "create_backup",
            "create_token",
            "rebuild_catalog",
            "restore_backup",
            "revoke_token",
            "set_channel",
        ),
        *("prune_audit", "set_home", "tokens", "verify_audit"),
    },
}
"""Calls that each role may besides those of the roles before it; every other one looks, and is everybody's."""


@pytest.mark.parametrize("kind", verbs.every(), ids=lambda kind: kind.__name__)
def test_each_declaration_says_its_role(kind: type[Asked[Any]]) -> None:
    assert "role" in vars(kind)
    assert kind.role is next((role for role, calls in MAY.items() if kind.call in calls), Role.VIEWER)


def test_whoever_changes_something_is_no_viewer() -> None:
    assert [kind for kind in verbs.changes() if kind.role is Role.VIEWER] == []


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("asked", EVERY.values(), ids=EVERY)
def test_every_verb_by_every_role(asked: Asked[Any], role: Role) -> None:
    face = CannedFace()
    face.refuses(lambda _: True, NotFound("test.asked", "It was asked", ""))
    limited = Limited(face, Caller("ci", role, "id"), unrecorded, "")
    does: list[Callable[[Any], object]] = (
        [limited.plan, limited.begin, lambda it: limited.answer(Begun(it))] if isinstance(asked, Change) else [limited.ask]
    )
    ranks = list(Role)
    allowed = ranks.index(role) >= ranks.index(asked.needs())
    for do in does:
        if allowed:
            _asked(do, asked)
        else:
            with pytest.raises(Forbidden) as refused:
                do(asked)
            assert refused.value.code == "access.role" and asked.needs() in refused.value.message
    assert allowed or (face.asked, face.begun) == ([], [])


def _asked(do: Any, asked: Asked[Any]) -> None:
    try:
        do(asked)
    except NotFound as error:
        assert error.code == "test.asked"


def test_whoever_changes_what_runs_is_an_author() -> None:
    assert Resume("a", from_savepoint="sp-1", batch=None, version="v-1").needs() is Role.OPERATOR
    for given in ({"code": "x"}, {"conf": {}}, {"args": ()}, {"master": "yarn"}, {"python": "/p"}, {"requirements": ""}, {"files": {}}):
        for kind in (Resume, Upgrade):
            assert kind("a", **given).needs() is Role.AUTHOR, given  # type: ignore[operator]


@pytest.mark.parametrize(
    ("caller", "says", "named"),
    [
        (OWNER, "nightly", "nightly"),
        (Caller("ci", Role.OPERATOR), "REST", "ci"),
        (Caller("ci", Role.OPERATOR), "alice", "ci for alice"),
        (Caller("ci", Role.OPERATOR), "Supervisor", "ci"),
    ],
)
def test_events_name_the_token_whatever_its_holder_says(caller: Caller, says: str, named: str) -> None:
    face = FakeFace.sample()
    Limited(face, caller, unrecorded, "").acting(says).begin(Stop("post_engagement"))
    assert face.actor == named
