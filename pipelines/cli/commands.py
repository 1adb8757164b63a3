"""The commands: one of every declaration that has a word, made from its fields, and those that `nouns/` adds by hand."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import typer

from pipelines import verbs
from pipelines.cli import additions, nouns, parameters, shelves, words
from pipelines.cli.additions import Addition, Alias, ByHand
from pipelines.cli.perform import ask, perform
from pipelines.cli.session import Absent, Here, opened
from pipelines.verbs.declaration import parts
from pipelines.verbs.verb import Asked, Change

TOPICS = tuple(verbs.TOPICS)


@dataclass(frozen=True)
class Made:
    """A command that is made of a declaration."""

    word: str
    kind: type[Asked[Any]]
    help: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def addition(self) -> Addition:
        """The additions of `nouns/` to the declaration."""
        added = additions.of(self.kind)
        parameters_of_answer = {name: replace(added.parameters[name], default=default) for name, default in self.defaults.items()}
        return replace(added, parameters=added.parameters | parameters_of_answer)


def every() -> list[tuple[str, Callable[..., None]]]:
    """(word, function for typer) of every command, by topic."""
    for module in pkgutil.iter_modules(nouns.__path__):
        importlib.import_module(f"{nouns.__name__}.{module.name}")
    declared = [(command.kind.topic, command.word, function_of(command)) for command in _made()]
    written = [(hand.topic, hand.word, by_hand(hand)) for hand in additions.BY_HAND]
    commands = sorted([*declared, *written], key=lambda command: TOPICS.index(command[0]))
    return [(word, function) for _, word, function in commands]


def named(word: str) -> list[tuple[str, Callable[..., None]]]:
    """The one command that is called so; nothing else is imported. Empty where there is none."""
    shelves.declaring(word)
    modules = [sys.modules[module] for module in shelves.declared_in(word)]
    made = [of_declaration(kind) for module in modules for kind in verbs.declared_in(module) if kind.command == word]
    made += [_of_alias(alias) for alias in additions.ALIASES if alias.word == word]
    written = [by_hand(hand) for hand in additions.BY_HAND if hand.word == word]
    return [(word, function) for function in [*map(function_of, made), *written]]


def _made() -> Iterator[Made]:
    yield from (of_declaration(kind) for kind in verbs.every() if kind.command)
    yield from (_of_alias(alias) for alias in additions.ALIASES)


def of_declaration(kind: type[Asked[Any]]) -> Made:
    """The command that a declaration's own word names."""
    return Made(kind.command, kind, f"{' '.join((kind.__doc__ or '').split())} {kind.shell}".strip())


def _of_alias(alias: Alias) -> Made:
    return Made(alias.word, alias.kind, alias.help, alias.fixed, (*alias.fixed, *alias.without), alias.defaults)


def function_of(command: Made) -> Callable[..., None]:
    """The function that typer calls: reads the parameters into a declaration, and asks or performs it."""
    addition = command.addition
    rebuilding, makes = (bool(getattr(command.kind, name, False)) for name in ("rebuilds", "makes_workspace"))

    def run(ctx: typer.Context, workspace: Path | None, as_json: bool, **typed: Any) -> None:
        _check_exclusive(command.kind, addition, typed)
        making = Absent.PLANNED if typed.get("dry_run") else Absent.MADE
        absent = making if makes else Absent.REFUSED
        with opened(ctx, workspace, as_json, typed, rebuilding=rebuilding, absent=absent) as here:
            request: Any = command.kind(**_values(here, command, addition))
            request = addition.becomes(here, request) if addition.becomes else request
            instead = request.unchanged() if isinstance(request, Change) else None
            if isinstance(request, Change) and instead is None:
                perform(here, request)
            else:
                ask(here, instead or request)

    return _for_typer(run, parameters.of_declaration(command.kind, addition, command.without), command.help)


def by_hand(hand: ByHand) -> Callable[..., None]:
    """The function that typer calls for a command by hand: passes `Here` and the command's own parameters."""
    _, *own = inspect.signature(hand.function, eval_str=True).parameters.values()

    def run(ctx: typer.Context, workspace: Path | None, as_json: bool, **typed: Any) -> None:
        with opened(ctx, workspace, as_json, typed) as here:
            hand.function(here, **typed)

    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    return _for_typer(run, [*keyword_only, *parameters.common()], inspect.getdoc(hand.function) or "")


def _for_typer(run: Callable[..., None], its_parameters: list[inspect.Parameter], help: str) -> Callable[..., None]:
    run.__signature__ = parameters.signature(its_parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {}
    run.__doc__ = help
    return run


def _values(here: Here, command: Made, addition: Addition) -> dict[str, Any]:
    """The fields of the declaration: those that were typed, then the fixed and the filled-in ones."""
    typed = {part: here.words.get(part.name) for part in parts(command.kind)}
    values = {part.name: words.value_of(part, word, here.session.now()) for part, word in typed.items() if word not in (None, [])}
    filled = addition.completes(here, values) if addition.completes else {}
    return {**values, **command.fixed, **filled}


def _check_exclusive(kind: type[Asked[Any]], addition: Addition, typed: Mapping[str, Any]) -> None:
    flags = {part.name: parameters.flag_of(part).removeprefix("--") for part in parts(kind)}
    for names in addition.exclusive:
        words.at_most_one(**{flags.get(name, name): typed.get(name) for name in names})
