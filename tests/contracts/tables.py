"""Tables of the documentation, as Markdown, made from the declarations: commands, REST calls, roles, refusals."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines import verbs
from pipelines.domain.access import Role
from pipelines.domain.errors import GROUPS, STATUS_AND_EXIT_CODES, TidemarkError, meaning
from pipelines.verbs.declaration import summary
from pipelines.verbs.verb import Asked, Change

ANY = ("invalid", "internal", "unauthenticated", "forbidden")
"""Groups that every command and every call may end with."""


@dataclass(frozen=True)
class Command:
    """A command as its row shows it: how it is typed, what it does, the groups of errors that it may end with."""

    usage: str
    does: str
    refuses: Collection[type[TidemarkError]]


@dataclass(frozen=True)
class Call:
    """A REST call as its row shows it; `path` is below `/api/v1`."""

    topic: str
    method: str
    path: str
    status: int
    name: str
    """Id of the operation in OpenAPI."""
    does: str


def commands(listed: Iterable[Command]) -> str:
    """The table of commands, in the order given."""
    rows = [(_code(command.usage), command.does, _exit_codes(command.refuses)) for command in listed]
    return _table(("command", "what it does", "exit codes"), rows)


def calls(listed: Iterable[Call]) -> str:
    """The table of REST calls, by topic."""
    topics = list(verbs.TOPICS)
    ordered = sorted(listed, key=lambda call: (topics.index(call.topic), call.path, call.method))
    rows = [(_code(f"{call.method} {call.path}"), call.does, str(call.status), _code(call.name)) for call in ordered]
    return _table(("call", "what it does", "status", "name"), rows)


def roles(kinds: Sequence[type[Asked[Any]]]) -> str:
    """The table of roles: which calls each may besides those of the roles before it."""
    rows = [(_code(role), _listed(kind.call for kind in kinds if kind.role is role)) for role in Role]
    return _table(("role", "which calls it may, besides those of the roles above it"), rows)


def refusals(kinds: Sequence[type[Asked[Any]]]) -> str:
    """The table of groups of errors: HTTP status, exit code, what the group means, which calls may be refused so."""
    groups = (*GROUPS, TidemarkError.group)
    rows = [(_code(group), *map(str, STATUS_AND_EXIT_CODES[group]), meaning(group), _who(group, kinds)) for group in groups]
    return _table(("group", "HTTP status", "exit code", "what it means", "which calls"), rows)


def calls_of(kind: type[Asked[Any]]) -> list[Call]:
    """The calls that reach a declaration."""
    paths = (kind.http, *kind.also)
    return [Call(kind.topic, http.method, http.path, http.status, http.name or kind.call, summary(kind)) for http in paths]


def _who(group: str, kinds: Sequence[type[Asked[Any]]]) -> str:
    """The names of the calls with errors of the group: changes and questions apart, and `all but` for most."""
    if group in ANY:
        return "each"
    changes = [kind for kind in kinds if issubclass(kind, Change)]
    questions = [kind for kind in kinds if not issubclass(kind, Change)]
    names_by_kind = {"changes": _names(group, changes), "questions": _names(group, questions)}
    return "; ".join(f"{title}: {names}" for title, names in names_by_kind.items() if names)


def _names(group: str, kinds: Sequence[type[Asked[Any]]]) -> str:
    saying = {kind.call for kind in kinds if any(error.group == group for error in kind.refuses)}
    remaining = {kind.call for kind in kinds} - saying
    if saying and len(remaining) < len(saying):
        return f"all but {_listed(remaining)}" if remaining else "all"
    return _listed(saying)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(_code, sorted(names)))


def _exit_codes(refuses: Iterable[type[TidemarkError]]) -> str:
    groups = {error.group for error in refuses} - set(ANY)
    return ", ".join(str(code) for code in sorted(STATUS_AND_EXIT_CODES[group][1] for group in groups))


def _code(text: str) -> str:
    return f"`{text}`"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
