"""Keeps what a server says of the receivers of its metrics: all of it for `about`, and an event when one goes and when it is back."""

from __future__ import annotations

from pipelines.domain.pushes import Push
from pipelines.workspace import events
from pipelines.workspace.context import Context

FAILED, BACK = "push.failed", "push.back"


def note(context: Context, push: Push) -> None:
    """Notes the newest push to a receiver."""
    before = context.pushes.get(push.kind)
    context.pushes[push.kind] = push
    if push.is_away and not (before and before.is_away):
        events.say(context, FAILED, None, push.kind, f"metrics do not arrive at {push.address}: {push.error}")
    elif before and before.is_away and not push.is_away:
        events.say(context, BACK, None, push.kind, f"metrics arrive at {push.address} again")
