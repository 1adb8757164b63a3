"""Sends a message of an alert through Apprise, in a process of its own: whoever is told may be slow, or never answer.

The address of a channel holds secrets. It is read here, from the environment or a file, and never leaves this process.
"""

from __future__ import annotations

import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipelines.domain.alerts import Channel
from pipelines.domain.errors import Invalid, Unavailable
from pipelines.words.alerts import Message, place
from pipelines.workers.child import Caller, serve
from pipelines.workers.pool import Pool
from pipelines.workers.task import Task

ANSWER_S = 10.0
"""So long the other side may take to connect, and to answer."""
TASK = Task(
    module="pipelines.workspace.message_worker",
    code="channel",
    title="The message",
    hint="Look whether the service of the channel is up.",
    seconds=2 * ANSWER_S + 5,
    most=4,
)
LONGEST_ADDRESS = 4_096
_STATUS = re.compile(r"error=(\d{3})\b")


def send(pool: Pool, channel: Channel, message: Message) -> None:
    """Returns once the channel's service has accepted it. Raises Invalid (`channel.missing`, `channel.address`) for an address that is not
    there or none, Unavailable (`channel.failed`, `channel.timeout`) for a service that does not take it; no text has any of the address."""
    pool.do({"channel": asdict(channel), "message": asdict(message)})


def address(channel: Channel) -> str:
    """The Apprise address; Invalid (`channel.missing`) where there is none."""
    try:
        text = os.environ.get(channel.env, "") if channel.env else Path(channel.file).read_text()[: LONGEST_ADDRESS + 1]
    except (OSError, UnicodeDecodeError):
        text = ""
    if not text.strip():
        hint = "Set the variable where the server starts, and start it again." if channel.env else "Write the Apprise address into it."
        raise Invalid("channel.missing", f"There is no address in {place(channel)} of the channel {channel.name}", hint)
    return text.strip()


def is_given(channel: Channel) -> bool:
    """Whether its variable, or its file, is there."""
    return channel.env in os.environ if channel.env else Path(channel.file).is_file()


def _send(request: dict[str, Any], _: Caller) -> None:
    import apprise

    channel, message = Channel(**request["channel"]), Message(**request["message"])
    url = address(channel)
    service = None if len(url.split()) > 1 or len(url) > LONGEST_ADDRESS else apprise.Apprise.instantiate(url)
    if service is None:
        hint = "Write one address as Apprise has them: json://host/path, slack://…, mailto://…"
        raise Invalid("channel.address", f"{place(channel)} of the channel {channel.name} holds no Apprise address", hint)
    service.socket_connect_timeout = service.socket_read_timeout = ANSWER_S
    sender = apprise.Apprise()
    sender.add(service)
    result = sender.notify(body=message.body, title=message.title, notify_type=message.kind, timeout=2 * ANSWER_S)
    if not result:
        statuses = [match[1] for entry in result.logs() if (match := _STATUS.search(entry.message))]
        reason = f"its service answered {statuses[-1]}" if statuses else "its service could not be reached, or did not answer in time"
        raise Unavailable("channel.failed", f"The channel {channel.name} was not told: {reason}", TASK.hint)


if __name__ == "__main__":
    serve(_send)
